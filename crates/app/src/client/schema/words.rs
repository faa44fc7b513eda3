//! Describes a schema to people: the type of a parameter, and the table of all parameters.

use serde_json::Value;

use super::{Schema, ValueKind, ValueKinds};
use crate::client::clean;
use crate::client::table::columns;

/// Choices named in one cell.
const MOST_CHOICES: usize = 12;
/// Nesting described; a schema may contain itself.
const DEEPEST: usize = 3;
/// Lines of a table.
const MOST_ROWS: usize = 200;

/// `string`, `integer or null`, `array of string`, `one of a, b`.
pub(crate) fn type_words(schema: Schema<'_>) -> String {
    words_at(schema, 0)
}

fn words_at(schema: Schema<'_>, depth: usize) -> String {
    let leaves = schema.leaves();
    if leaves.is_empty() {
        return "anything".to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    for leaf in leaves {
        let word = leaf_words(leaf, depth);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" or ")
}

fn leaf_words(leaf: Schema<'_>, depth: usize) -> String {
    if let Some(choices) = leaf.choices() {
        let shown: Vec<String> = choices.iter().take(MOST_CHOICES).map(|one| plain(one)).collect();
        let more = if choices.len() > MOST_CHOICES { ", …" } else { "" };
        return match shown.as_slice() {
            [only] => only.clone(),
            several => format!("one of {}{more}", several.join(", ")),
        };
    }
    let kinds = leaf.own_kinds();
    if kinds == ValueKinds::from(ValueKind::Array) {
        let item = leaf.item(0);
        return match item.kinds() {
            ValueKinds::ALL => "array".to_owned(),
            _ if depth == DEEPEST => "array".to_owned(),
            _ => format!("array of {}", words_at(item, depth + 1)),
        };
    }
    kinds.words().join(" or ")
}

/// A value as a command line says it.
pub(crate) fn spelling(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn plain(value: &Value) -> String {
    clean::line(&spelling(value))
}

/// The properties of an object, one line each, nested ones as `a.b`.
pub(crate) fn parameters(schema: Schema<'_>, width: usize) -> String {
    let mut rows = Vec::new();
    collect(schema, "", 0, &mut rows);
    columns(&rows, "  ", width)
}

fn collect(schema: Schema<'_>, prefix: &str, depth: usize, rows: &mut Vec<[String; 4]>) {
    let required = schema.required();
    for (name, property) in schema.properties() {
        let path = format!("{prefix}{}", clean::line(name));
        rows.push([
            path.clone(),
            type_words(property),
            if required.contains(&name) { "required".to_owned() } else { preset(property) },
            remark(property),
        ]);
        let is_object = property.kinds().has(ValueKind::Object);
        if is_object && depth < DEEPEST && rows.len() < MOST_ROWS {
            collect(property, &format!("{path}."), depth + 1, rows);
        }
    }
}

fn preset(property: Schema<'_>) -> String {
    match property.default() {
        None | Some(Value::Null) => String::new(),
        Some(value) => format!("default {}", clean::cut(&plain(value), 40)),
    }
}

fn remark(property: Schema<'_>) -> String {
    let text = property.text("description").or_else(|| property.text("title"));
    clean::line(text.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_read_well() {
        for (schema, expected) in [
            (json!({}), "anything"),
            (json!(true), "anything"),
            (json!({ "type": "string" }), "string"),
            (json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }), "integer or null"),
            (json!({ "type": "array", "items": { "type": "string" } }), "array of string"),
            (json!({ "type": "array" }), "array"),
            (json!({ "type": "string", "enum": ["a", "b"] }), "one of a, b"),
            (json!({ "const": 5 }), "5"),
            (json!({ "items": { "$ref": "#" } }), "array of array of array of array"),
        ] {
            assert_eq!(type_words(Schema::new(&schema)), expected, "{schema}");
        }
    }

    #[test]
    fn parameters_are_a_table() {
        let schema = json!({
            "type": "object",
            "properties": {
                "message": { "type": "string", "description": "What to\n say" },
                "options": { "type": "object", "properties": { "loud": { "type": "boolean", "default": false } } }
            },
            "required": ["message"]
        });
        let expected = "  message       string   required       What to say\n  \
                        options       object\n  \
                        options.loud  boolean  default false\n";
        assert_eq!(parameters(Schema::new(&schema), 100), expected);
    }
}
