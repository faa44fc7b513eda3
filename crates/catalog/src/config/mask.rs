//! Which bytes of the file a quoted line must not show.

use super::expand::{Kind, pieces};
use super::suspect::{is_secret_name, is_secret_value};
use crate::jsonc::{Document, Member, Node, SyntaxError, Text, Value};
use crate::place::{Lines, Span};

/// The literal values under `env` and `headers`, values that look secret anywhere, and comments.
/// References (`${NAME}`) stay readable: they are what most problems are about.
pub(crate) fn private_parts(document: &Document) -> Vec<Span> {
    let mut hidden = document.comments.clone();
    hide_node(&document.root, Privacy::Open, &mut hidden);
    hidden
}

/// After a syntax error nothing is known about the structure: every value read so far and all
/// text behind the error on its line, except keys.
pub(crate) fn private_parts_around(
    error: &SyntaxError,
    marked: Span,
    lines: &Lines<'_>,
) -> Vec<Span> {
    let mut hidden = error.private.clone();
    if let Some(quote) = error.inside() {
        hidden.push(Span::new(quote + 1, marked.start));
    }
    let line = lines.place(marked.start).line;
    let (start, text) = (lines.start_of(line), lines.line(line));
    // A string that was not expected is marked at its quote: it is part of what comes behind.
    let shown = text.get(marked.start.saturating_sub(start)..).unwrap_or_default();
    let at_string = error.inside().is_none() && shown.starts_with('"');
    let behind = if at_string { marked.start } else { marked.end };
    let after = behind.saturating_sub(start);
    let tail = text.get(after..).unwrap_or_default();
    hide_tail(tail, start + after, error.inside().is_some(), &mut hidden);
    hidden
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Privacy {
    Open,
    /// Under `env` or `headers`: strings are hidden.
    Literals,
    /// Under a name that looks secret: numbers too.
    All,
}

fn hide_node(node: &Node, privacy: Privacy, hidden: &mut Vec<Span>) {
    match &node.value {
        Value::String(text) if privacy != Privacy::Open || is_secret_value(&text.value) => {
            hide_text(text, hidden);
        }
        Value::Number(_) if privacy == Privacy::All => hidden.push(node.span),
        Value::Array(items) => items.iter().for_each(|item| hide_node(item, privacy, hidden)),
        Value::Object(members) => members.iter().for_each(|m| hide_member(m, privacy, hidden)),
        _ => {}
    }
}

fn hide_member(member: &Member, privacy: Privacy, hidden: &mut Vec<Span>) {
    let name = member.key.value.as_str();
    let is_object = matches!(member.value.value, Value::Object(_));
    let privacy = match name.to_ascii_lowercase().as_str() {
        "env" | "envs" | "environment" | "headers" | "http_headers" => Privacy::Literals,
        // A server may be called `auth`; what its own keys hold is judged by them.
        _ if !is_object && is_secret_name(name) => Privacy::All,
        _ => privacy,
    };
    hide_node(&member.value, privacy, hidden);
}

fn hide_text(text: &Text, hidden: &mut Vec<Span>) {
    for piece in pieces(&text.value) {
        match piece.kind {
            Kind::Literal(_) => hidden.push(text.span_of(piece.range)),
            Kind::Variable { default: Some(default), .. } => {
                let end = piece.range.end.saturating_sub(1);
                hidden.push(text.span_of(end.saturating_sub(default.len())..end));
            }
            Kind::Variable { default: None, .. } | Kind::Broken(_) => {}
        }
    }
}

/// Hides the strings that are not followed by `:` and every bare word.
fn hide_tail(tail: &str, offset: usize, mut in_string: bool, hidden: &mut Vec<Span>) {
    let mut rest = tail;
    while let Some(c) = rest.chars().next() {
        let start = offset + tail.len() - rest.len();
        if in_string || c == '"' {
            let body = if in_string { rest } else { rest.get(1..).unwrap_or_default() };
            let length = body.find('"').unwrap_or(body.len());
            let after = body.get(length..).unwrap_or_default();
            let after = after.strip_prefix('"').unwrap_or(after);
            let is_key = !in_string && after.trim_start().starts_with(':');
            if !is_key {
                let from = start + rest.len() - body.len();
                hidden.push(Span::new(from, from + length));
            }
            in_string = false;
            rest = after;
        } else {
            if !c.is_whitespace() && !"{}[]:,".contains(c) {
                hidden.push(Span::new(start, start + c.len_utf8()));
            }
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
}
