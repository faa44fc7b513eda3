//! Command lines and the arguments they mean.

use serde_json::{Value, json};

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "message": { "type": "string" },
            "count": { "type": "integer", "minimum": 1 },
            "tags": { "type": "array", "items": { "type": "string" } },
            "sizes": { "anyOf": [{ "type": "array", "items": { "type": "integer" } }, { "type": "null" }] },
            "unit": { "enum": ["celsius", "kelvin"] },
            "place": {
                "type": "object",
                "properties": { "city": { "type": "string" }, "zip": { "type": "integer" } },
                "required": ["city"]
            },
            "a.b": { "type": "boolean" },
            "points": { "type": "array", "items": { "type": "object", "properties": { "x": { "type": "number" } } } }
        },
        "required": ["message"]
    })
}

fn run(whole: Option<&str>, arguments: &[&str], schema: &Value) -> Result<String, String> {
    let read = |_: &str| Ok("from file".to_owned());
    let pairs: Vec<Pair> =
        arguments.iter().map(|argument| Pair::parse(argument, &read).unwrap()).collect();
    match build(whole.map(str::as_bytes), pairs, Schema::new(schema)) {
        Ok(bytes) => Ok(String::from_utf8(bytes).unwrap()),
        Err(problems) => {
            Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
    }
}

#[track_caller]
fn good(arguments: &[&str], expected: &str) {
    assert_eq!(run(None, arguments, &schema()).as_deref(), Ok(expected), "{arguments:?}");
}

#[track_caller]
fn bad(arguments: &[&str], expected: &str) {
    assert_eq!(run(None, arguments, &schema()).unwrap_err(), expected, "{arguments:?}");
}

#[test]
fn types_come_from_the_schema() {
    good(&["message=5", "count=5"], r#"{"message":"5","count":5}"#);
    good(&["message=@x"], r#"{"message":"from file"}"#);
    good(&["message:=5"], r#"{"message":5}"#);
    good(&["message=hi", "a.b=yes"], r#"{"message":"hi","a.b":true}"#);
}

#[test]
fn arrays_are_json_or_repeated() {
    good(&["message=m", "tags=a", "tags=b"], r#"{"message":"m","tags":["a","b"]}"#);
    good(&["message=m", "tags=a"], r#"{"message":"m","tags":["a"]}"#);
    good(&["message=m", "tags=[\"a\", 1]"], r#"{"message":"m","tags":["a", 1]}"#);
    good(&["message=m", "tags="], r#"{"message":"m","tags":[]}"#);
    good(&["message=m", "sizes=1", "sizes=2"], r#"{"message":"m","sizes":[1,2]}"#);
    good(&["message=m", "sizes=null"], r#"{"message":"m","sizes":null}"#);
    bad(&["message=m", "sizes=x"], "`sizes` must be integer, not `x`");
    bad(&["message=m", "message=n"], "`message` is given 2 times, but it is not an array");
}

#[test]
fn objects_are_json_or_parts() {
    good(
        &["message=m", "place.city=Rom", "place.zip=7"],
        r#"{"message":"m","place":{"city":"Rom","zip":7}}"#,
    );
    good(&["message=m", r#"place={"city": 1}"#], r#"{"message":"m","place":{"city": 1}}"#);
    good(
        &["message=m", "points.0.x=1", "points.1.x=2.50"],
        r#"{"message":"m","points":[{"x":1},{"x":2.50}]}"#,
    );
    bad(&["message=m", "place.zip=7"], "`place.city` is missing (string)");
    bad(
        &["message=m", "place={}", "place.zip=7"],
        "`place.zip` is given both as a whole and in parts",
    );
    bad(
        &["message=m", "points.x=1"],
        "`points` is array of object and has no part `x`: count its elements (`points.0.x=…`), or \
         say `points:=JSON`",
    );
    bad(&["message.x=m"], "`message` is string and has no part `x`");
    bad(
        &["message=m", "points.1.x=1"],
        "`points.1` comes out of order: elements are counted from 0",
    );
}

#[test]
fn every_problem_is_told_at_once() {
    bad(
        &["mesage=m", "count=0", "unit=kelvi"],
        "`count` must be at least 1; \
         `unit` must be one of celsius, kelvin, not `kelvi` (did you mean `kelvin`?); \
         `mesage` is not an argument here (did you mean `message`?); \
         `message` is missing (string)",
    );
}

#[test]
fn json_is_sent_whatever_the_schema_says() {
    good(&["message=m", "extra:={\"a\":1.0}"], r#"{"message":"m","extra":{"a":1.0}}"#);
    bad(&["message=m", "extra=1"], "`extra` is not an argument here");
    bad(
        &["message:={"],
        "`message` is not valid JSON: EOF while parsing an object at line 1 column 1",
    );
}

#[test]
fn whole_arguments_go_as_they_are() {
    let whole = r#"{ "count" : 1e0, "z":null }"#;
    assert_eq!(run(Some(whole), &[], &schema()).as_deref(), Ok(whole));
    let mixed = run(Some(whole), &["z=1", "count=2"], &json!({}));
    assert_eq!(mixed.as_deref(), Ok(r#"{"z":1,"count":2}"#));
    let added = run(Some(whole), &["count=2"], &schema());
    assert_eq!(added.as_deref(), Ok(r#"{"z":null,"count":2}"#));
}

#[test]
fn without_properties_everything_may_be_said() {
    let open = json!({ "type": "object" });
    let all = run(None, &["a=1", "b=x", "c=1", "c=y", "d.e=true"], &open);
    assert_eq!(all.as_deref(), Ok(r#"{"a":1,"b":"x","c":[1,"y"],"d":{"e":true}}"#));
    assert_eq!(run(None, &[], &open).as_deref(), Ok("{}"));
}
