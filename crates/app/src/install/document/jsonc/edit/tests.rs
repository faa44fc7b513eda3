//! Edits of texts as people write them, and the property that nothing else changes.

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::{Dialect, EditError, parse, set};
use crate::install::document::jsonc::to_value;

/// Sets `s.t` to a small entry.
fn added(text: &str) -> String {
    set(text, Dialect::Comments, &["s", "t"], &json!({"c": "x", "a": ["1", "2"]})).unwrap()
}

#[test]
fn a_new_member_follows_the_layout_of_the_file() {
    let table = [
        // nothing there
        (
            "",
            "{\n  \"s\": {\n    \"t\": {\n      \"c\": \"x\",\n      \"a\": [\"1\", \"2\"]\n    }\n  }\n}\n",
        ),
        (
            "{}",
            "{\n  \"s\": {\n    \"t\": {\n      \"c\": \"x\",\n      \"a\": [\"1\", \"2\"]\n    }\n  }\n}",
        ),
        // everything on one line stays so
        ("{\"s\":{}}", "{\"s\":{\"t\": {\"c\": \"x\", \"a\": [\"1\", \"2\"]}}}"),
        ("{\"s\":{\"o\":1}}", "{\"s\":{\"o\":1, \"t\": {\"c\": \"x\", \"a\": [\"1\", \"2\"]}}}"),
        ("{\"s\":{\"o\":1,}}", "{\"s\":{\"o\":1, \"t\": {\"c\": \"x\", \"a\": [\"1\", \"2\"]},}}"),
        // tabs
        (
            "{\n\t\"s\": {\n\t\t\"o\": 1\n\t}\n}",
            "{\n\t\"s\": {\n\t\t\"o\": 1,\n\t\t\"t\": {\n\t\t\t\"c\": \"x\",\n\t\t\t\"a\": [\"1\", \"2\"]\n\t\t}\n\t}\n}",
        ),
        // Windows line ends
        (
            "{\r\n  \"s\": {\r\n    \"o\": 1\r\n  }\r\n}\r\n",
            "{\r\n  \"s\": {\r\n    \"o\": 1,\r\n    \"t\": {\r\n      \"c\": \"x\",\r\n      \"a\": [\"1\", \"2\"]\r\n    }\r\n  }\r\n}\r\n",
        ),
        // an empty object in a file of many lines
        (
            "{\n  \"s\": {}\n}",
            "{\n  \"s\": {\n    \"t\": {\n      \"c\": \"x\",\n      \"a\": [\"1\", \"2\"]\n    }\n  }\n}",
        ),
        (
            "{\n  \"s\": {\n  }\n}",
            "{\n  \"s\": {\n    \"t\": {\n      \"c\": \"x\",\n      \"a\": [\"1\", \"2\"]\n    }\n  }\n}",
        ),
    ];
    for (before, after) in table {
        assert_eq!(added(before), after, "{before}");
    }
}

#[test]
fn comments_stay_where_they_are() {
    let table = [
        // behind the last member
        ("{\n  \"s\": {\n    \"o\": 1 // one\n  }\n}", "\"o\": 1, // one\n    \"t\""),
        ("{\n  \"s\": {\n    \"o\": 1, // one\n  }\n}", "\"o\": 1, // one\n    \"t\""),
        (
            "{\n  \"s\": {\n    \"o\": 1 /* a */ /* b */\n  }\n}",
            "\"o\": 1, /* a */ /* b */\n    \"t\"",
        ),
        ("{\n  \"s\": {\n    \"o\": 1 /* a\n b */\n  }\n}", "\"o\": 1,\n    \"t\""),
        ("{\n  \"s\": {\n    \"o\": 1 /* a */, // b\n  }\n}", "\"o\": 1 /* a */, // b\n    \"t\""),
        // in an empty object
        ("{\n  \"s\": { // none yet\n  }\n}", "{ // none yet\n    \"t\""),
        ("{\n  \"s\": {\n    // \"o\": 1\n  }\n}", "    // \"o\": 1\n    \"t\""),
        ("{\n  \"s\": { /* none */ }\n}", "{ /* none */\n    \"t\""),
        // above and below everything
        ("// top\n", "// top\n{\n  \"s\""),
        ("// top\n{ /* in */ }\n// end", "// top\n{ /* in */\n  \"s\""),
    ];
    for (before, expected) in table {
        let after = added(before);
        assert!(after.contains(expected), "{before}\n→\n{after}");
        let after = to_value(&parse(&after, Dialect::Comments).unwrap().unwrap().root);
        assert_eq!(after["s"]["t"]["c"], "x");
    }
}

