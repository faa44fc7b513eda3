//! Adds a text to a list in JSON text, or takes one out. Comments and layout stay.

use serde_json::Value as Json;
use trunkline_catalog::jsonc::{Dialect, Document, HalfPairs, Node, Options, Value, parse};

/// As deep as the editor of client files reads.
const DEPTH: usize = 256;

/// The text with `item` at the end of the list at `path`; `None` where no list with items is there.
pub(super) fn append(text: &str, path: &[&str], item: &str) -> Option<String> {
    let document = document(text)?;
    let (list, items) = list(&document, path)?;
    let last = items.last()?;
    let in_list = |comma: usize| last.span.end <= comma && comma < list.span.end;
    let mut trailing = document.trailing_commas.iter().map(|comma| comma.start);
    let trailing = trailing.find(|comma| in_list(*comma));
    let quoted = Json::from(item).to_string();
    let indent = own_line_indent(text, last.span.start);
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let new = match indent {
        Some(indent) => format!("{newline}{indent}{quoted}"),
        None => format!(" {quoted}"),
    };
    let Some(comma) = trailing else {
        // Behind a comment on the last item's line, with the comma before it.
        let at = indent.and_then(|_| line_end(text, last.span.end)).unwrap_or(last.span.end);
        let (before, between, after) =
            (text.get(..last.span.end)?, text.get(last.span.end..at)?, text.get(at..)?);
        return Some([before, ",", between, &new, after].concat());
    };
    let at = indent.and_then(|_| line_end(text, comma + 1)).unwrap_or(comma + 1);
    Some([text.get(..at)?, &new, ",", text.get(at..)?].concat())
}

/// The text without `item` in the list at `path`; `None` where it is not, or is the only one.
pub(super) fn take(text: &str, path: &[&str], item: &str) -> Option<String> {
    let document = document(text)?;
    let (list, items) = list(&document, path)?;
    let is_it = |node: &Node| matches!(&node.value, Value::String(text) if text.value == item);
    let at = items.iter().position(is_it).filter(|_| items.len() > 1)?;
    let node = items.get(at)?;
    let (start, end) = (node.span.start, node.span.end);
    let limit = items.get(at + 1).map_or(list.span.end, |next| next.span.start);
    match comma(text, &document, end, limit) {
        Some(comma) => {
            let (start, end) = whole_line(text, start, comma + 1);
            Some([text.get(..start)?, text.get(end..)?].concat())
        }
        // The last one: the comma before it goes.
        None => {
            let before = items.get(at.checked_sub(1)?)?.span.end;
            let comma = comma(text, &document, before, start)?;
            let (start, end) = whole_line(text, start, end);
            let start = start.max(comma + 1);
            Some([text.get(..comma)?, text.get(comma + 1..start)?, text.get(end..)?].concat())
        }
    }
}

fn document(text: &str) -> Option<Document> {
    let half_pairs = HalfPairs::Replaced;
    parse(text, Options { dialect: Dialect::Comments, half_pairs, depth: DEPTH }).ok()
}

fn list<'d>(document: &'d Document, path: &[&str]) -> Option<(&'d Node, &'d [Node])> {
    let node = path.iter().try_fold(&document.root, |node, key| match &node.value {
        Value::Object(members) => {
            members.iter().rfind(|member| member.key.value == *key).map(|member| &member.value)
        }
        _ => None,
    })?;
    match &node.value {
        Value::Array(items) => Some((node, items)),
        _ => None,
    }
}

/// The first comma between the two that is not part of a comment.
fn comma(text: &str, document: &Document, from: usize, to: usize) -> Option<usize> {
    let in_comment =
        |at: usize| document.comments.iter().any(|it| (it.start..it.end).contains(&at));
    let commas = text.get(from..to)?.match_indices(',').map(|(at, _)| from + at);
    commas.into_iter().find(|at| !in_comment(*at))
}

/// The range with its line, if nothing else is on that; else with the blanks behind it, or before it where
/// the list ends.
fn whole_line(text: &str, start: usize, end: usize) -> (usize, usize) {
    let rest = text.get(end..).unwrap_or_default();
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let behind = rest.get(blanks..).unwrap_or_default();
    match own_line_indent(text, start) {
        Some(indent) if behind.starts_with(['\n', '\r']) => {
            let line = start - indent.len();
            let before = text.get(..line).unwrap_or_default();
            let cut = before
                .strip_suffix('\n')
                .map_or(line, |before| before.strip_suffix('\r').map_or(before.len(), str::len));
            (cut, end + blanks)
        }
        Some(_) => (start, end),
        None if behind.starts_with(']') => {
            let before = text.get(..start).unwrap_or_default();
            (before.trim_end_matches([' ', '\t']).len(), end)
        }
        None => (start, end + blanks),
    }
}

/// The blanks before `at`, if nothing else stands before it on its line.
fn own_line_indent(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let indent = before.get(before.rfind('\n')? + 1..)?;
    indent.chars().all(|c| c == ' ' || c == '\t').then_some(indent)
}

/// The end of the line, if after `from` there is nothing on it but blanks and a comment.
fn line_end(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let line = rest.get(..rest.find('\n')?)?;
    let line = line.strip_suffix('\r').unwrap_or(line);
    let words = line.trim_start_matches([' ', '\t']);
    (words.is_empty() || words.starts_with("//")).then(|| from + line.trim_end().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_and_go_without_a_trace() {
        for (without, with) in [
            (r#"{"l": ["a"]}"#, r#"{"l": ["a", "x"]}"#),
            (r#"{"l": ["a",]}"#, r#"{"l": ["a", "x",]}"#),
            (
                "{\"l\": [\n  \"a\", // why\n  \"b\" // because\n]}",
                "{\"l\": [\n  \"a\", // why\n  \"b\", // because\n  \"x\"\n]}",
            ),
            ("{\"l\": [\n  \"a\",\n]}", "{\"l\": [\n  \"a\",\n  \"x\",\n]}"),
            ("{\"l\": [\r\n  \"a\"\r\n]}", "{\"l\": [\r\n  \"a\",\r\n  \"x\"\r\n]}"),
        ] {
            assert_eq!(append(without, &["l"], "x").unwrap(), with);
            assert_eq!(take(with, &["l"], "x").unwrap(), without);
        }
    }

    #[test]
    fn others_keep_their_comments() {
        for (text, expected) in [
            (r#"{"l": ["x", "a"]}"#, r#"{"l": ["a"]}"#),
            ("{\"l\": [\n  \"x\",\n  \"a\" // why\n]}", "{\"l\": [\n  \"a\" // why\n]}"),
            ("{\"l\": [\n  \"a\", // why, a\n  \"x\"\n]}", "{\"l\": [\n  \"a\" // why, a\n]}"),
        ] {
            assert_eq!(take(text, &["l"], "x").unwrap(), expected);
        }
        assert_eq!(take(r#"{"l": ["x"]}"#, &["l"], "x"), None);
        assert_eq!(take(r#"{"l": ["a", "b"]}"#, &["l"], "x"), None);
        assert_eq!(append(r#"{"l": []}"#, &["l"], "x"), None);
    }
}
