//! Reads JSON of schemas. A value that is too large or malformed becomes null, and the rest is kept.

use serde_json::{Map, Value};
use trunkline_wire::{decode, elements, members};

/// Levels looked at; below them anything goes.
const DEEPEST: usize = 64;

/// The value of `raw`. A number beyond all numbers, text with a lone surrogate and what lies too
/// deep become `null`.
pub(crate) fn lenient(raw: &[u8]) -> Value {
    serde_json::from_slice(raw).unwrap_or_else(|_| at(raw.trim_ascii(), 0))
}

fn at(raw: &[u8], depth: usize) -> Value {
    match raw.first() {
        _ if depth == DEEPEST => Value::Null,
        Some(b'{') => {
            let member = |(key, span): (std::borrow::Cow<'_, str>, trunkline_wire::Span)| {
                (key.into_owned(), at(span.of(raw), depth + 1))
            };
            Value::Object(members(raw).map(member).collect::<Map<_, _>>())
        }
        Some(b'[') => Value::Array(elements(raw).map(|span| at(span.of(raw), depth + 1)).collect()),
        Some(b'"') => decode(raw).map_or(Value::Null, |text| Value::String(text.into_owned())),
        _ => serde_json::from_slice(raw).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_odd_value_does_not_lose_the_others() {
        let raw = br#"{"a":[1,1e400,"x\n"],"b":{"c":"\ud800","d":true},"a2":null}"#;
        let expected = json!({ "a": [1, null, "x\n"], "b": { "c": null, "d": true }, "a2": null });
        assert_eq!(lenient(raw), expected);
        let deep = format!(r#"{{"a":1,"b":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        assert_eq!(lenient(deep.as_bytes())["a"], 1);
        assert_eq!(lenient(b"nonsense"), Value::Null);
    }
}
