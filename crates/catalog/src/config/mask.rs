//! Which bytes of the file a quoted line must not show.

use std::ops::Range;

use super::escape::visible;
use super::expand::{PieceKind, pieces};
use super::explain::OPTIONS;
use super::filter::{EXPOSE, HIDE};
use super::harmless::{CommandLine, hidden_in_address, hidden_in_key, is_name, is_plain};
use super::keys::SPELLINGS;
use super::near::nearest;
use super::suspect::{is_ordinary_name, is_secret_name};
use crate::jsonc::{Document, JsonMember, JsonText, Node, SyntaxError, Value, parse};
use crate::place::{Lines, Span};

/// Every string but those that are known to be harmless, and comments. References (`${NAME}`) stay
/// readable: they are what most problems are about. So do keys, unless they hold a value.
pub(crate) fn private_parts(document: &Document) -> Vec<Span> {
    let mut mask = Mask { hidden: document.comments.clone() };
    mask.file(&document.root);
    mask.hidden
}

/// The text of a config as it may be shown: everything that may be a secret, and comments, as `*`; nothing
/// at all if it is not JSON.
pub fn masked(text: &str) -> String {
    // Without a structure nothing tells values from keys: nothing is shown.
    let Ok(document) = parse(text, OPTIONS) else {
        return String::new();
    };
    let hidden = private_parts(&document);
    let mask = |(at, c): (usize, char)| match c {
        '\n' | '\t' => c,
        // One `*` for each character: lines and columns of the problem stay right.
        _ if hidden.iter().any(|span| span.contains(at)) => '*',
        _ => visible(c),
    };
    text.char_indices().filter(|(_, c)| *c != '\r').map(mask).collect()
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
    hide_bad_keys(text, start, &mut hidden);
    hidden
}

/// What a member's value is, and so what of it may be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueRole {
    /// A program and its arguments, as one string or word by word.
    CommandLine,
    Path,
    Address,
    /// Names of tools, or one of the words that we know.
    Names,
    /// Strings are hidden.
    Unknown,
    /// Numbers too.
    Secret,
}

/// Numbers of more characters may be secrets.
pub(crate) const LONG_NUMBER: usize = 6;

struct Mask {
    hidden: Vec<Span>,
}

impl Mask {
    fn file(&mut self, root: &Node) {
        self.members(root, |mask, key, value| match key {
            "mcpServers" | "servers" => mask.members(value, |mask, _, server| mask.server(server)),
            "tools" => mask.members(value, |mask, _, tool| mask.custom_tool(tool)),
            "presets" => mask.members(value, |mask, _, list| mask.value(list, ValueRole::Names)),
            "clients" => mask.members(value, |mask, _, client| {
                mask.members(client, |mask, key, value| match key {
                    "preset" | "hiddenTools" => mask.value(value, ValueRole::Names),
                    key => mask.value(value, role_of_unknown(key)),
                });
            }),
            key => mask.value(value, role_of_unknown(key)),
        });
    }

    fn server(&mut self, server: &Node) {
        self.members(server, |mask, key, value| mask.value(value, role(key)));
    }

    fn custom_tool(&mut self, tool: &Node) {
        self.members(tool, |mask, key, value| match key {
            "subtools" => mask.members(value, |mask, _, server| {
                mask.members(server, |mask, key, tools| match key {
                    "tools" => mask.value(tools, ValueRole::Names),
                    key => mask.value(tools, role_of_unknown(key)),
                });
            }),
            key => mask.value(value, role_of_unknown(key)),
        });
    }

    /// Looks at each member of an object; anything else is hidden.
    fn members(&mut self, node: &Node, mut each: impl FnMut(&mut Mask, &str, &Node)) {
        let Value::Object(members) = &node.value else {
            return self.value(node, ValueRole::Unknown);
        };
        for JsonMember { key, value } in members {
            self.key(key);
            each(self, &key.value, value);
        }
    }

    fn value(&mut self, node: &Node, role: ValueRole) {
        match (&node.value, role) {
            (Value::String(text), _) => self.string(text, role),
            (Value::Array(items), ValueRole::CommandLine) => self.words(items),
            (Value::Array(items), _) => items.iter().for_each(|item| self.value(item, role)),
            (Value::Object(_), ValueRole::Names) => {
                self.members(node, |mask, key, value| match key {
                    "name" | "original" | "exposed" => mask.value(value, ValueRole::Names),
                    key => mask.value(value, role_of_unknown(key)),
                });
            }
            (Value::Object(_), _) => self.members(node, |mask, key, value| {
                let inner = role_of_unknown(key);
                mask.value(value, if role == ValueRole::Secret { role } else { inner });
            }),
            (Value::Number(number), _)
                if role == ValueRole::Secret || number.len() > LONG_NUMBER =>
            {
                self.hidden.push(node.span);
            }
            (Value::Number(_) | Value::Bool(_) | Value::Null, _) => {}
        }
    }

