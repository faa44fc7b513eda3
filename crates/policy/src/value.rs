//! JSON as Cedar sees it. An object is a record, an array a set, an integer a long. What Cedar has no type for:
//! a number that is no 64-bit integer is its text, null is not there.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use cedar_policy::RestrictedExpression;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::looks::Members;

/// A JSON value in Cedar's terms; `None` is null.
struct CedarValue(Option<RestrictedExpression>);

/// The members of a JSON object. An object that has a member twice is refused: two readers would see two values.
pub(crate) fn record(json: &[u8]) -> Result<RestrictedExpression, String> {
    let value: CedarValue = serde_json::from_slice(json).map_err(|fault| fault.to_string())?;
    match value.0 {
        Some(value) if json.trim_ascii_start().starts_with(b"{") => Ok(value),
        _ => Err("it is no object".to_owned()),
    }
}

/// Of the members of a JSON object those that are wanted. What is wrong with the others is wrong all the same.
pub(crate) fn record_of(json: &[u8], wanted: &Members) -> Result<RestrictedExpression, String> {
    if *wanted == Members::All {
        return record(json);
    }
    let mut from = serde_json::Deserializer::from_slice(json);
    let members = from.deserialize_map(SomeMembers(wanted)).map_err(|fault| fault.to_string())?;
    from.end().map_err(|fault| fault.to_string())?;
    RestrictedExpression::new_record(members).map_err(|fault| fault.to_string())
}

/// The members of a JSON object that are wanted, as they are written: who looks at no others sees the same in two objects
/// with the same text. `None`: it is no object, or has a member twice (within those that are wanted nobody has looked).
pub(crate) fn text_of(json: &[u8], wanted: &Members) -> Option<Vec<u8>> {
    let mut from = serde_json::Deserializer::from_slice(json);
    let text = from.deserialize_map(TextOfMembers(wanted)).ok()?;
    from.end().ok()?;
    Some(text)
}

pub(crate) fn empty_record() -> RestrictedExpression {
    // Never fails: no key appears twice.
    RestrictedExpression::new_record([]).unwrap_or_else(|_| RestrictedExpression::new_bool(false))
}

