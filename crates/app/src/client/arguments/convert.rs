//! Converts the text of an argument into a JSON value of the type its schema names.

use serde_json::Value;
use trunkline_wire::is_json;

use super::json::Json;
use crate::client::clean;
use crate::client::near::question;
use crate::client::schema::{Schema, ValueKind, ValueKinds, spelling, type_words};

/// The value `text` means under `schema`, or what is wrong with it (as it stands behind the key).
pub(crate) fn convert(text: &str, schema: Schema<'_>) -> Result<Json, String> {
    let leaves = schema.leaves();
    if leaves.is_empty() {
        return Ok(guess(text));
    }
    let (chosen, open): (Vec<_>, Vec<_>) =
        leaves.into_iter().partition(|leaf| leaf.choices().is_some());
    let choices: Vec<&Value> = chosen.iter().filter_map(|leaf| leaf.choices()).flatten().collect();
    if let Some(choice) = choices.iter().find(|choice| spelling(choice) == text) {
        return Ok(Json::token(&choice.to_string()));
    }
    let kinds = open.iter().fold(ValueKinds::NONE, |sum, leaf| sum.and(leaf.own_kinds()));
    let Some((kind, value)) = by_kind(text, kinds)? else {
        return Err(refusal(text, schema, &choices));
    };
    // One alternative whose bounds it keeps is enough; else the last one's complaint is told.
    let mut kept = Ok(());
    for leaf in open.iter().filter(|leaf| leaf.own_kinds().has(kind)) {
        kept = bounds(text, kind, *leaf);
        if kept.is_ok() {
            break;
        }
    }
    kept?;
    Ok(value)
}

/// Without a schema: what reads as JSON is JSON, the rest is text.
fn guess(text: &str) -> Json {
    let trimmed = text.trim();
    let quoted = trimmed.starts_with('"');
    if !quoted && is_json(trimmed.as_bytes()) { Json::token(trimmed) } else { Json::text(text) }
}

/// The narrowest of the types that takes the text. Text is text before it is `null`.
fn by_kind(text: &str, kinds: ValueKinds) -> Result<Option<(ValueKind, Json)>, String> {
    let trimmed = text.trim();
    let is_number = trimmed.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && is_json(trimmed.as_bytes());
    let is_integer = is_number && !trimmed.contains(['.', 'e', 'E']);
    if kinds.has(ValueKind::Integer) && is_integer {
        return Ok(Some((ValueKind::Integer, Json::token(trimmed))));
    }
    if kinds.has(ValueKind::Number) && is_number {
        return Ok(Some((ValueKind::Number, Json::token(trimmed))));
    }
    if kinds.has(ValueKind::Boolean)
        && let Some(value) = boolean(trimmed)
    {
        return Ok(Some((ValueKind::Boolean, Json::token(value))));
    }
    for (kind, bracket) in [(ValueKind::Array, '['), (ValueKind::Object, '{')] {
        if kinds.has(kind) && trimmed.starts_with(bracket) {
            match checked(trimmed) {
                Ok(value) => return Ok(Some((kind, value))),
                Err(_) if kinds.has(ValueKind::String) => {}
                Err(error) => return Err(error),
            }
        }
    }
    if kinds.has(ValueKind::String) {
        return Ok(Some((ValueKind::String, Json::text(text))));
    }
    let null = kinds.has(ValueKind::Null) && trimmed == "null";
    Ok(null.then(|| (ValueKind::Null, Json::token("null"))))
}

fn boolean(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "1" => Some("true"),
        "false" | "no" | "n" | "off" | "0" => Some("false"),
        _ => None,
    }
}

/// JSON as written, or where it stops being JSON.
pub(crate) fn checked(text: &str) -> Result<Json, String> {
    if is_json(text.as_bytes()) {
        return Ok(Json::token(text));
    }
    let error = serde_json::from_str::<&serde_json::value::RawValue>(text).err();
    let place = error.map(|error| format!(": {error}")).unwrap_or_default();
    Err(format!("is not valid JSON{place}"))
}

fn refusal(text: &str, schema: Schema<'_>, choices: &[&Value]) -> String {
    let spelt = choices.iter().filter_map(|choice| choice.as_str());
    let near = question(text, spelt);
    let text = clean::cut(&clean::line(text), 60);
    format!("must be {}, not `{text}`{near}", type_words(schema))
}

