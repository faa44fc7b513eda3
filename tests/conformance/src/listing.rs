//! What the fixture offers, as the suite's scenarios describe it.

use serde_json::{Value, json};

/// A PNG of one red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
/// A WAV file without samples.
pub(crate) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// `more`: with the tool that comes and goes.
pub(crate) fn tools(more: bool) -> Value {
    let mut tools = vec![
        plain("test_simple_text", "Answers with one text"),
        plain("test_image_content", "Answers with an image"),
        plain("test_audio_content", "Answers with a sound"),
        plain("test_embedded_resource", "Answers with a resource"),
        plain("test_multiple_content_types", "Answers with a text, an image and a resource"),
        plain("test_tool_with_logging", "Logs three times before it answers"),
        plain("test_logging_tool", "Logs once before it answers"),
        plain("test_tool_with_progress", "Reports progress three times before it answers"),
        plain("test_error_handling", "Always fails"),
        with_string("test_sampling", "Asks the client's model", "prompt"),
        with_string("test_elicitation", "Asks the client's user", "message"),
        plain("test_elicitation_sep1034_defaults", "Asks the user, with a default for every field"),
        plain(
            "test_elicitation_sep1330_enums",
            "Asks the user to choose, in the five ways there are",
        ),
        plain("test_streaming_elicitation", "Asks the user while its stream is open"),
        plain("test_missing_capability", "Needs a client with a model"),
        plain("test_trigger_tool_change", "Adds a tool, or takes it away again"),
        plain("test_trigger_prompt_change", "Adds a prompt, or takes it away again"),
        plain("test_reconnection", "Over HTTP, its stream is closed before the answer"),
        custom_header(),
        json_schema_2020_12(),
    ];
    tools.extend(input_required());
    if more {
        tools.push(plain("test_now_and_then", "Comes and goes"));
    }
    json!({ "tools": tools })
}

/// The tools that need input before they can answer.
fn input_required() -> impl Iterator<Item = Value> {
    let tools = [
        ("elicitation", "Asks the user for a name"),
        ("sampling", "Asks the model"),
        ("list_roots", "Asks for the roots"),
        ("request_state", "Asks the user, and wants its state back"),
        ("tampered_state", "Asks the user, and wants its state back unchanged"),
        ("multiple_inputs", "Asks the user, the model and for the roots at once"),
        ("multi_round", "Asks the user twice"),
        ("capabilities", "Asks whoever can be asked"),
    ];
    tools.into_iter().map(|(name, what)| plain(&format!("test_input_required_result_{name}"), what))
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

/// `more`: with the prompt that comes and goes.
pub(crate) fn prompts(more: bool) -> Value {
    let mut prompts = json!([
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
        { "name": "test_input_required_result_prompt", "description": "Asks the user first" },
    ]);
    if let (true, Some(prompts)) = (more, prompts.as_array_mut()) {
        prompts.push(json!({ "name": "test_now_and_then", "description": "Comes and goes" }));
    }
    json!({ "prompts": prompts })
}

fn plain(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": {} },
    })
}

fn with_string(name: &str, description: &str, argument: &str) -> Value {
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

/// An argument that is repeated in a header where there are headers.
fn custom_header() -> Value {
    json!({
        "name": "test_custom_header",
        "description": "Has an argument that is sent as a header, too",
        "inputSchema": {
            "type": "object",
            "properties": { "value": { "type": "string", "x-mcp-header": "Value" } },
            "required": ["value"],
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
