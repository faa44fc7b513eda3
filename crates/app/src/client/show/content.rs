//! The contents of results: text, images, audio, files, links.

use trunkline_wire::{decode, member, members, pretty};

use super::{as_sent, list, text, words};
use crate::client::base64;
use crate::client::clean;

/// One piece of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    /// An image, audio, or a file; `None`: its base64 is broken.
    Data {
        what: String,
        mime: String,
        bytes: Option<Vec<u8>>,
    },
    /// A pointer to something else in one line, or the JSON of what cannot be shown otherwise.
    Line(String),
}

/// What a tool returned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CallResult {
    pub(crate) parts: Vec<Part>,
    pub(crate) is_error: bool,
}

/// `structuredContent` counts where there is no text: by the protocol the text repeats it.
pub(crate) fn call_result(result: &[u8]) -> CallResult {
    let mut parts: Vec<Part> = list(result, "content").into_iter().map(part).collect();
    let has_text = parts.iter().any(|part| matches!(part, Part::Text(_)));
    let structured = member(result, "structuredContent").filter(|value| *value != b"null");
    if let Some(structured) = structured.filter(|_| !has_text) {
        parts.push(Part::Text(pretty(structured)));
    }
    if parts.is_empty() && says_more(result, &["content", "structuredContent", "isError"]) {
        parts.push(unknown(result));
    }
    CallResult { parts, is_error: member(result, "isError") == Some(b"true") }
}

/// What a resource holds.
pub(crate) fn resource_parts(result: &[u8]) -> Vec<Part> {
    let parts: Vec<Part> = list(result, "contents").into_iter().map(contents).collect();
    if parts.is_empty() && says_more(result, &["contents"]) {
        return vec![unknown(result)];
    }
    parts
}

/// What a result says about itself.
const ABOUT: [&str; 4] = ["_meta", "resultType", "ttlMs", "cacheScope"];

/// Is there anything in a result besides these members, which were looked at?
pub(super) fn says_more(result: &[u8], seen: &[&str]) -> bool {
    let is_new = |key: &str| !ABOUT.contains(&key) && !seen.contains(&key);
    !result.starts_with(b"{") || members(result).any(|(key, _)| is_new(&key))
}

pub(super) fn part(block: &[u8]) -> Part {
    match text(block, "type").as_deref() {
        Some("text") => match text(block, "text") {
            Some(text) => Part::Text(text.into_owned()),
            None => unknown(block),
        },
        Some(kind @ ("image" | "audio")) => Part::Data {
            what: kind.to_owned(),
            mime: clean::line(&words(block, "mimeType")),
            bytes: data(block, "data"),
        },
        Some("resource") => member(block, "resource").map_or_else(|| unknown(block), contents),
        Some("resource_link") => {
            let said = ["uri", "title", "name", "mimeType"].map(|key| words(block, key));
            let said = said.iter().map(|word| clean::line(word)).filter(|word| !word.is_empty());
            Part::Line(format!("[resource {}]", said.collect::<Vec<_>>().join(", ")))
        }
        _ => unknown(block),
    }
}

fn contents(resource: &[u8]) -> Part {
    match (text(resource, "text"), member(resource, "blob")) {
        (Some(text), _) => Part::Text(text.into_owned()),
        (None, Some(_)) => Part::Data {
            what: clean::line(&words(resource, "uri")),
            mime: clean::line(&words(resource, "mimeType")),
            bytes: data(resource, "blob"),
        },
        (None, None) => unknown(resource),
    }
}

fn data(block: &[u8], key: &str) -> Option<Vec<u8>> {
    base64::decode(&decode(member(block, key)?)?)
}

pub(super) fn unknown(value: &[u8]) -> Part {
    Part::Line(as_sent(value).into_owned())
}

/// Everything as text; data as a line that says what it is.
pub(crate) fn text_of(parts: &[Part]) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Data { what, mime, bytes } => {
                out.push_str(&data_line(what, mime, bytes.as_deref()));
            }
            Part::Line(line) => out.push_str(line),
        }
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