/// The bounds a person can break by a slip; the server checks the rest.
fn bounds(text: &str, kind: ValueKind, leaf: Schema<'_>) -> Result<(), String> {
    let (measure, unit, least, most) = match kind {
        ValueKind::Integer | ValueKind::Number => {
            (text.trim().parse().ok(), "", "minimum", "maximum")
        }
        ValueKind::String => {
            let length = u32::try_from(text.chars().count()).ok().map(f64::from);
            (length, " characters", "minLength", "maxLength")
        }
        _ => return Ok(()),
    };
    let Some(measure): Option<f64> = measure else {
        return Ok(());
    };
    let outside = |name, wrong: fn(&f64, &f64) -> bool| {
        leaf.bound(name).filter(|bound| wrong(&measure, bound))
    };
    if let Some(bound) = outside(least, f64::lt) {
        return Err(format!("must be at least {bound}{unit}"));
    }
    if let Some(bound) = outside(most, f64::gt) {
        return Err(format!("must be at most {bound}{unit}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, text: &str, expected: Result<&str, &str>) {
        let got =
            convert(text, Schema::new(schema)).map(|json| String::from_utf8(json.bytes()).unwrap());
        let got = got.as_deref().map_err(String::as_str);
        assert_eq!(got, expected, "{schema} {text}");
    }

    #[test]
    fn plain_types() {
        let string = json!({ "type": "string" });
        for (text, expected) in [
            ("5", r#""5""#),
            ("a\"b", r#""a\"b""#),
            ("", r#""""#),
            ("null", r#""null""#),
            (" x ", r#"" x ""#),
        ] {
            check(&string, text, Ok(expected));
        }
        let integer = json!({ "type": "integer" });
        check(&integer, "5", Ok("5"));
        check(&integer, "-9007199254740993000", Ok("-9007199254740993000"));
        check(&integer, "ten", Err("must be integer, not `ten`"));
        check(&integer, "1.5", Err("must be integer, not `1.5`"));
        check(&integer, "", Err("must be integer, not ``"));
        let number = json!({ "type": "number" });
        check(&number, "1.50", Ok("1.50"));
        check(&number, "1e3", Ok("1e3"));
        check(&number, "0x1", Err("must be number, not `0x1`"));
        let boolean = json!({ "type": "boolean" });
        check(&boolean, "True", Ok("true"));
        check(&boolean, "no", Ok("false"));
        check(&boolean, "maybe", Err("must be boolean, not `maybe`"));
    }

    #[test]
    fn alternatives_take_the_narrowest() {
        let optional = json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] });
        check(&optional, "3", Ok("3"));
        check(&optional, "null", Ok("null"));
        check(&optional, "x", Err("must be integer or null, not `x`"));
        let text = json!({ "type": ["string", "null"] });
        check(&text, "null", Ok(r#""null""#));
        let mixed = json!({ "type": ["string", "number", "boolean", "array"] });
        check(&mixed, "5", Ok("5"));
        check(&mixed, "true", Ok("true"));
        check(&mixed, "[1, 2]", Ok("[1, 2]"));
        check(&mixed, "[1, 2", Ok(r#""[1, 2""#));
        check(&mixed, "05", Ok(r#""05""#));
    }

    #[test]
    fn objects_and_arrays_are_json() {
        let object = json!({ "type": "object" });
        check(&object, r#" {"a": 1.0} "#, Ok(r#"{"a": 1.0}"#));
        check(&object, "{a}", Err("is not valid JSON: key must be a string at line 1 column 2"));
        check(&object, "x", Err("must be object, not `x`"));
    }

    #[test]
    fn choices_are_checked() {
        let one = json!({ "type": "string", "enum": ["celsius", "kelvin"] });
        check(&one, "kelvin", Ok(r#""kelvin""#));
        let near = "must be one of celsius, kelvin, not `Kelvn` (did you mean `kelvin`?)";
        check(&one, "Kelvn", Err(near));
        let numbers = json!({ "enum": [1, 2, null] });
        check(&numbers, "2", Ok("2"));
        check(&numbers, "null", Ok("null"));
        check(&numbers, "3", Err("must be one of 1, 2, null, not `3`"));
        let open = json!({ "anyOf": [{ "enum": ["auto"] }, { "type": "integer" }] });
        check(&open, "auto", Ok(r#""auto""#));
        check(&open, "7", Ok("7"));
        check(&open, "x", Err("must be auto or integer, not `x`"));
    }

    #[test]
    fn bounds_are_checked() {
        let percent = json!({ "type": "integer", "minimum": 0, "maximum": 100 });
        check(&percent, "100", Ok("100"));
        check(&percent, "101", Err("must be at most 100"));
        check(&percent, "-1", Err("must be at least 0"));
        let name = json!({ "type": "string", "minLength": 2, "maxLength": 3 });
        check(&name, "äö", Ok(r#""äö""#));
        check(&name, "a", Err("must be at least 2 characters"));
        check(&name, "abcd", Err("must be at most 3 characters"));
        let either =
            json!({ "anyOf": [percent, { "type": "integer", "const": 5 }, { "type": "integer" }] });
        check(&either, "101", Ok("101"));
    }

    #[test]
    fn without_a_schema_json_is_json() {
        let any = json!({});
        for (text, expected) in [
            ("5", "5"),
            ("true", "true"),
            ("[1]", "[1]"),
            ("hello", r#""hello""#),
            (r#""x""#, r#""\"x\"""#),
            ("0123", r#""0123""#),
            ("", r#""""#),
        ] {
            check(&any, text, Ok(expected));
        }
    }
}
