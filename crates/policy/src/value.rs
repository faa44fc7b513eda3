//! JSON as Cedar sees it. An object is a record, an array a set, an integer a long. What Cedar has no type for:
//! a number that is no 64-bit integer is its text, null is not there.

use std::collections::HashSet;
use std::fmt;

use cedar_policy::RestrictedExpression;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

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
        let (mut members, mut names) = (Vec::new(), HashSet::new());
        while let Some((name, CedarValue(value))) = from.next_entry::<String, CedarValue>()? {
            if !names.insert(name.clone()) {
                return Err(Error::custom(format!("it has the member `{name}` twice")));
            }
            members.extend(value.map(|value| (name, value)));
        }
        let record = RestrictedExpression::new_record(members);
        record.map(|record| CedarValue(Some(record))).map_err(Error::custom)
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
        }
    }
}
