//! Sets one value in JSON text, or takes one out. Only the bytes of that value, or of the member, change.

mod remove;

use std::ops::Range;

use serde_json::Value;
use trunkline_catalog::jsonc::{self, Dialect, Document, JsonMember, Node};
use trunkline_catalog::place::Span;

use super::layout::{Layout, inline, line_indent, own_line_indent, quoted};
use super::read::{SyntaxError, member, parse};

pub(in crate::install::document) use remove::remove;

#[derive(Debug, PartialEq, Eq)]
pub(in crate::install::document) enum EditError {
    Syntax(SyntaxError),
    /// What stands at this depth of the path is not an object.
    NotAnObject {
        depth: usize,
    },
}

/// The text with `value` at `path`; objects on the way that are missing are made.
pub(in crate::install::document) fn set(
    text: &str,
    dialect: Dialect,
    path: &[&str],
    value: &Value,
) -> Result<String, EditError> {
    let document = parse(text, dialect).map_err(EditError::Syntax)?;
    let layout = Layout::of(text, document.as_ref().map(|document| &document.root));
    let Some(document) = document else {
        return Ok(new_document(text, &layout, &nested(path, value)));
    };

    let mut holder: Option<(&Node, &JsonMember)> = None;
    let mut node = &document.root;
    for (depth, key) in path.iter().enumerate() {
        let jsonc::Value::Object(members) = &node.value else {
            return Err(EditError::NotAnObject { depth });
        };
        let Some(member) = member(node, key) else {
            let value = nested(path.get(depth + 1..).unwrap_or_default(), value);
            let target = InsertTarget { node, members, is_root: depth == 0, document: &document };
            return Ok(inserted(text, &layout, &target, key, &value));
        };
        holder = Some((node, member));
        node = &member.value;
    }
    let new = match holder {
        Some((object, member)) if spans_lines(text, object.span) => {
            layout.block(value, line_indent(text, member.key.span.start))
        }
        _ => inline(value),
    };
    Ok(replaced(text, node.span.start..node.span.end, &new))
}

/// The object that gets a new member.
struct InsertTarget<'a> {
    node: &'a Node,
    members: &'a [JsonMember],
    is_root: bool,
    document: &'a Document,
}

impl InsertTarget<'_> {
    /// The comma behind the last member.
    fn trailing_comma(&self, last: &JsonMember) -> Option<Span> {
        let inside =
            |comma: &&Span| last.value.span.end <= comma.start && comma.end < self.node.span.end;
        self.document.trailing_commas.iter().find(inside).copied()
    }
}

fn inserted(
    text: &str,
    layout: &Layout,
    into: &InsertTarget<'_>,
    key: &str,
    value: &Value,
) -> String {
    let Some(last) = into.members.last() else {
        return first_member(text, layout, into, key, value);
    };
    let trailing_comma = into.trailing_comma(last);
    let end = trailing_comma.unwrap_or(last.value.span).end;
    if !spans_lines(text, into.node.span) {
        let member = format!("{}: {}", quoted(key), inline(value));
        let new =
            if trailing_comma.is_some() { format!(" {member},") } else { format!(", {member}") };
        return replaced(text, end..end, &new);
    }
    let indent = into.members.first().and_then(|first| own_line_indent(text, first.key.span.start));
    let indent = indent.map_or_else(|| deeper(text, layout, into.node), str::to_owned);
    let member = format!("{indent}{}: {}", quoted(key), layout.block(value, &indent));
    let at = line_end(text, end).unwrap_or(end);
    let newline = layout.newline;
    if trailing_comma.is_some() {
        replaced(text, at..at, &format!("{newline}{member},"))
    } else {
        // from the back, so that the first position still holds
        let text = replaced(text, at..at, &format!("{newline}{member}"));
        replaced(&text, end..end, ",")
    }
}

/// A member for an object that has none, but perhaps a comment.
fn first_member(
    text: &str,
    layout: &Layout,
    into: &InsertTarget<'_>,
    key: &str,
    value: &Value,
) -> String {
    let Span { start, end } = into.node.span;
    let inside = text.get(start + 1..end.saturating_sub(1)).unwrap_or_default();
    let at = start + 1 + inside.trim_end().len();
    let one_line_file = !into.is_root && !spans_lines(text, into.document.root.span);
    if one_line_file {
        return replaced(text, at..at, &format!("{}: {}", quoted(key), inline(value)));
    }
    let indent = deeper(text, layout, into.node);
    let newline = layout.newline;
    let mut new = format!("{newline}{indent}{}: {}", quoted(key), layout.block(value, &indent));
    let brace_on_own_line = text.get(at..end).is_some_and(|rest| rest.contains('\n'));
    if !brace_on_own_line {
        new.push_str(newline);
        new.push_str(line_indent(text, start));
    }
    replaced(text, at..at, &new)
}

/// A document for a text that has no value: what is there (a comment) stays on top.
fn new_document(text: &str, layout: &Layout, value: &Value) -> String {
    let above = text.trim_end();
    let newline = layout.newline;
    let gap = if above.is_empty() { "" } else { newline };
    format!("{above}{gap}{}{newline}", layout.block(value, ""))
}

fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object([((*key).to_owned(), inner)].into_iter().collect())
    })
}

fn deeper(text: &str, layout: &Layout, object: &Node) -> String {
    format!("{}{}", line_indent(text, object.span.start), layout.unit)
}

/// The end of the line, if after `from` there is nothing on it but spaces and comments.
fn line_end(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        let line = rest.get(..rest.find('\n')?)?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        let line = line.get(blank..)?;
        if line.is_empty() || line.starts_with("//") {
            return Some(at + blank + line.len());
        }
        at += blank + 2 + line.strip_prefix("/*")?.find("*/")? + 2;
    }
}

fn spans_lines(text: &str, span: Span) -> bool {
    span.of(text).contains('\n')
}

fn replaced(text: &str, span: Range<usize>, new: &str) -> String {
    let before = text.get(..span.start).unwrap_or(text);
    let after = text.get(span.end..).unwrap_or_default();
    [before, new, after].concat()
}

#[cfg(test)]
mod tests;
