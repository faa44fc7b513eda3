//! What the fixture offers, as the suite's scenarios describe it.

use serde_json::{Value, json};

/// A PNG of one red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
/// A WAV file without samples.
pub(crate) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

pub(crate) fn tools() -> Value {
    json!({ "tools": [
        plain("test_simple_text", "Answers with one text"),
        plain("test_image_content", "Answers with an image"),
        plain("test_audio_content", "Answers with a sound"),
        plain("test_embedded_resource", "Answers with a resource"),
        plain("test_multiple_content_types", "Answers with a text, an image and a resource"),
        plain("test_tool_with_logging", "Logs three times before it answers"),
        plain("test_tool_with_progress", "Reports progress three times before it answers"),
        plain("test_error_handling", "Always fails"),
        asking("test_sampling", "Asks the client's model", "prompt"),
        asking("test_elicitation", "Asks the client's user", "message"),
        plain("test_elicitation_sep1034_defaults", "Asks the user, with a default for every field"),
        plain("test_elicitation_sep1330_enums", "Asks the user to choose, in the five ways there are"),
        plain("test_reconnection", "Over HTTP, its stream is closed before the answer"),
        json_schema_2020_12(),
    ]})
}

pub(crate) fn resources() -> Value {
    json!({ "resources": [
        {
            "uri": "test://static-text",
            "name": "Static text",
            "description": "A text that never changes",
            "mimeType": "text/plain",
        },
        {
            "uri": "test://static-binary",
            "name": "Static binary",
            "description": "An image that never changes",
            "mimeType": "image/png",
        },
        {
            "uri": "test://watched-resource",
            "name": "Watched resource",
            "description": "A text that can be subscribed to",
            "mimeType": "text/plain",
        },
    ]})
}

pub(crate) fn templates() -> Value {
    json!({ "resourceTemplates": [{
        "uriTemplate": "test://template/{id}/data",
        "name": "Template",
        "description": "Data that repeats its id",
        "mimeType": "application/json",
    }]})
}

pub(crate) fn prompts() -> Value {
    json!({ "prompts": [
        { "name": "test_simple_prompt", "description": "One message" },
        {
            "name": "test_prompt_with_arguments",
            "description": "One message that repeats its arguments",
            "arguments": [
                { "name": "arg1", "description": "First argument", "required": true },
                { "name": "arg2", "description": "Second argument", "required": true },
            ],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "A resource and a message about it",
            "arguments": [
                { "name": "resourceUri", "description": "Which resource", "required": true },
            ],
        },
        { "name": "test_prompt_with_image", "description": "An image and a message about it" },
    ]})
}

fn plain(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": {} },
    })
}

fn asking(name: &str, description: &str, argument: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": { argument: { "type": "string", "description": "What is asked" } },
            "required": [argument],
        },
    })
}

/// Keywords that a reader of schemas likes to lose.
fn json_schema_2020_12() -> Value {
    json!({
        "name": "json_schema_2020_12_tool",
        "description": "Has a schema that uses much of JSON Schema 2020-12",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
                },
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": {
                "properties": { "contactMethod": { "const": "phone" } },
                "required": ["contactMethod"],
            },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        },
    })
}
