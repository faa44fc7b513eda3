//! Secrets that stand in a config file as they are, instead of as a reference to a variable.

use super::explain::OPTIONS;
use super::suspect::{is_secret_name, is_secret_value};
use crate::jsonc::{JsonMember, Value, parse};

/// Where they stand: `env.NAME` or `headers.NAME` of each server, as `server: place`. Nothing if the text is not
/// JSON: that is told elsewhere.
pub fn literal_secrets(text: &str) -> Vec<String> {
    let Ok(document) = parse(text, OPTIONS) else { return Vec::new() };
    let mut found = Vec::new();
    for server in members(&document.root.value, "mcpServers") {
        for place in ["env", "headers"] {
            for member in members(&server.value.value, place) {
                if is_literal_secret(member) {
                    let (server, name) = (&server.key.value, &member.key.value);
                    found.push(format!("{server}: {place}.{name}"));
                }
            }
        }
    }
    found
}

fn is_literal_secret(member: &JsonMember) -> bool {
    let Value::String(text) = &member.value.value else { return false };
    let value = text.value.as_str();
    let is_reference = value.contains('$');
    !value.is_empty()
        && !is_reference
        && (is_secret_name(&member.key.value) || is_secret_value(value))
}

fn members<'v>(value: &'v Value, name: &str) -> &'v [JsonMember] {
    let Value::Object(members) = value else { return &[] };
    let found = members.iter().find(|member| member.key.value == name);
    match found.map(|member| &member.value.value) {
        Some(Value::Object(members)) => members,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_out_is_found_and_references_are_not() {
        let text = r#"{
            // a comment
            "mcpServers": {
                "a": {"command": "x", "env": {"API_KEY": "hunter2", "HOME": "/home/me", "TOKEN": "${TOKEN}"}},
                "b": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer abc", "Accept": "x"}},
                "c": {"command": "x", "env": {"DB": "postgres://me:secret@h/x", "PASSWORD": ""}},
            },
        }"#;
        let found = ["a: env.API_KEY", "b: headers.Authorization", "c: env.DB"];
        assert_eq!(literal_secrets(text), found);
        assert!(literal_secrets("{").is_empty() && literal_secrets("[1]").is_empty());
    }
}
