//! JSON with comments: strict it is what `serde_json` takes, and without its comments it is strict.

use serde_json::Value as Known;
use trunkline_catalog::jsonc::{Dialect, Document, HalfPairs, Node, Options, Value, parse};
use trunkline_catalog::place::Span;

use super::json::serde_takes;

/// `serde_json` stops there, too.
const DEPTH: usize = 100;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    // Editors write a byte-order mark, and we take it; `serde_json` does not. All of them: `parse` takes one, too.
    let text = text.trim_start_matches('\u{feff}');
    let strict = parse(text, options(Dialect::Strict));
    if let Ok(document) = &strict {
        assert!(serde_takes(text.as_bytes()), "what we take is no JSON");
        places(&document.root, text);
        if let Ok(known) = serde_json::from_str::<Known>(text) {
            same(&document.root, &known);
        }
    } else if let Ok(known) = serde_json::from_str::<Known>(text) {
        assert!(depth(&known) >= DEPTH, "JSON that we refuse");
    }
    if let Ok(document) = parse(text, options(Dialect::Comments)) {
        places(&document.root, text);
        let plain = without_comments(text, &document);
        assert!(parse(&plain, options(Dialect::Strict)).is_ok(), "without comments it is not JSON");
    } else {
        assert!(strict.is_err(), "strict JSON is refused with comments allowed");
    }
}

fn options(dialect: Dialect) -> Options {
    Options { dialect, half_pairs: HalfPairs::Refused, depth: DEPTH }
}

fn depth(value: &Known) -> usize {
    match value {
        Known::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Known::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Every value lies where it says.
fn places(node: &Node, text: &str) {
    let written = &text[node.span.start..node.span.end];
    match &node.value {
        Value::Null => assert_eq!(written, "null"),
        Value::Bool(value) => assert_eq!(written, value.to_string()),
        Value::Number(value) => assert_eq!(written, value),
        Value::String(value) => {
            assert!(written.starts_with('"') && written.ends_with('"'));
            let whole = value.span_of(0..value.value.len());
            assert_eq!((whole.start, whole.end), (node.span.start + 1, node.span.end - 1));
        }
        Value::Array(list) => list.iter().for_each(|node| places(node, text)),
        Value::Object(list) => list.iter().for_each(|member| places(&member.value, text)),
    }
}

fn same(node: &Node, known: &Known) {
    match (&node.value, known) {
        (Value::Null, Known::Null) | (Value::Number(_), Known::Number(_)) => {}
        (Value::Bool(value), Known::Bool(known)) => assert_eq!(value, known),
        (Value::String(value), Known::String(known)) => assert_eq!(&value.value, known),
        (Value::Array(list), Known::Array(known)) => {
            assert_eq!(list.len(), known.len());
            list.iter().zip(known).for_each(|(node, known)| same(node, known));
        }
        // The last of two members of one name is `serde_json`'s.
        (Value::Object(list), Known::Object(known)) => {
            for member in list {
                assert!(known.contains_key(&member.key.value), "a member that is not there");
            }
        }
        (value, _) => panic!("{} that serde_json reads otherwise", value.type_name()),
    }
}

fn without_comments(text: &str, document: &Document) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let blank = |span: &Span| span.start..span.end;
    for range in document.comments.iter().chain(&document.trailing_commas).map(blank) {
        bytes[range].fill(b' ');
    }
    String::from_utf8(bytes).expect("whole comments were blanked")
}
