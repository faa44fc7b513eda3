//! One thing that is wrong with a request: where it stands, what is wrong, what to write instead.

use serde_json::{Map, Value};

/// More are not listed: whoever has made so many will not read on.
pub const MOST_FAULTS: usize = 50;

/// Never quotes a value: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub place: Place,
    pub message: String,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Body(Pointer),
    Query(String),
    Header(&'static str),
}

impl Fault {
    pub fn at(pointer: &Pointer, message: impl Into<String>) -> Self {
        Self { place: Place::Body(pointer.clone()), message: message.into(), hint: None }
    }

    pub fn parameter(name: &str, message: impl Into<String>) -> Self {
        Self { place: Place::Query(name.to_owned()), message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub fn json(&self) -> Value {
        let (key, value) = match &self.place {
            Place::Body(pointer) => ("pointer", pointer.as_str()),
            Place::Query(name) => ("parameter", name.as_str()),
            Place::Header(name) => ("header", *name),
        };
        let mut members = Map::new();
        members.insert(key.to_owned(), value.into());
        members.insert("message".to_owned(), self.message.as_str().into());
        if let Some(hint) = &self.hint {
            members.insert("hint".to_owned(), hint.as_str().into());
        }
        Value::Object(members)
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

    #[test]
    fn a_fault_says_where_it_stands() {
        let fault = Fault::at(&Pointer::root().key("name"), "is too long").hint("shorten it");
        assert_eq!(
            fault.json().to_string(),
            r#"{"pointer":"/name","message":"is too long","hint":"shorten it"}"#
        );
        assert_eq!(
            Fault::parameter("limit", "is no number").json().to_string(),
            r#"{"parameter":"limit","message":"is no number"}"#
        );
    }
}
