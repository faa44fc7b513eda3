//! JSON objects that decide about access: no member may be there twice, whatever a reader would
//! make of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use trunkline_wire::{decode, elements, encode, is_json, members};

/// An object with its members as they are written.
pub(crate) struct Object<'a> {
    members: BTreeMap<Cow<'a, str>, &'a [u8]>,
}

impl<'a> Object<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, NoObject> {
        if !is_json(bytes) || bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(NoObject::Malformed);
        }
        let mut all = BTreeMap::new();
        for (name, span) in members(bytes) {
            if all.insert(name, span.of(bytes)).is_some() {
                return Err(NoObject::Twice);
            }
        }
        Ok(Self { members: all })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    pub(crate) fn raw(&self, name: &str) -> Option<&'a [u8]> {
        self.members.get(name).copied()
    }

    /// The object again, as it was written, without these members.
    pub(crate) fn without(&self, left_out: &[&str]) -> String {
        let kept = self.members.iter().filter(|(name, _)| !left_out.contains(&name.as_ref()));
        let text = |(name, raw): (&Cow<'a, str>, &&'a [u8])| {
            let name = String::from_utf8_lossy(&encode(name)).into_owned();
            format!("{name}:{}", String::from_utf8_lossy(raw))
        };
        format!("{{{}}}", kept.map(text).collect::<Vec<_>>().join(","))
    }

    /// A member that may be missing but, if it is there, has to be what `read` makes of it.
    pub(crate) fn optional<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a [u8]) -> Option<T>,
    ) -> Result<Option<T>, WrongType> {
        match self.raw(name) {
            None => Ok(None),
            Some(raw) => read(raw).map(Some).ok_or(WrongType),
        }
    }
}

pub(crate) enum NoObject {
    Malformed,
    Twice,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongType;

pub(crate) fn text(raw: &[u8]) -> Option<String> {
    decode(raw).map(Cow::into_owned)
}

/// An array of nothing but strings.
pub(crate) fn texts(raw: &[u8]) -> Option<Vec<String>> {
    array(raw)?.into_iter().map(text).collect()
}

pub(crate) fn array(raw: &[u8]) -> Option<Vec<&[u8]>> {
    let is_array = raw.first() == Some(&b'[');
    is_array.then(|| elements(raw).map(|span| span.of(raw)).collect())
}

/// A moment in seconds since 1970, as JWTs have it: fractions are allowed there, and cut off.
pub(crate) fn seconds(raw: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(raw).ok()?;
    let whole = match digits.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|byte| byte.is_ascii_digit()) => whole,
        Some(_) => return None,
        None => digits,
    };
    // Neither a sign nor an exponent: nobody writes times so.
    whole.bytes().all(|byte| byte.is_ascii_digit()).then(|| whole.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_each_member_once() {
        for (json, expected) in [
            (r#"{"a":1,"b":{"a":2}}"#, Some(2)),
            (" {} ", Some(0)),
            (r#"{"a":1,"a":1}"#, None),
            (r#"{"a":1,"\u0061":2}"#, None),
            (r#"{"a":1,}"#, None),
            (r#"{"a":1}x"#, None),
            ("[]", None),
            ("\"a\"", None),
            ("", None),
        ] {
            let read = Object::read(json.as_bytes()).ok();
            assert_eq!(read.map(|object| object.members.len()), expected, "{json}");
        }
    }

    #[test]
    fn moments() {
        for (raw, expected) in [
            ("0", Some(0)),
            ("1700000000", Some(1_700_000_000)),
            ("1700000000.75", Some(1_700_000_000)),
            ("-1", None),
            ("1e9", None),
            ("1.5e9", None),
            ("\"1700000000\"", None),
            ("null", None),
            ("18446744073709551616", None),
        ] {
            assert_eq!(seconds(raw.as_bytes()), expected, "{raw}");
        }
    }
}
