//! The parser against `serde_json`: the same values for JSON, and nothing beyond comments and
//! trailing commas.

use proptest::prelude::{
    Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::Value as Json;

use super::{Dialect, Document, HalfPairs, Node, Options, SyntaxError, Value};
use crate::place::Span;

fn parse(text: &str) -> Result<Document, SyntaxError> {
    let (dialect, half_pairs) = (Dialect::Comments, HalfPairs::Refused);
    super::parse(text, Options { dialect, half_pairs, depth: 128 })
}

fn json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Number(text) => serde_json::from_str(text).expect("a number"),
        Value::String(text) => Json::String(text.value.clone()),
        Value::Array(items) => items.iter().map(json).collect(),
        Value::Object(members) => {
            Json::Object(members.iter().map(|m| (m.key.value.clone(), json(&m.value))).collect())
        }
    }
}

/// The text without what JSON lacks: comments become blanks, trailing commas too.
fn plain(text: &str, document: &Document) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for comment in &document.comments {
        bytes[comment.start..comment.end].fill(b' ');
    }
    let mut in_string = false;
    let mut comma = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => {
                in_string = !in_string;
                comma = None;
            }
            b',' if !in_string => comma = Some(at),
            b']' | b'}' if !in_string => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => comma = None,
        }
        at += 1;
    }
    let text = String::from_utf8(bytes).expect("only ASCII was replaced");
    text.trim_start_matches('\u{feff}').to_owned()
}

/// Accepts what `serde_json` accepts, with the same value; beyond that, only the superset.
fn compare(text: &str) {
    let theirs = serde_json::from_str::<Json>(text);
    match (parse(text), theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(json(&ours.root), theirs, "{text}"),
        (Err(error), Ok(_)) => panic!("refused ({:?}): {text}", error.fault),
        (Ok(ours), Err(error)) if !error.to_string().contains("number out of range") => {
            let plain = plain(text, &ours);
            if let Err(error) = serde_json::from_str::<Json>(&plain) {
                assert!(error.to_string().contains("number out of range"), "accepted: {text}");
            }
        }
        _ => {}
    }
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

#[track_caller]
fn cut(text: &str, span: Span) -> &str {
    text.get(span.start..span.end).expect("a span on character boundaries")
}

#[test]
fn spans_cover_exactly_the_value() {
    let text = r#" {"a\u0062": [ 12 , "é\n" , null ] }"#;
    let document = parse(text).expect("valid");
    let Value::Object(members) = &document.root.value else { panic!() };
    let Value::Array(items) = &members[0].value.value else { panic!() };
    let shown: Vec<&str> = items.iter().map(|item| cut(text, item.span)).collect();
    assert_eq!(shown, ["12", r#""é\n""#, "null"]);
    assert_eq!(cut(text, members[0].key.span), r#""a\u0062""#);
    assert_eq!(cut(text, members[0].key.span_of(1..2)), r"\u0062");
}

proptest! {
    #[test]
    fn generated_json_reads_the_same(value in any_json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            compare(&text);
            prop_assert!(parse(&text).is_ok());
        }
    }

    #[test]
    fn damaged_json_is_judged_the_same(
        value in any_json(),
        at in any::<prop::sample::Index>(),
        length in 0..3_usize,
        inserted in "[\\[\\]{}:,\"\\\\/*\n0-9eE+.tu -]{0,3}",
    ) {
        let mut chars: Vec<char> = value.to_string().chars().collect();
        let start = at.index(chars.len());
        chars.splice(start..(start + length).min(chars.len()), inserted.chars());
        compare(&chars.into_iter().collect::<String>());
    }

    #[test]
    fn short_texts_are_judged_the_same(text in "[\\[\\]{}:,\"\\\\/*\n0-9eE+.tu -]{0,12}") {
        compare(&text);
    }

    #[test]
    fn numbers_are_judged_the_same(text in "-?[0-9]{0,3}\\.?[0-9]{0,3}[eE]?[+-]?[0-9]{0,2}") {
        compare(&text);
    }

    #[test]
    fn strings_are_judged_the_same(text in "\"([a-c\"\\\\/bfnrtué]|\\\\u[dD][89abcdABCD][0-9a-f]{2}|\\\\u[0-9a-f]{3,4}){0,8}\"") {
        compare(&text);
    }

    #[test]
    fn spans_slice_back_to_the_text(value in any::<String>()) {
        let text = Json::from(value.clone()).to_string();
        let document = parse(&text).expect("valid");
        let Value::String(decoded) = &document.root.value else { panic!() };
        for (at, c) in value.char_indices() {
            let span = decoded.span_of(at..at + c.len_utf8());
            let source = format!("\"{}\"", cut(&text, span));
            prop_assert_eq!(serde_json::from_str::<String>(&source).unwrap(), c.to_string());
        }
    }
}
