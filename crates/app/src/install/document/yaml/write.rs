//! Members of an object as YAML lines. Texts are quoted as in JSON, which YAML reads the same.

use serde_json::Value;

use super::STEP;

/// A member and all that is in it, so far from the left.
pub(super) fn member(key: &str, value: &Value, indent: usize, newline: &str) -> String {
    lines(key, value, indent).iter().map(|line| format!("{line}{newline}")).collect()
}

/// What is in a value, line by line.
pub(in crate::install) fn members(value: &Value) -> Vec<String> {
    let members = value.as_object().into_iter().flatten();
    members.flat_map(|(key, value)| lines(key, value, 0)).collect()
}

fn lines(key: &str, value: &Value, indent: usize) -> Vec<String> {
    let (space, name) = (" ".repeat(indent), name(key));
    let head = std::iter::once(format!("{space}{name}:"));
    match value {
        Value::Object(members) if !members.is_empty() => {
            let inside = members.iter().flat_map(|(key, value)| lines(key, value, indent + STEP));
            head.chain(inside).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let deeper = " ".repeat(indent + STEP);
            head.chain(items.iter().map(|item| format!("{deeper}- {item}"))).collect()
        }
        scalar => vec![format!("{space}{name}: {scalar}")],
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
