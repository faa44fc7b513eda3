//! Tools for people: the list, and one tool with its schema.

use trunkline_wire::{member, pretty};

use super::{list, summary, title, words};
use crate::client::clean;
use crate::client::schema::{Schema, lenient, parameters};
use crate::client::table::columns;

pub(crate) fn tool_list(result: &[u8], width: usize) -> String {
    let row = |tool: &&[u8]| [title(tool, "name"), summary(&words(tool, "description"))];
    let rows: Vec<_> = list(result, "tools").iter().map(row).collect();
    match rows.len() {
        0 => "no tools\n".to_owned(),
        _ => columns(&rows, "", width),
    }
}

/// The lines below the list, for tools that are switched off.
pub(crate) fn switched_off(names: &[String]) -> String {
    names.iter().map(|name| format!("{}  (off)\n", clean::line(name))).collect()
}

/// One tool: what it does, what it takes, what it returns.
pub(crate) fn tool(definition: &[u8], width: usize) -> String {
    let mut out = title(definition, "name");
    let annotations = member(definition, "annotations").unwrap_or_default();
    let titles = [words(definition, "title"), words(annotations, "title")];
    if let Some(title) = titles.iter().find(|title| !title.is_empty()) {
        out.push_str(&format!(" ({})", clean::line(title)));
    }
    out.push('\n');
    paragraph(&words(definition, "description"), &mut out);
    let hints = hints(annotations);
    if !hints.is_empty() {
        out.push_str(&format!("\n  {}\n", hints.join(", ")));
    }
    if let Some(input) = member(definition, "inputSchema") {
        let table = parameters(Schema::new(&lenient(input)), width);
        out.push_str(if table.is_empty() { "\nNo arguments\n" } else { "\nArguments\n" });
        out.push_str(&table);
        section("Input schema", input, &mut out);
    }
    if let Some(output) = member(definition, "outputSchema") {
        section("Output schema", output, &mut out);
    }
    out
}

pub(super) fn paragraph(words: &str, out: &mut String) {
    for line in clean::block(words.trim()).lines() {
        out.push_str(format!("  {line}").trim_end());
        out.push('\n');
    }
}

fn section(title: &str, schema: &[u8], out: &mut String) {
    out.push_str(&format!("\n{title}\n"));
    paragraph(&pretty(schema), out);
}

/// What the server says about the tool's effects. Only what it says: defaults are not repeated.
fn hints(annotations: &[u8]) -> Vec<&'static str> {
    let said = [
        ("readOnlyHint", "changes nothing", "changes something"),
        ("destructiveHint", "may destroy something", "destroys nothing"),
        ("idempotentHint", "may be repeated", "has an effect each time"),
        ("openWorldHint", "reaches beyond this machine", "stays on this machine"),
    ];
    let word = |(key, yes, no): (&str, &'static str, &'static str)| match member(annotations, key)?
    {
        b"true" => Some(yes),
        b"false" => Some(no),
        _ => None,
    };
    said.into_iter().filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_a_table() {
        let result =
            br#"{"tools":[{"name":"a:b","description":"Does it. And more."},{"name":"a:longer"}]}"#;
        assert_eq!(tool_list(result, 80), "a:b       Does it\na:longer\n");
        assert_eq!(tool_list(br#"{"tools":[]}"#, 80), "no tools\n");
    }

    #[test]
    fn a_tool_is_described_with_its_schema() {
        let definition = br#"{"name":"a:b","title":"B","description":"Does it.\n\nReally.",
            "inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},
            "outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
        let expected = "a:b (B)\n  Does it.\n\n  Really.\n\n  changes nothing\n\nArguments\n  n  integer\n\n\
            Input schema\n  {\n    \"type\": \"object\",\n    \"properties\": {\n      \"n\": {\n        \
            \"type\": \"integer\"\n      }\n    }\n  }\n\nOutput schema\n  {\n    \"type\": \"object\"\n  }\n";
        assert_eq!(tool(definition, 80), expected);
    }

    #[test]
    fn a_tool_without_arguments_says_so() {
        let definition = br#"{"name":"x","inputSchema":{"type":"object"}}"#;
        assert!(tool(definition, 80).contains("\nNo arguments\n"));
    }

    #[test]
    fn one_odd_tool_does_not_hide_the_others() {
        let result = br#"{"tools":[{"name":"a","x":1e400},{"name":5},{},"b"]}"#;
        assert_eq!(tool_list(result, 80), "a\n5\n{}\n\"b\"\n");
        let definition =
            br#"{"name":"x","inputSchema":{"properties":{"n":{"type":"number","maximum":1e400}}}}"#;
        let text = tool(definition, 80);
        assert!(text.contains("\nArguments\n  n  number\n"), "{text}");
        assert!(text.contains("\"maximum\": 1e400\n"), "{text}");
    }
}
