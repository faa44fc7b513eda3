//! The contents of results: text, images, audio, files, links.

use serde_json::Value;

use super::{list, parsed, text};
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
    /// A pointer to something else, or something unknown, in one line.
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
    let result = parsed(result);
    let mut parts: Vec<Part> = list(&result, "content").iter().map(part).collect();
    let has_text = parts.iter().any(|part| matches!(part, Part::Text(_)));
    if let Some(structured) = result.get("structuredContent").filter(|_| !has_text) {
        parts.push(Part::Text(pretty(structured)));
    }
    CallResult { parts, is_error: result.get("isError") == Some(&Value::Bool(true)) }
}

/// What a resource holds.
pub(crate) fn resource_parts(result: &[u8]) -> Vec<Part> {
    list(&parsed(result), "contents").iter().map(contents).collect()
}

pub(super) fn part(block: &Value) -> Part {
    let mime = || clean::line(text(block, "mimeType"));
    match text(block, "type") {
        "text" => Part::Text(text(block, "text").to_owned()),
        kind @ ("image" | "audio") => Part::Data {
            what: kind.to_owned(),
            mime: mime(),
            bytes: base64::decode(text(block, "data")),
        },
        "resource" => contents(block.get("resource").unwrap_or(&Value::Null)),
        "resource_link" => {
            let words = [text(block, "uri"), text(block, "title"), text(block, "name"), &mime()]
                .map(clean::line);
            let said: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
            Part::Line(format!("[resource {}]", said.join(", ")))
        }
        _ => Part::Line(clean::line(&block.to_string())),
    }
}

fn contents(resource: &Value) -> Part {
    match (resource.get("text").and_then(Value::as_str), resource.get("blob")) {
        (Some(text), _) => Part::Text(text.to_owned()),
        (None, Some(blob)) => Part::Data {
            what: clean::line(text(resource, "uri")),
            mime: clean::line(text(resource, "mimeType")),
            bytes: base64::decode(blob.as_str().unwrap_or_default()),
        },
        (None, None) => Part::Line(clean::line(&resource.to_string())),
    }
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

pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
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
        assert!(!call_result(br#"{"content":[],"isError":false}"#).is_error);
    }
}
