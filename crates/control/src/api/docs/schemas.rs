//! The part of the page about schemas: what a schema says, in words.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::html::{escape, inline};

pub(super) fn section(schemas: &Map<String, Value>, out: &mut String) {
    out.push_str("<section id=\"schemas\">\n<h2>Schemas</h2>\n");
    for (name, schema) in schemas {
        named(name, schema, out);
    }
    out.push_str("</section>\n");
}

fn named(name: &str, schema: &Value, out: &mut String) {
    let doc = text(schema, "description").map(inline).unwrap_or_default();
    let _ = writeln!(out, "<h3 id=\"schema-{name}\">{name}</h3>\n<p>{doc}</p>");
    let Some(Value::Object(properties)) = schema.get("properties") else {
        let _ = writeln!(out, "<p>{}</p>", words(schema));
        return;
    };
    out.push_str(
        "<table><thead><tr><th>Member</th><th>Is</th><th>Means</th></tr></thead><tbody>\n",
    );
    for (member, property) in properties {
        let needed = if is_required(schema, member) { " <b>required</b>" } else { "" };
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code>{needed}</td><td>{}</td><td>{}</td></tr>",
            escape(member),
            words(property),
            text(property, "description").map(inline).unwrap_or_default(),
        );
    }
    out.push_str("</tbody></table>\n");
}

fn is_required(schema: &Value, member: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|name| name == member))
}

/// What a value of this schema is, with links to named ones.
pub(super) fn words(schema: &Value) -> String {
    if let Some(reference) = text(schema, "$ref") {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(Value::Array(all)) = schema.get(key) {
            return all.iter().map(words).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(Value::Array(known)) = schema.get("enum") {
        let known: Vec<_> = known.iter().filter_map(Value::as_str).map(code).collect();
        return known.join(", ");
    }
    match schema.get("type") {
        Some(Value::String(kind)) => of_type(kind, schema),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.map(|kind| of_type(kind, schema)).collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

fn of_type(kind: &str, schema: &Value) -> String {
    let number = |key: &str| schema.get(key).and_then(Value::as_i64);
    match kind {
        "string" => {
            let format = text(schema, "format").map(|format| format!(" ({format})"));
            let most = number("maxLength").map(|most| format!(", at most {most} characters"));
            format!("string{}{}", format.unwrap_or_default(), most.unwrap_or_default())
        }
        "integer" => match (number("minimum"), number("maximum")) {
            (Some(least), Some(most)) => format!("integer from {least} to {most}"),
            _ => "integer".to_owned(),
        },
        "array" => format!("array of {}", schema.get("items").map(words).unwrap_or_default()),
        "object" => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => format!("object of {}", words(values)),
            _ => "object".to_owned(),
        },
        kind => escape(kind).into_owned(),
    }
}

fn text<'a>(schema: &'a Value, key: &str) -> Option<&'a str> {
    schema.get(key)?.as_str()
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_in_words() {
        for (schema, expected) in [
            (json!({"type": "boolean"}), "boolean"),
            (json!({"type": ["string", "null"], "format": "uri"}), "string (uri) or null"),
            (json!({"type": "integer", "minimum": 1, "maximum": 9}), "integer from 1 to 9"),
            (json!({"type": "integer", "minimum": 0}), "integer"),
            (json!({"type": "string", "maxLength": 4}), "string, at most 4 characters"),
            (json!({"enum": ["A", "<"]}), "<code>A</code>, <code>&lt;</code>"),
            (json!({"type": "array", "items": {"type": "string"}}), "array of string"),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "object of string",
            ),
            (json!({"type": "object", "additionalProperties": true}), "object"),
            (json!({"$ref": "#/components/schemas/X"}), "<a href=\"#schema-X\">X</a>"),
            (json!({"anyOf": [{"type": "null"}, {"type": "number"}]}), "null or number"),
            (json!({}), "anything"),
        ] {
            assert_eq!(words(&schema), expected);
        }
    }
}
