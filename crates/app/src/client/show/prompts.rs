//! Prompts for people: the list, one prompt's messages, and its arguments as a schema.

use serde_json::{Map, Value, json};
use trunkline_wire::member;

use super::content::{part, says_more, text_of, unknown};
use super::{list, summary, title, words};
use crate::client::clean;
use crate::client::table::columns;

pub(crate) fn prompt_list(result: &[u8], width: usize) -> String {
    let row = |prompt: &&[u8]| {
        [title(prompt, "name"), arguments(prompt), summary(&words(prompt, "description"))]
    };
    let rows: Vec<_> = list(result, "prompts").iter().map(row).collect();
    if rows.is_empty() { "no prompts\n".to_owned() } else { columns(&rows, "", width) }
}

/// `city [style]`: optional ones in brackets.
fn arguments(prompt: &[u8]) -> String {
    let word = |argument: &&[u8]| {
        let name = title(argument, "name");
        if is_required(argument) { name } else { format!("[{name}]") }
    };
    list(prompt, "arguments").iter().map(word).collect::<Vec<_>>().join(" ")
}

fn is_required(argument: &[u8]) -> bool {
    member(argument, "required") == Some(b"true")
}

/// The arguments of a prompt, which are all text, as a tool's would be described.
pub(crate) fn prompt_schema(definition: &[u8]) -> Value {
    let arguments = list(definition, "arguments");
    let property = |argument: &&[u8]| {
        let about = words(argument, "description");
        let name = words(argument, "name").into_owned();
        (name, json!({ "type": "string", "description": about }))
    };
    let properties: Map<String, Value> = arguments.iter().map(property).collect();
    let required: Vec<_> = arguments
        .iter()
        .filter(|argument| is_required(argument))
        .map(|argument| words(argument, "name"))
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
    let messages = list(result, "messages");
    if messages.is_empty() && says_more(result, &["messages", "description"]) {
        return text_of(&[unknown(result)]);
    }
    let mut out = String::new();
    for message in messages {
        let gap = if out.is_empty() { "" } else { "\n" };
        // One block by the protocol; some servers send several.
        let parts: Vec<_> = match member(message, "content") {
            Some(_) => list(message, "content").into_iter().map(part).collect(),
            None => vec![unknown(message)],
        };
        out.push_str(&format!("{gap}{}:\n", clean::line(&words(message, "role"))));
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

    #[test]
    fn what_is_odd_is_shown_as_it_came() {
        let odd = br#"{"prompts":[{"name":"p","_meta":{"x":1e400}},{"name":"q","arguments":5}]}"#;
        assert_eq!(prompt_list(odd, 80), "p\nq  [5]\n");
        let hello = br#"{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}],"_meta":{"x":1e400}}"#;
        assert_eq!(prompt(hello), "user:\nhello\n");
        assert_eq!(prompt(br#"{"messages":["x"]}"#), ":\n\"x\"\n");
        assert_eq!(prompt(br#"{"message":"x"}"#), "{\"message\":\"x\"}\n");
        assert_eq!(prompt(br#"{"messages":[]}"#), "");
    }
}