impl<'de> Deserialize<'de> for CedarValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = CedarValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<CedarValue, E> {
        Ok(CedarValue(None))
    }

    fn visit_bool<E>(self, value: bool) -> Result<CedarValue, E> {
        Ok(CedarValue(Some(RestrictedExpression::new_bool(value))))
    }

    fn visit_i64<E>(self, value: i64) -> Result<CedarValue, E> {
        Ok(CedarValue(Some(RestrictedExpression::new_long(value))))
    }

    fn visit_u64<E>(self, value: u64) -> Result<CedarValue, E> {
        Ok(CedarValue(Some(match i64::try_from(value) {
            Ok(value) => RestrictedExpression::new_long(value),
            Err(_) => RestrictedExpression::new_string(value.to_string()),
        })))
    }

    fn visit_f64<E>(self, value: f64) -> Result<CedarValue, E> {
        Ok(CedarValue(Some(match whole(value) {
            Some(value) => RestrictedExpression::new_long(value),
            None => RestrictedExpression::new_string(value.to_string()),
        })))
    }

    fn visit_str<E>(self, value: &str) -> Result<CedarValue, E> {
        Ok(CedarValue(Some(RestrictedExpression::new_string(value.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<CedarValue, A::Error> {
        let mut elements = Vec::new();
        while let Some(CedarValue(element)) = from.next_element()? {
            elements.extend(element);
        }
        Ok(CedarValue(Some(RestrictedExpression::new_set(elements))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<CedarValue, A::Error> {
        let (mut members, mut names) = (Vec::new(), Names::default());
        while let Some(MemberName(name)) = from.next_key()? {
            let CedarValue(value) = from.next_value()?;
            members.extend(value.map(|value| (name.clone().into_owned(), value)));
            names.add(name)?;
        }
        let record = RestrictedExpression::new_record(members);
        record.map(|record| CedarValue(Some(record))).map_err(Error::custom)
    }
}

/// Reads the members of an object, and makes values of those that are wanted.
struct SomeMembers<'w>(&'w Members);

impl<'de> Visitor<'de> for SomeMembers<'_> {
    type Value = Vec<(String, RestrictedExpression)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let (mut members, mut names) = (Vec::new(), Names::default());
        while let Some(MemberName(name)) = from.next_key()? {
            if self.0.has(&name) {
                let CedarValue(value) = from.next_value()?;
                members.extend(value.map(|value| (name.clone().into_owned(), value)));
            } else {
                from.next_value_seed(Unwanted)?;
            }
            names.add(name)?;
        }
        Ok(members)
    }
}

/// Reads the members of an object, and keeps the text of those that are wanted.
struct TextOfMembers<'w>(&'w Members);

impl<'de> Visitor<'de> for TextOfMembers<'_> {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let (mut text, mut names) = (Vec::new(), Names::default());
        while let Some(MemberName(name)) = from.next_key()? {
            if self.0.has(&name) {
                let value: &RawValue = from.next_value()?;
                // With their lengths: nothing in a name or a value can pass for the end of it.
                for part in [name.as_bytes(), value.get().as_bytes()] {
                    text.extend_from_slice(&part.len().to_le_bytes());
                    text.extend_from_slice(part);
                }
            } else {
                from.next_value_seed(Unwanted)?;
            }
            names.add(name)?;
        }
        Ok(text)
    }
}

/// Reads a value as [`CedarValue`] does, and makes nothing of it.
struct Unwanted;

impl<'de> DeserializeSeed<'de> for Unwanted {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unwanted {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while from.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        let mut names = Names::default();
        while let Some(MemberName(name)) = from.next_key()? {
            from.next_value_seed(Self)?;
            names.add(name)?;
        }
        Ok(())
    }
}

/// The names of an object's members so far.
#[derive(Default)]
struct Names<'de> {
    /// Most objects have few: comparing them is cheaper than a table.
    few: Vec<Cow<'de, str>>,
    more: HashSet<Cow<'de, str>>,
}

const FEW: usize = 16;

impl<'de> Names<'de> {
    fn add<E: Error>(&mut self, name: Cow<'de, str>) -> Result<(), E> {
        if self.few.contains(&name) || self.more.contains(&name) {
            return Err(E::custom(format!("it has the member `{name}` twice")));
        }
        match self.few.len() < FEW {
            true => self.few.push(name),
            false => drop(self.more.insert(name)),
        }
        Ok(())
    }
}

/// As it stands in the text, unless it has escapes.
struct MemberName<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for MemberName<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = MemberName<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<MemberName<'de>, E> {
        Ok(MemberName(Cow::Borrowed(name)))
    }

    fn visit_str<E>(self, name: &str) -> Result<MemberName<'de>, E> {
        Ok(MemberName(Cow::Owned(name.to_owned())))
    }
}

