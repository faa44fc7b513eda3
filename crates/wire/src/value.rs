//! Looks into a value that is already proven to be JSON: an array's elements, an object's members.

use std::borrow::Cow;

use crate::skip::{ScannedText, colon, string, value, white};
use crate::splice::Span;
use crate::text;

/// Where the elements of the array `bytes` lie; nothing if it is not an array.
pub fn elements(bytes: &[u8]) -> impl Iterator<Item = Span> {
    let text = ScannedText::new(bytes);
    let mut at = opening(bytes, b'[');
    std::iter::from_fn(move || {
        let start = at.filter(|at| bytes.get(*at) != Some(&b']'))?;
        let end = value(&text, start).ok()?;
        at = next(bytes, end);
        Some(Span::new(start, end))
    })
}

/// The members of the object `bytes`: each key and where its value lies; nothing if it is not an
/// object. A key that holds a lone surrogate comes as empty text.
pub fn members(bytes: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, Span)> {
    let text = ScannedText::new(bytes);
    let mut at = opening(bytes, b'{');
    std::iter::from_fn(move || {
        let start = at.filter(|at| bytes.get(*at) != Some(&b'}'))?;
        let key_end = string(&text, start).ok()?;
        let from = colon(bytes, key_end).ok()?;
        let end = value(&text, from).ok()?;
        at = next(bytes, end);
        let key = text::decode(bytes.get(start..key_end)?).unwrap_or_default();
        Some((key, Span::new(from, end)))
    })
}

/// The value of member `key` of the object `bytes`, as written; the last one if there are several.
pub fn member<'a>(bytes: &'a [u8], key: &str) -> Option<&'a [u8]> {
    // The last of two members of one name: what the common parsers of clients and servers take.
    members(bytes).filter(|(name, _)| name == key).last().map(|(_, span)| span.of(bytes))
}

/// The values of several members of the object `bytes`, as written, in one walk: of each the last one.
pub fn pick<'a, const N: usize>(bytes: &'a [u8], keys: [&str; N]) -> [Option<&'a [u8]>; N] {
    let mut picked = [None; N];
    for (name, at) in members(bytes) {
        for (slot, key) in picked.iter_mut().zip(keys) {
            if name == key {
                *slot = Some(at.of(bytes));
            }
        }
    }
    picked
}

/// Where the value at `path` lies, from the object at `outer` in `bytes` inwards.
pub fn find(bytes: &[u8], outer: Span, path: &[&str]) -> Option<Span> {
    path.iter().try_fold(outer, |outer, key| {
        let inner = members(outer.of(bytes)).filter(|(name, _)| name == key).last()?.1;
        Some(inner.within(outer))
    })
}

fn opening(bytes: &[u8], bracket: u8) -> Option<usize> {
    let at = white(bytes, 0);
    (bytes.get(at) == Some(&bracket)).then(|| white(bytes, at + 1))
}

fn next(bytes: &[u8], end: usize) -> Option<usize> {
    let at = white(bytes, end);
    (bytes.get(at) == Some(&b',')).then(|| white(bytes, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_as_written() {
        let text = br#" [ 1.0 , {"a":[2]},"x" ] "#;
        let all: Vec<_> = elements(text).map(|span| span.of(text)).collect();
        assert_eq!(all, [&b"1.0"[..], br#"{"a":[2]}"#, br#""x""#]);
        assert_eq!(elements(b"[]").count(), 0);
        assert_eq!(elements(b"{}").count(), 0);
    }

    #[test]
    fn a_path_leads_to_its_value() {
        let text = br#"{"params" : {"ref":{"name": "x"}}}"#;
        let all = Span::new(0, text.len());
        let found = |path: &[&str]| find(text, all, path).map(|span| span.of(text));
        assert_eq!(found(&["params", "ref", "name"]), Some(&b"\"x\""[..]));
        assert_eq!(found(&["params", "uri"]), None);
        assert_eq!(found(&["params", "ref", "name", "deeper"]), None);
    }

    #[test]
    fn members_come_as_written() {
        let text = br#"{"a" : 1e2, "\u0062":[ ], "a":null}"#;
        let all: Vec<_> = members(text).map(|(key, span)| (key, span.of(text))).collect();
        let expected: [(Cow<'_, str>, &[u8]); 3] =
            [("a".into(), b"1e2"), ("b".into(), b"[ ]"), ("a".into(), b"null")];
        assert_eq!(all, expected);
        assert_eq!(members(b"{}").count(), 0);
        assert_eq!(member(text, "a"), Some(&b"null"[..]));
        assert_eq!(member(text, "c"), None);
        assert_eq!(pick(text, ["b", "c", "a"]), [Some(&b"[ ]"[..]), None, Some(b"null")]);
        assert_eq!(pick(b"[]", ["a"]), [None]);
    }
}
