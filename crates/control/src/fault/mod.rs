//! The mistakes of a request, each with its place, and the problems that services report.

mod kind;
mod problem;

pub use kind::{ProblemFacts, ProblemKind};
pub use problem::{About, Problem};

/// Mistakes that are listed; a caller with more of them starts with these.
pub const MOST_FAULTS: usize = 50;

/// One mistake of a request: its place, what is wrong, what to write instead. Never quotes a value: it may
/// be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFault {
    pub place: FaultPlace,
    pub message: String,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultPlace {
    Body(Pointer),
    Query(String),
    Header(&'static str),
}

impl RequestFault {
    pub fn at(pointer: &Pointer, message: impl Into<String>) -> Self {
        Self { place: FaultPlace::Body(pointer.clone()), message: message.into(), hint: None }
    }

    pub fn parameter(name: &str, message: impl Into<String>) -> Self {
        Self { place: FaultPlace::Query(name.to_owned()), message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// A JSON Pointer (RFC 6901); the empty one is the whole body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pointer(String);

impl Pointer {
    pub fn root() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        // RFC 6901, 3: `~` first, or the `~` of `~1` would be escaped again.
        Self(format!("{}/{}", self.0, key.replace('~', "~0").replace('/', "~1")))
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_written_as_rfc_6901_says() {
        let root = Pointer::root();
        for (pointer, expected) in [
            (root.clone(), ""),
            (root.key("a"), "/a"),
            (root.key("a/b").key("m~n"), "/a~1b/m~0n"),
            (root.key("~1"), "/~01"),
            (root.key("").index(0), "//0"),
        ] {
            assert_eq!(pointer.as_str(), expected);
        }
    }
}