#[test]
fn a_trailing_comma_stays_the_habit_of_the_file() {
    let after = added("{\n  \"s\": {\n    \"o\": 1,\n  },\n}");
    assert!(after.ends_with("    },\n  },\n}"), "{after}");
}

#[test]
fn replacing_changes_the_value_and_nothing_else() {
    let text = "{\n  // mine\n  \"s\": { \"t\" : \"old\" /* why */, \"u\": 2 },\n}\n";
    let after = set(text, Dialect::Comments, &["s", "t"], &json!("new")).unwrap();
    assert_eq!(after, text.replace("\"old\"", "\"new\""));
}

#[test]
fn what_is_not_an_object_is_not_written_over() {
    for (text, depth) in [("[]", 0), ("1", 0), ("{\"s\": null}", 1), ("{\"s\": []}", 1)] {
        let error = set(text, Dialect::Comments, &["s", "t"], &json!(1)).unwrap_err();
        assert_eq!(error, EditError::NotAnObject { depth }, "{text}");
    }
}

#[test]
fn a_strict_file_stays_strict_json() {
    for text in
        ["{}", "{\"s\":{\"o\":1}}", "{\n  \"x\": 1\n}", "{\n  \"s\": {\n    \"o\": 1\n  }\n}"]
    {
        let after = set(text, Dialect::Strict, &["s", "t"], &json!({"c": 1})).unwrap();
        let after: Value = serde_json::from_str(&after).unwrap();
        assert_eq!(after["s"]["t"]["c"], 1);
    }
}

/// Spaces and comments between tokens; a line comment carries its newline.
fn any_trivia() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\r\n\t",
        " // c, }\n",
        "/* { */",
        "/*\n*/ ",
    ])
}

/// JSON text with comments, and the value it stands for.
fn any_text() -> impl Strategy<Value = (String, Value)> {
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<i32>().prop_map(|n| json!(n)),
        "[a/*\"\\\\}é,]{0,4}".prop_map(|text| json!(text)),
    ];
    let scalar = scalar.prop_map(|value| (value.to_string(), value));
    scalar.prop_recursive(4, 24, 4, |inner| {
        let members = prop::collection::vec(
            (
                prop_oneof!["[a-c]", Just("s".to_owned()), Just("t".to_owned())],
                inner,
                any_trivia(),
                any_trivia(),
            ),
            0..4,
        );
        (members, any_trivia(), any::<bool>()).prop_map(|(members, end, trailing)| {
            let mut text = "{".to_owned();
            let mut value = serde_json::Map::new();
            let last = members.len().saturating_sub(1);
            for (n, (key, (inner, inner_value), before, after)) in members.into_iter().enumerate() {
                let comma = if n < last || trailing { "," } else { "" };
                text.push_str(&format!("{before}\"{key}\":{before}{inner}{after}{comma}"));
                value.insert(key, inner_value);
            }
            text.push_str(end);
            text.push('}');
            (text, Value::Object(value))
        })
    })
}

/// Whether `short` is `long` with something left out.
fn is_subsequence(short: &str, long: &str) -> bool {
    let mut long = long.bytes();
    short.bytes().all(|byte| long.any(|other| other == byte))
}

proptest! {
    #[test]
    fn only_the_one_value_changes((text, value) in any_text(), entry in 0..9_i32) {
        let Ok(after) = set(&text, Dialect::Comments, &["s", "t"], &json!({"c": entry})) else {
            return Ok(());
        };
        let mut expected = value.clone();
        expected["s"]["t"] = json!({"c": entry});
        let read = to_value(&parse(&after, Dialect::Comments).unwrap().unwrap().root);
        prop_assert_eq!(read, expected, "{}\n→\n{}", text, after);
        let replaced = value.get("s").is_some_and(|s| s.get("t").is_some());
        prop_assert!(replaced || is_subsequence(&text, &after), "{}\n→\n{}", text, after);
    }

    #[test]
    fn the_reader_never_panics(text in any::<String>(), json in "[{}\\[\\]\",:/* \n\\\\a0-]{0,40}") {
        let _ = parse(&text, Dialect::Comments);
        let _ = parse(&json, Dialect::Strict);
        let _ = set(&json, Dialect::Comments, &["s"], &json!(1));
    }
}
