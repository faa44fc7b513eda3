//! The canonical form of a JSON value, and its hash: the order of members, white space and the way a string is
//! escaped do not matter, everything else does.

use sha2::{Digest as _, Sha256};
use trunkline_wire::{decode, elements, encode_into, members};

/// Deeper values count as they are written: a hostile definition must not use up the stack.
const DEEPEST: usize = 64;

/// `value` is one JSON value.
pub fn canonical(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    write(value.trim_ascii(), 0, &mut out);
    out
}

/// The SHA-256 of the canonical form, in hexadecimal.
pub fn content_hash(value: &[u8]) -> String {
    hex(&Sha256::digest(canonical(value)))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write(value: &[u8], depth: usize, out: &mut Vec<u8>) {
    match value.first() {
        Some(b'{') if depth < DEEPEST => write_object(value, depth, out),
        Some(b'[') if depth < DEEPEST => {
            out.push(b'[');
            for (place, element) in elements(value).enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write(element.of(value), depth + 1, out);
            }
            out.push(b']');
        }
        Some(b'"') => match decode(value) {
            Some(text) => encode_into(&text, out),
            None => out.extend_from_slice(value), // a lone surrogate has one way to be written
        },
        _ => out.extend_from_slice(value),
    }
}

fn write_object(value: &[u8], depth: usize, out: &mut Vec<u8>) {
    let mut all: Vec<_> = members(value).collect();
    // Stable: of two members of one name, which comes last matters.
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    out.push(b'{');
    for (place, (key, at)) in all.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        encode_into(&key, out);
        out.push(b':');
        write(at.of(value), depth + 1, out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn only_what_means_something_counts() {
        let base =
            content_hash(br#"{"name":"a","description":"caf\u00e9","n":[1,{"x":null,"y":2}]}"#);
        for (same, text) in [
            (
                true,
                "{ \"n\" : [ 1, {\"y\":2,\n\"x\":null} ],\"description\":\"caf\u{e9}\", \"name\":\"a\"}",
            ),
            (false, r#"{"name":"a","description":"cafe","n":[1,{"x":null,"y":2}]}"#),
            (false, r#"{"name":"a","description":"café","n":[{"x":null,"y":2},1]}"#),
            (false, r#"{"name":"a","description":"café","n":[1,{"x":null,"y":2}],"_meta":{}}"#),
            (false, r#"{"name":"a","description":"café ","n":[1,{"x":null,"y":2}]}"#),
        ] {
            assert_eq!(content_hash(text.as_bytes()) == base, same, "{text}");
        }
        assert_ne!(content_hash(br#"{"a":1,"a":2}"#), content_hash(br#"{"a":2,"a":1}"#));
        assert_ne!(content_hash(br#"["a","b"]"#), content_hash(br#"["a,b"]"#));
    }

    #[test]
    fn depth_does_not_use_up_the_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(content_hash(deep.as_bytes()), content_hash(deep.as_bytes()));
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..5)
                    .prop_map(|all| Value::Object(all.into_iter().collect())),
            ]
        })
    }

    /// This value, its members in the other order, with white space and every letter escaped.
    fn written_otherwise(value: &Value) -> String {
        let text = |text: &str| {
            let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
            format!("\"{}\"", units.collect::<String>())
        };
        match value {
            Value::Object(map) => {
                let mut all: Vec<_> = map
                    .iter()
                    .map(|(key, value)| format!("{} :\n{}", text(key), written_otherwise(value)))
                    .collect();
                all.reverse();
                format!("{{ {} }}", all.join(" ,\t"))
            }
            Value::Array(all) => {
                let all: Vec<_> = all.iter().map(written_otherwise).collect();
                format!("[ {} ]", all.join(" , "))
            }
            Value::String(it) => text(it),
            other => other.to_string(),
        }
    }

    proptest! {
        #[test]
        fn the_way_it_is_written_does_not_count(value in json()) {
            let (one, other) = (value.to_string(), written_otherwise(&value));
            prop_assert_eq!(content_hash(one.as_bytes()), content_hash(other.as_bytes()));
            let read: Value = serde_json::from_slice(&canonical(other.as_bytes())).unwrap();
            prop_assert_eq!(read, value);
        }

        #[test]
        fn another_value_has_another_hash(one in json(), other in json()) {
            let (a, b) = (one.to_string(), other.to_string());
            prop_assert_eq!(content_hash(a.as_bytes()) == content_hash(b.as_bytes()), one == other);
        }

        #[test]
        fn one_member_more_is_noticed(value in json(), key in "[a-z]{1,6}", more in ".{0,8}") {
            let mut map = match value { Value::Object(map) => map, other => Map::from_iter([("v".to_owned(), other)]) };
            let before = Value::Object(map.clone()).to_string();
            let was = map.insert(key, Value::from(more.clone()));
            let after = Value::Object(map).to_string();
            let same = was == Some(Value::from(more));
            prop_assert_eq!(content_hash(before.as_bytes()) == content_hash(after.as_bytes()), same);
        }
    }
}