    fn string(&mut self, text: &JsonText, role: ValueRole) {
        let judged = judged(&text.value);
        let everything = 0..judged.len();
        let hidden = match role {
            ValueRole::CommandLine => words(&judged),
            ValueRole::Address => hidden_in_address(&judged),
            ValueRole::Path if is_plain(&judged, false) => Vec::new(),
            ValueRole::Names if is_name(&judged) => Vec::new(),
            ValueRole::Path | ValueRole::Names | ValueRole::Unknown | ValueRole::Secret => {
                vec![everything]
            }
        };
        self.parts(text, &hidden);
    }

    fn words(&mut self, items: &[Node]) {
        let mut line = CommandLine::default();
        for item in items {
            match &item.value {
                Value::String(text) => self.parts(text, &line.next(&judged(&text.value))),
                Value::Number(number) if !line.next(number).is_empty() => {
                    self.hidden.push(item.span);
                }
                _ => self.value(item, ValueRole::Unknown),
            }
        }
    }

    fn key(&mut self, key: &JsonText) {
        self.hidden.extend(hidden_in_key(&key.value).map(|part| key.span_of(part)));
    }

    /// Hides these parts of a string, except for the references in them.
    fn parts(&mut self, text: &JsonText, hidden: &[Range<usize>]) {
        for part in hidden {
            for piece in pieces(&text.value) {
                let literal = match piece.kind {
                    PieceKind::Literal(_) => piece.range,
                    PieceKind::Variable { default: Some(default), .. } => {
                        let end = piece.range.end.saturating_sub(1);
                        end.saturating_sub(default.len())..end
                    }
                    PieceKind::Variable { default: None, .. } | PieceKind::Broken(_) => continue,
                };
                let both = part.start.max(literal.start)..part.end.min(literal.end);
                if !both.is_empty() {
                    self.hidden.push(text.span_of(both));
                }
            }
        }
    }
}

/// The string with `$` in place of its references: they are no words. A default is one.
fn judged(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece.kind {
            PieceKind::Literal(literal) => out.push_str(literal),
            PieceKind::Variable { default: Some(default), .. } => {
                let before = piece.range.len().saturating_sub(default.len() + 1);
                out.push_str(&"$".repeat(before));
                out.push_str(default);
                out.push('$');
            }
            PieceKind::Variable { .. } | PieceKind::Broken(_) => {
                out.push_str(&"$".repeat(piece.range.len()));
            }
        }
    }
    out
}

/// A command line in one string: which parts are hidden.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut line = CommandLine::default();
    let mut hidden = Vec::new();
    let mut at = 0;
    for word in text.split(char::is_whitespace) {
        if !word.is_empty() {
            hidden.extend(line.next(word).into_iter().map(|part| at + part.start..at + part.end));
        }
        at += word.len();
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    }
    hidden
}

fn role(key: &str) -> ValueRole {
    match key {
        "command" | "args" => ValueRole::CommandLine,
        "cwd" => ValueRole::Path,
        "url" | "serverUrl" | "httpUrl" => ValueRole::Address,
        "type" | "share" | "era" | "disabled" | "enabled" => ValueRole::Names,
        key if EXPOSE.iter().chain(&HIDE).any(|known| known.name == key) => ValueRole::Names,
        // Numbers, too: a PIN or a numeric token is no less a secret.
        key if is_secret_name(key) => ValueRole::Secret,
        // A misspelt key is what the problem is about; its value is judged as strictly.
        key => match nearest(key, &SPELLINGS) {
            Some("command" | "args") => ValueRole::CommandLine,
            Some("url") => ValueRole::Address,
            _ => ValueRole::Unknown,
        },
    }
}

fn role_of_unknown(key: &str) -> ValueRole {
    match key {
        // `HOME` and the like of an `env`: paths that a reader has to see.
        key if is_ordinary_name(key) => ValueRole::Path,
        key if is_secret_name(key) => ValueRole::Secret,
        _ => ValueRole::Unknown,
    }
}

/// Keys are shown also where the file is broken, but not what was pasted as one.
fn hide_bad_keys(line: &str, offset: usize, hidden: &mut Vec<Span>) {
    let mut at = offset;
    for run in line.split('"') {
        // What stands between two strings is not one.
        let is_string = run.starts_with(char::is_alphanumeric);
        if let Some(part) = hidden_in_key(run).filter(|_| is_string) {
            hidden.push(Span::new(at + part.start, at + part.end));
        }
        at += run.len() + 1;
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
