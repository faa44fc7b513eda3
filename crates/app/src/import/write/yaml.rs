//! A map of maps as YAML, as Goose's file has it. Texts are quoted as in JSON, which YAML reads the same.

use serde_json::{Map, Value};

pub(super) fn write(key: &str, servers: &Map<String, Value>) -> String {
    let mut out = String::new();
    member(key, &Value::Object(servers.clone()), 0, &mut out);
    out
}

fn member(key: &str, value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    out.push_str(&format!("{indent}{}:", name(key)));
    match value {
        Value::Object(members) if !members.is_empty() => {
            out.push('\n');
            for (key, value) in members {
                member(key, value, depth + 1, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            for item in items {
                out.push_str(&format!("{indent}  - {item}\n"));
            }
        }
        scalar => out.push_str(&format!(" {scalar}\n")),
    }
}

/// Bare where it cannot be mistaken for anything else.
fn name(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let bare = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(plain);
    let word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    match bare && !word.contains(&key.to_ascii_lowercase().as_str()) {
        true => key.to_owned(),
        false => Value::from(key).to_string(),
    }
}