fn data_line(what: &str, mime: &str, bytes: Option<&[u8]>) -> String {
    let size =
        bytes.map_or("not valid base64".to_owned(), |bytes| format!("{} bytes", bytes.len()));
    let mime = if mime.is_empty() { String::new() } else { format!(" {mime}") };
    format!("[{what}{mime}, {size}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: &str, expected: &str) {
        assert_eq!(text_of(&call_result(result.as_bytes()).parts), expected);
    }

    #[test]
    fn text_is_plain() {
        check(r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\n"}]}"#, "a\nb\n");
        check(r#"{"content":[]}"#, "");
        check("{}", "");
    }

    #[test]
    fn data_is_a_line() {
        check(
            r#"{"content":[{"type":"image","mimeType":"image/png","data":"Zm9v"},
                {"type":"audio","data":"!"},
                {"type":"resource","resource":{"uri":"a://b","text":"inside"}},
                {"type":"resource","resource":{"uri":"a://c","blob":"Zm9v"}},
                {"type":"resource_link","uri":"a://d","name":"D"},
                {"type":"hologram","x":1}]}"#,
            "[image image/png, 3 bytes]\n[audio, not valid base64]\ninside\n[a://c, 3 bytes]\n\
             [resource a://d, D]\n{\"type\":\"hologram\",\"x\":1}\n",
        );
    }

    #[test]
    fn structured_content_shows_where_there_is_no_text() {
        check(r#"{"content":[],"structuredContent":{"a":1}}"#, "{\n  \"a\": 1\n}\n");
        check(r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}}"#, "x\n");
    }

    #[test]
    fn a_tools_error_is_known() {
        assert!(call_result(br#"{"content":[],"isError":true}"#).is_error);
        check(r#"{"resultType":"complete","content":[]}"#, "");
        assert!(!call_result(br#"{"content":[],"isError":false}"#).is_error);
    }

    #[test]
    fn what_no_value_can_hold_hides_nothing() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for odd in ["1e400", "12345678901234567890123", r#""\ud800""#, &deep] {
            let hello = r#"{"type":"text","text":"hello"}"#;
            check(
                &format!(r#"{{"content":[{hello}],"structuredContent":{{"a":{odd}}}}}"#),
                "hello\n",
            );
            check(&format!(r#"{{"content":[{hello}],"_meta":{{"a":{odd}}}}}"#), "hello\n");
            let strange = format!(r#"{{"type":"weird","z":{odd}}}"#);
            check(&format!(r#"{{"content":[{hello},{strange}]}}"#), &format!("hello\n{strange}\n"));
        }
        check(r#"{"structuredContent":{"a":1e400}}"#, "{\n  \"a\": 1e400\n}\n");
    }

    #[test]
    fn what_cannot_be_shown_is_shown_as_it_came() {
        for (result, expected) in [
            (r#"{"content":[{"type":"text","text":5}]}"#, r#"{"type":"text","text":5}"#),
            (
                r#"{"content":[{"type":"text","text":"x\ud800y"}]}"#,
                r#"{"type":"text","text":"x\ud800y"}"#,
            ),
            (r#"{"content":"hello"}"#, r#""hello""#),
            (r#"{"content":{"type":"text","text":"one"}}"#, "one"),
            (r#"{"content":[5,null]}"#, "5\nnull"),
            (r#"{"content":[{"type":"resource"}]}"#, r#"{"type":"resource"}"#),
            (r#"{"content":[{"type":"image"}]}"#, "[image, not valid base64]"),
            (r#"{"toolResult":{"a":1.0}}"#, r#"{"toolResult":{"a":1.0}}"#),
            ("null", "null"),
            ("[1]", "[1]"),
        ] {
            check(result, &format!("{expected}\n"));
        }
        check(r#"{"_meta":{"a":1}}"#, "");
    }

    #[test]
    fn what_a_resource_holds_is_never_lost() {
        let text = |result: &str| text_of(&resource_parts(result.as_bytes()));
        let odd = r#"{"contents":[{"uri":"r://a","text":"hello","_meta":{"x":1e400}}]}"#;
        assert_eq!(text(odd), "hello\n");
        assert_eq!(text(r#"{"contents":[{"uri":"a","text":5}]}"#), "{\"uri\":\"a\",\"text\":5}\n");
        assert_eq!(text(r#"{"contents":{"text":"one"}}"#), "one\n");
        assert_eq!(text(r#"{"content":[]}"#), "{\"content\":[]}\n");
        assert_eq!(text(r#"{"contents":[]}"#), "");
        assert_eq!(text("null"), "null\n");
    }
}
