//! What nobody can see, taken out of texts: invisible and bidirectional characters, tags, escape sequences,
//! HTML comments. Every other byte stays.

use trunkline_wire::encode;

use crate::scan::fields::each_text;
use crate::scan::invisible::{HiddenKind, escape_end, hidden_characters};

/// The text without what nobody sees; `None`: it had nothing of that.
pub fn strip_text(text: &str) -> Option<String> {
    let without_comments = strip_comments(text);
    let text = without_comments.as_deref().unwrap_or(text);
    let mut clean = String::new();
    let mut copied = 0;
    for (at, c, kind) in hidden_characters(text) {
        if at < copied {
            continue;
        }
        clean.push_str(text.get(copied..at).unwrap_or_default());
        copied = match kind {
            HiddenKind::Control => escape_end(text, at).max(at + c.len_utf8()),
            _ => at + c.len_utf8(),
        };
    }
    if copied == 0 {
        return without_comments;
    }
    clean.push_str(text.get(copied..).unwrap_or_default());
    Some(clean)
}

fn strip_comments(text: &str) -> Option<String> {
    let mut clean = String::new();
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once("<!--") {
        clean.push_str(before);
        // Without an end it is no comment to those who show the text.
        let Some((_, after)) = inner.split_once("-->") else {
            clean.push_str("<!--");
            rest = inner;
            continue;
        };
        rest = after;
    }
    clean.push_str(rest);
    (clean.len() < text.len()).then_some(clean)
}

/// The definition with its descriptions and titles stripped; `None`: nothing was to be done. Names and values
/// that calls carry (`enum`, `default`) stay: they would no longer be what the server knows.
pub fn strip_definition(definition: &[u8]) -> Option<Vec<u8>> {
    const VALUES: [&str; 5] = ["enum", "const", "default", "examples", "_meta"];
    let mut clean = Vec::new();
    let mut copied = 0;
    each_text(definition, |field| {
        let is_text = matches!(field.key_before(0), Some("description" | "title"));
        if field.is_key || !is_text || field.is_within(&VALUES) {
            return;
        }
        if let Some(text) = strip_text(&field.text) {
            clean.extend_from_slice(definition.get(copied..field.start).unwrap_or_default());
            clean.extend_from_slice(&encode(&text));
            copied = field.end;
        }
    });
    if copied == 0 {
        return None;
    }
    clean.extend_from_slice(definition.get(copied..).unwrap_or_default());
    Some(clean)
}
