//! The types of JSON Schema, and sets of them.

use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl ValueKind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Null,
        Self::Boolean,
        Self::Integer,
        Self::Number,
        Self::String,
        Self::Array,
        Self::Object,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// The type of a value; a whole number is an integer.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueKinds(u8);

impl ValueKinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(0x7f);

    /// The types one part of a schema allows: those it names, or those its other members mean.
    pub(super) fn of(part: &Value) -> Self {
        let named = |value: &Value| {
            let word = value.as_str()?;
            ValueKind::ALL.into_iter().find(|kind| kind.word() == word)
        };
        match part.get("type") {
            Some(Value::Array(list)) => list.iter().filter_map(named).collect(),
            Some(word) => named(word).map_or(Self::ALL, Self::from),
            None if part.get("properties").is_some() => ValueKind::Object.into(),
            None if part.get("items").is_some() || part.get("prefixItems").is_some() => {
                ValueKind::Array.into()
            }
            None => match (part.get("const"), part.get("enum").and_then(Value::as_array)) {
                (Some(only), _) => ValueKind::of(only).into(),
                (None, Some(list)) => list.iter().map(ValueKind::of).collect(),
                (None, None) => Self::ALL,
            },
        }
    }

    pub(crate) fn has(self, kind: ValueKind) -> bool {
        self.0 & Self::from(kind).0 != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn words(self) -> Vec<&'static str> {
        ValueKind::ALL.into_iter().filter(|kind| self.has(*kind)).map(ValueKind::word).collect()
    }
}

impl From<ValueKind> for ValueKinds {
    fn from(kind: ValueKind) -> Self {
        Self(1 << kind as u8)
    }
}

impl FromIterator<ValueKind> for ValueKinds {
    fn from_iter<T: IntoIterator<Item = ValueKind>>(kinds: T) -> Self {
        kinds.into_iter().fold(Self::NONE, |sum, kind| sum.and(kind.into()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_are_named_or_meant() {
        for (part, expected) in [
            (json!({ "type": "string" }), vec!["string"]),
            (json!({ "type": ["string", "null"] }), vec!["null", "string"]),
            (json!({ "properties": {} }), vec!["object"]),
            (json!({ "items": {} }), vec!["array"]),
            (json!({ "enum": ["a", 1] }), vec!["integer", "string"]),
            (json!({ "const": 1.5 }), vec!["number"]),
        ] {
            assert_eq!(ValueKinds::of(&part).words(), expected, "{part}");
        }
        assert_eq!(ValueKinds::of(&json!({})), ValueKinds::ALL);
        assert_eq!(ValueKinds::of(&json!({ "type": "strange" })), ValueKinds::ALL);
    }
}
