//! JSON in the terms of policies, and as Cedar's expressions.

mod json;

use cedar_policy::RestrictedExpression;

use crate::looks::Members;
use json::Record;

pub(crate) use json::{Json, members_of, text_of};

/// The members of a JSON object. An object that has a member twice is refused: two readers would see two values.
pub(crate) fn record(json: &[u8]) -> Result<RestrictedExpression, String> {
    match json.trim_ascii_start().first() {
        Some(b'{') | None => record_of(json, &Members::All),
        Some(_) => Err("it is no object".to_owned()),
    }
}

/// Of the members of a JSON object those that are wanted. What is wrong with the others is wrong all the same.
pub(crate) fn record_of(json: &[u8], wanted: &Members) -> Result<RestrictedExpression, String> {
    expression_of(members_of(json, wanted)?)
}

pub(crate) fn empty_record() -> RestrictedExpression {
    // Never fails: no key appears twice.
    RestrictedExpression::new_record([]).unwrap_or_else(|_| RestrictedExpression::new_bool(false))
}

fn expression_of(members: Record<'_>) -> Result<RestrictedExpression, String> {
    let members =
        members.into_iter().map(|(name, value)| Ok((name.into_owned(), expression(value)?)));
    let members = members.collect::<Result<Vec<_>, String>>()?;
    RestrictedExpression::new_record(members).map_err(|fault| fault.to_string())
}

fn expression(value: Json<'_>) -> Result<RestrictedExpression, String> {
    Ok(match value {
        Json::Bool(value) => RestrictedExpression::new_bool(value),
        Json::Long(value) => RestrictedExpression::new_long(value),
        Json::Text(value) => RestrictedExpression::new_string(value.into_owned()),
        Json::Set(elements) => {
            let elements = elements.into_iter().map(expression).collect::<Result<Vec<_>, _>>()?;
            RestrictedExpression::new_set(elements)
        }
        Json::Record(members) => expression_of(members)?,
    })
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
