//! The questions the fixture asks a client, as JSON: they arrive as they are written here.

use serde_json::{Value, json};

/// One question. A legacy client is sent it as a request, a modern one gets it in a result.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// What the answer is found under; a request has an id instead.
    pub(crate) key: &'static str,
    pub(crate) method: &'static str,
    pub(crate) params: Option<Value>,
}

impl Question {
    /// What a client must have declared to be asked.
    pub(crate) fn capability(&self) -> &'static str {
        match self.method {
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => "elicitation",
        }
    }

    /// As it stands in `inputRequests`.
    pub(crate) fn as_value(&self) -> Value {
        match &self.params {
            Some(params) => json!({ "method": self.method, "params": params }),
            None => json!({ "method": self.method }),
        }
    }
}

pub(crate) fn sampling(key: &'static str, prompt: &str) -> Question {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = json!({ "messages": [message], "maxTokens": 100 });
    Question { key, method: "sampling/createMessage", params: Some(params) }
}

pub(crate) fn elicitation(key: &'static str, message: &str, schema: Value) -> Question {
    let params = json!({ "message": message, "requestedSchema": schema });
    Question { key, method: "elicitation/create", params: Some(params) }
}

pub(crate) fn roots(key: &'static str) -> Question {
    Question { key, method: "roots/list", params: None }
}

/// A form of one field.
pub(crate) fn field(name: &str, kind: &str) -> Value {
    json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] })
}

pub(crate) fn two_strings() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

pub(crate) fn every_default() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "default": true },
        },
    })
}

pub(crate) fn every_enum() -> Value {
    let options = ["option1", "option2", "option3"];
    let titled = json!([
        { "const": "value1", "title": "First" },
        { "const": "value2", "title": "Second" },
        { "const": "value3", "title": "Third" },
    ]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } },
        },
    })
}