/// The integer that a number with a point or an exponent stands for, if it stands for one exactly.
fn whole(value: f64) -> Option<i64> {
    // Beyond 2^53 a float does not tell neighbours apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = value.fract() == 0.0 && value.abs() <= EXACT;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and within 2^53")]
    is_whole.then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use cedar_policy::{Context, EvalResult};

    use super::*;

    fn evaluated(value: RestrictedExpression) -> Option<EvalResult> {
        Context::from_pairs([("value".to_owned(), value)]).unwrap().get("value")
    }

    #[test]
    fn json_becomes_what_cedar_has_a_type_for() {
        for (json, cedar) in [
            (r#"{}"#, "{}"),
            (r#"{"a":"x","b":true,"c":-7}"#, r#"{"a":"x","b":true,"c":-7}"#),
            (r#"{"a":1e3,"b":2.0,"c":1.5}"#, r#"{"a":1000,"b":2,"c":"1.5"}"#),
            (r#"{"a":18446744073709551615}"#, r#"{"a":"18446744073709551615"}"#),
            (r#"{"a":null,"b":[1,null,"x",[2]],"c":{"d":null}}"#, r#"{"b":[1,"x",[2]],"c":{}}"#),
        ] {
            let expected = RestrictedExpression::from_str(cedar).unwrap();
            assert_eq!(evaluated(record(json.as_bytes()).unwrap()), evaluated(expected), "{json}");
        }
    }

    #[test]
    fn what_two_readers_would_see_differently_is_refused() {
        for (json, words) in [
            (r#"{"a":1,"a":2}"#, "`a` twice"),
            (r#"{"x":[{"a":1,"\u0061":2}]}"#, "`a` twice"),
            ("[1]", "no object"),
            ("null", "no object"),
            (r#"{"a":"#, "EOF"),
        ] {
            let fault = record(json.as_bytes()).unwrap_err();
            assert!(fault.contains(words), "{json}: {fault}");
            for wanted in [Members::default(), Members::These(["a".to_owned()].into())] {
                assert!(record_of(json.as_bytes(), &wanted).is_err(), "{json} {wanted:?}");
            }
        }
    }

    #[test]
    fn two_objects_have_the_same_text_if_what_is_wanted_is_written_alike() {
        let these = |names: &[&str]| Members::These(names.iter().map(|it| (*it).into()).collect());
        for (one, other, wanted, is_same) in [
            (r#"{}"#, r#"{"x":1,"y":[{"z":null}]}"#, these(&["a"]), true),
            (r#"{"a":1,"x":1}"#, r#"{"x":2, "\u0061" : 1 }"#, these(&["a"]), true),
            (r#"{"a":1}"#, r#"{"a":2}"#, these(&["a"]), false),
            (r#"{"a":1}"#, r#"{"a":"1"}"#, these(&["a"]), false),
            (r#"{"a":1}"#, r#"{}"#, these(&["a"]), false),
            (r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#, these(&["a", "b"]), false),
            (r#"{"a":"b"}"#, r#"{"b":"a"}"#, these(&["a", "b"]), false),
            (r#"{"x":1}"#, r#"{"x":2}"#, Members::All, false),
        ] {
            let texts = [one, other].map(|json| text_of(json.as_bytes(), &wanted));
            assert!(texts[0].is_some());
            assert_eq!(texts[0] == texts[1], is_same, "{one} {other}");
        }
        for bad in [
            r#"{"x":1,"x":2}"#,
            r#"{"a":1,"\u0061":1}"#,
            r#"{"x":{"y":1,"y":1}}"#,
            "[]",
            "{",
            "{}x",
        ] {
            assert_eq!(text_of(bad.as_bytes(), &these(&["a"])), None, "{bad}");
        }
    }

    #[test]
    fn of_an_object_only_what_is_wanted_is_made() {
        let many: Vec<String> = (0..40).map(|n| format!("\"m{n}\":{{\"x\":[{n}]}}")).collect();
        let json = format!(r#"{{"a":[1,{{"b":null}}],{},"c":null,"d":"x"}}"#, many.join(","));
        let wanted = Members::These(["a", "c", "d", "m30"].map(str::to_owned).into());
        let made = record_of(json.as_bytes(), &wanted).unwrap();
        let expected = r#"{"a":[1,{}],"d":"x","m30":{"x":[30]}}"#;
        let expected = RestrictedExpression::from_str(expected).unwrap();
        assert_eq!(evaluated(made), evaluated(expected));
        let twice = json.replace("\"m39\"", "\"m20\"");
        assert!(record_of(twice.as_bytes(), &wanted).unwrap_err().contains("`m20` twice"));
        let nested = json.replace("{\"x\":[39]}", "{\"x\":1,\"x\":2}");
        assert!(record_of(nested.as_bytes(), &wanted).unwrap_err().contains("`x` twice"));
    }
}
