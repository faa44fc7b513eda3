//! Detects the layout of a JSON file, so that new members look like the others.

use serde_json::Value;
use trunkline_catalog::jsonc::{self, Node};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) newline: &'static str,
    /// One step of indentation.
    pub(super) unit: String,
}

impl Layout {
    /// From the file itself; two spaces where it does not show.
    pub(super) fn of(text: &str, root: Option<&Node>) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.and_then(|root| match &root.value {
            jsonc::Value::Object(members) => members.first(),
            _ => None,
        });
        let shown = first.and_then(|member| own_line_indent(text, member.key.span.start));
        let unit = shown.filter(|indent| !indent.is_empty()).unwrap_or("  ").to_owned();
        Self { newline, unit }
    }

    /// The value over several lines, as it stands behind a name on a line indented by `indent`.
    /// Lists stay on one line: ours are short.
    pub(super) fn block(&self, value: &Value, indent: &str) -> String {
        let Value::Object(members) = value else {
            return inline(value);
        };
        if members.is_empty() {
            return "{}".to_owned();
        }
        let inner = format!("{indent}{}", self.unit);
        let lines: Vec<String> = members
            .iter()
            .map(|(key, value)| format!("{inner}{}: {}", quoted(key), self.block(value, &inner)))
            .collect();
        let newline = self.newline;
        format!("{{{newline}{}{newline}{indent}}}", lines.join(&format!(",{newline}")))
    }
}

/// The value on one line, with spaces as people write them.
pub(in crate::install) fn inline(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let pair =
                |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), inline(value));
            format!("{{{}}}", members.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

pub(super) fn quoted(key: &str) -> String {
    Value::from(key).to_string()
}

/// The spaces before `at`, if nothing else stands before it on its line.
pub(super) fn own_line_indent(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let indent = before.get(before.rfind('\n')? + 1..)?;
    indent.chars().all(|c| c == ' ' || c == '\t').then_some(indent)
}

/// The spaces at the start of the line on which `at` stands.
pub(super) fn line_indent(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.get(line..).unwrap_or_default();
    let end = line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}
