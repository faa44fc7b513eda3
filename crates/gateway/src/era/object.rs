//! Members taken out of an object or put into it; every other byte stays.

use trunkline_wire::members;

/// The object without the members `drop` names.
pub(super) fn without(object: &[u8], drop: impl Fn(&str) -> bool) -> Vec<u8> {
    rebuilt(object, |key, _| if drop(key) { Member::Dropped } else { Member::Kept })
}

pub(super) enum Member {
    Kept,
    Dropped,
    /// Its value becomes this.
    Changed(Vec<u8>),
}

/// The object with each member as `decide` says.
pub(super) fn rebuilt(object: &[u8], decide: impl Fn(&str, &[u8]) -> Member) -> Vec<u8> {
    let text = |from: usize, to: usize| object.get(from..to).unwrap_or_default();
    let mut out = Vec::with_capacity(object.len());
    let (mut kept_any, mut dropped_any) = (false, false);
    let mut behind = object.iter().position(|byte| *byte == b'{').map_or(0, |at| at + 1);
    out.extend_from_slice(text(0, behind));
    for (key, value) in members(object) {
        let before = text(behind, value.start());
        behind = value.end();
        let changed = match decide(&key, value.of(object)) {
            Member::Dropped => {
                dropped_any = true;
                continue;
            }
            Member::Kept => None,
            Member::Changed(new) => Some(new),
        };
        // The comma in front of the first that is left belonged to one that is not.
        let skipped = match before.iter().position(|byte| *byte == b'"') {
            Some(quote) if dropped_any && !kept_any => quote,
            _ => 0,
        };
        out.extend_from_slice(before.get(skipped..).unwrap_or(before));
        out.extend_from_slice(changed.as_deref().unwrap_or_else(|| value.of(object)));
        kept_any = true;
    }
    out.extend_from_slice(text(behind, object.len()));
    out
}

/// The object with `new` (members as text, without braces) in front of its own.
pub(super) fn with(object: &[u8], new: &[u8]) -> Vec<u8> {
    let open = object.iter().position(|byte| *byte == b'{').map_or(0, |at| at + 1);
    let (head, rest) = object.split_at_checked(open).unwrap_or((b"{", b"}"));
    let comma: &[u8] = if new.is_empty() || is_empty(object) { b"" } else { b"," };
    [head, new, comma, rest].concat()
}

pub(super) fn is_empty(object: &[u8]) -> bool {
    members(object).next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_go_and_every_other_byte_stays() {
        for (object, expected) in [
            ("{}", "{}"),
            ("{ }", "{ }"),
            (r#"{"a":1}"#, "{}"),
            (r#"{"a":1,"b":2}"#, r#"{"b":2}"#),
            (r#"{ "a" : 1 , "b" : 2 }"#, r#"{"b" : 2 }"#),
            (r#"{ "b" : 2 , "a" : 1 }"#, r#"{ "b" : 2 }"#),
            (r#"{ "b" : 2 }"#, r#"{ "b" : 2 }"#),
            (r#"{"b":2,"a":{"b":[1,"}"]}}"#, r#"{"b":2}"#),
            (r#"{"b":2,"a":1,"c":1.0}"#, r#"{"b":2,"c":1.0}"#),
            (r#"{"\u0061":1,"b\u0062":"\/"}"#, r#"{"b\u0062":"\/"}"#),
            (r#"{"a":1,"a":2}"#, "{}"),
        ] {
            let got = without(object.as_bytes(), |key| key == "a");
            assert_eq!(String::from_utf8(got).unwrap(), expected, "{object}");
        }
    }

    #[test]
    fn members_come_in_front() {
        for (object, new, expected) in [
            ("{}", r#""a":1"#, r#"{"a":1}"#),
            (r#"{"b":2}"#, r#""a":1"#, r#"{"a":1,"b":2}"#),
            (r#"{ "b":2}"#, r#""a":1"#, r#"{"a":1, "b":2}"#),
            (r#"{"b":2}"#, "", r#"{"b":2}"#),
            ("{ }", r#""a":1"#, r#"{"a":1 }"#),
        ] {
            let got = with(object.as_bytes(), new.as_bytes());
            assert_eq!(String::from_utf8(got).unwrap(), expected, "{object}");
        }
    }
}
