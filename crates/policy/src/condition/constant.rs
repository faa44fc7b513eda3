//! `Constant`: a value that a policy names, or that caller and target have.

use cedar_policy::EvalResult;

use super::address::AddressRange;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Constant {
    Scalar(Scalar),
    /// In order, each once: it is looked up by halves.
    Set(Box<[Scalar]>),
}

/// A value that has no parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scalar {
    Bool(bool),
    Long(i64),
    Text(Box<str>),
    Address(AddressRange),
}

impl Constant {
    pub(super) fn set(elements: impl IntoIterator<Item = Scalar>) -> Self {
        let mut elements: Vec<_> = elements.into_iter().collect();
        elements.sort();
        elements.dedup();
        Self::Set(elements.into_boxed_slice())
    }

    /// `None`: it is of another kind, such as a record or a set of sets.
    pub(super) fn of(value: &EvalResult) -> Option<Self> {
        let scalar = |value: &EvalResult| {
            Some(match value {
                EvalResult::Bool(value) => Scalar::Bool(*value),
                EvalResult::Long(value) => Scalar::Long(*value),
                EvalResult::String(value) => Scalar::Text(value.as_str().into()),
                _ => return None,
            })
        };
        match value {
            EvalResult::Set(set) => {
                set.iter().map(scalar).collect::<Option<Vec<_>>>().map(Self::set)
            }
            value => scalar(value).map(Self::Scalar),
        }
    }

    pub(super) fn is_truth(&self) -> bool {
        matches!(self, Self::Scalar(Scalar::Bool(_)))
    }
}
