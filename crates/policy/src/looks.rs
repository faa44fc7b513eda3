//! `Looks`: what a policy looks at of the circumstances of a call. Nothing else of them has to be made ready for it.

use std::collections::BTreeSet;

use serde_json::Value;

/// Parts of `context`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looks {
    pub(crate) arguments: Members,
    pub(crate) now: Members,
    pub(crate) address: bool,
}

/// Members of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Members {
    /// Empty: none.
    These(BTreeSet<String>),
    All,
}

impl Default for Members {
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl Members {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::These(names) if names.is_empty())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::These(names) => names.contains(name),
            Self::All => true,
        }
    }

    pub(crate) fn add(&mut self, name: &str) {
        if let Self::These(names) = self {
            names.insert(name.to_owned());
        }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        match other {
            Self::All => *self = Self::All,
            Self::These(names) => names.iter().for_each(|name| self.add(name)),
        }
    }
}

impl Looks {
    /// Of a policy in Cedar's JSON form. What is not understood looks at everything.
    pub(crate) fn of(policy: &Value) -> Self {
        let mut looks = Self::default();
        looks.read(policy.get("conditions").unwrap_or(&Value::Null));
        looks
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.arguments.join(&other.arguments);
        self.now.join(&other.now);
        self.address |= other.address;
    }

    fn read(&mut self, expression: &Value) {
        match expression {
            Value::Array(elements) => elements.iter().for_each(|element| self.read(element)),
            Value::Object(_) if is_context(expression) => {
                *self = Self { arguments: Members::All, now: Members::All, address: true };
            }
            Value::Object(members) if !self.note_access(expression) => {
                members.values().for_each(|member| self.read(member));
            }
            _ => {}
        }
    }

    /// True: it is `context.now`, `context.arguments.path` or the like, and there is no more in it.
    fn note_access(&mut self, expression: &Value) -> bool {
        let Some((of, name)) = access(expression) else { return false };
        if is_context(of) {
            match name {
                "arguments" => self.arguments = Members::All,
                "now" => self.now = Members::All,
                "address" => self.address = true,
                _ => {}
            }
            return true;
        }
        match access(of) {
            Some((context, "arguments")) if is_context(context) => self.arguments.add(name),
            Some((context, "now")) if is_context(context) => self.now.add(name),
            _ => return false,
        }
        true
    }
}

/// `LEFT.NAME` or `LEFT has NAME`, and nothing else.
fn access(expression: &Value) -> Option<(&Value, &str)> {
    let expression = expression.as_object().filter(|object| object.len() == 1)?;
    let access = expression.get(".").or_else(|| expression.get("has"))?.as_object()?;
    let (left, name) = (access.get("left")?, access.get("attr")?.as_str()?);
    (access.len() == 2).then_some((left, name))
}

fn is_context(expression: &Value) -> bool {
    expression.get("Var").and_then(Value::as_str) == Some("context")
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use super::*;

    #[test]
    fn what_a_policy_looks_at_is_read_from_its_conditions() {
        let these = |names: &[&str]| Members::These(names.iter().map(|it| (*it).into()).collect());
        let none = || these(&[]);
        for (condition, arguments, now, address) in [
            ("principal.role == \"x\"", none(), none(), false),
            ("context.arguments.path like \"/*\"", these(&["path"]), none(), false),
            ("context.arguments has path", these(&["path"]), none(), false),
            (
                "context.arguments has a && context.arguments.b.c == 1 && context.arguments[\"d e\"]",
                these(&["a", "b", "d e"]),
                none(),
                false,
            ),
            ("context.arguments == {a: 1}", Members::All, none(), false),
            ("context.arguments.a == 1 && context has arguments", Members::All, none(), false),
            ("context.now.hour < 8 || context.now.day > 2", none(), these(&["day", "hour"]), false),
            ("{x: context.now}.x.hour < 8", none(), Members::All, false),
            ("if context.address.isLoopback() then true else false", none(), none(), true),
            ("context == {}", Members::All, Members::All, true),
            ("[context].contains(context.other)", Members::All, Members::All, true),
            // Written otherwise in JSON: all of them are made ready.
            ("context.arguments has a.b", Members::All, none(), false),
        ] {
            let text = format!("permit(principal, action, resource) when {{ {condition} }};");
            let policy = cedar_policy::Policy::from_str(&text).unwrap();
            let looks = Looks::of(&policy.to_json().unwrap());
            assert_eq!(looks, Looks { arguments, now, address }, "{condition}");
        }
    }
}
