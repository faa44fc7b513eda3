//! Prompts for people: the list, one prompt's messages, and its arguments as a schema.

use serde_json::{Map, Value, json};

use super::content::{part, text_of};
use super::{list, parsed, summary, text};
use crate::client::clean;
use crate::client::table::columns;

pub(crate) fn prompt_list(result: &[u8], width: usize) -> String {
    let result = parsed(result);
    let row = |prompt: &Value| {
        let name = clean::line(text(prompt, "name"));
        [name, arguments(prompt), summary(text(prompt, "description"))]
    };
    let rows: Vec<_> = list(&result, "prompts").iter().map(row).collect();
    if rows.is_empty() { "no prompts\n".to_owned() } else { columns(&rows, "", width) }
}

/// `city [style]`: optional ones in brackets.
fn arguments(prompt: &Value) -> String {
    let word = |argument: &Value| {
        let name = clean::line(text(argument, "name"));
        if is_required(argument) { name } else { format!("[{name}]") }
    };
    list(prompt, "arguments").iter().map(word).collect::<Vec<_>>().join(" ")
}

fn is_required(argument: &Value) -> bool {
    argument.get("required") == Some(&Value::Bool(true))
}

/// The arguments of a prompt, which are all text, as a tool's would be described.
pub(crate) fn prompt_schema(definition: &[u8]) -> Value {
    let prompt = parsed(definition);
    let arguments = list(&prompt, "arguments");
    let property = |argument: &Value| {
        let words = text(argument, "description");
        (text(argument, "name").to_owned(), json!({ "type": "string", "description": words }))
    };
    let properties: Map<String, Value> = arguments.iter().map(property).collect();
    let required: Vec<&str> = arguments
        .iter()
        .filter(|argument| is_required(argument))
        .map(|argument| text(argument, "name"))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

/// The messages, each under its role.
pub(crate) fn prompt(result: &[u8]) -> String {
    let result = parsed(result);
    let mut out = String::new();
    for message in list(&result, "messages") {
        let content = message.get("content").unwrap_or(&Value::Null);
        // One block by the protocol; some servers send several.
        let blocks = match content {
            Value::Array(blocks) => blocks.as_slice(),
            one => std::slice::from_ref(one),
        };
        let parts: Vec<_> = blocks.iter().map(part).collect();
        let gap = if out.is_empty() { "" } else { "\n" };
        out.push_str(&format!("{gap}{}:\n", clean::line(text(message, "role"))));
        out.push_str(&text_of(&parts));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = br#"{"prompts":[{"name":"p","description":"[s] Asks",
        "arguments":[{"name":"city","required":true,"description":"Where"},{"name":"style"}]},{"name":"q"}]}"#;

    #[test]
    fn the_list_names_the_arguments() {
        assert_eq!(prompt_list(LIST, 80), "p  city [style]  [s] Asks\nq\n");
    }

    #[test]
    fn arguments_are_text() {
        let definition =
            br#"{"name":"p","arguments":[{"name":"city","required":true},{"name":"style"}]}"#;
        let schema = prompt_schema(definition);
        assert_eq!(schema["required"], json!(["city"]));
        assert_eq!(schema["properties"]["style"]["type"], "string");
    }

    #[test]
    fn messages_stand_under_their_role() {
        let result = br#"{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}},
            {"role":"assistant","content":[{"type":"text","text":"Ho"},{"type":"text","text":"Ho"}]}]}"#;
        assert_eq!(prompt(result), "user:\nHi\n\nassistant:\nHo\nHo\n");
    }
}
