//! The fixture's prompts and what completes their arguments.

use serde_json::{Value, json};

use crate::listing::PNG;

/// The result of `prompts/get`; `None` for a prompt that does not exist.
pub(crate) fn get(name: &str, arguments: &Value) -> Option<Value> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let messages = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (arg1, arg2) = (argument("arg1"), argument("arg2"));
            vec![text(&format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            message(json!({
                "type": "resource",
                "resource": {
                    "uri": argument("resourceUri"),
                    "mimeType": "text/plain",
                    "text": "Embedded resource content for testing.",
                },
            })),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![
            message(json!({ "type": "image", "data": PNG, "mimeType": "image/png" })),
            text("Please analyze the image above."),
        ],
        "test_now_and_then" => vec![text("This prompt comes and goes.")],
        _ => return None,
    };
    Some(json!({ "messages": messages }))
}

/// The result of a prompt that asked first.
pub(crate) fn saying(end: &str) -> Value {
    json!({ "messages": [text(end)] })
}

/// The result of `completion/complete`.
pub(crate) fn complete(value: &str) -> Value {
    let mut values = vec!["paris", "park", "party", "test"];
    values.retain(|candidate| candidate.starts_with(value));
    json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } })
}

fn text(text: &str) -> Value {
    message(json!({ "type": "text", "text": text }))
}

fn message(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}
