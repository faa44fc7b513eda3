//! The fixture's tools: what each one answers, and what it asks the client for before.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientResult, CustomRequest, ServerNotification, ServerRequest};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};

use crate::listing::{PNG, WAV};

/// The suite wants to see that what happens during a call arrives during the call.
const PAUSE: Duration = Duration::from_millis(50);

/// The result of `tools/call`; `None` for a tool that does not exist.
pub(crate) async fn call(
    name: &str,
    arguments: &Value,
    context: &RequestContext<RoleServer>,
) -> Option<Value> {
    let client = &context.peer;
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let answer = match name {
        "test_simple_text" => Ok(vec![text("This is a simple text response for testing.")]),
        "test_image_content" => Ok(vec![image()]),
        "test_audio_content" => {
            Ok(vec![json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })])
        }
        "test_embedded_resource" => Ok(vec![resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )]),
        "test_multiple_content_types" => {
            let data = r#"{"test":"data","value":123}"#;
            let resource = resource("test://mixed-content-resource", "application/json", data);
            Ok(vec![text("Multiple content types test:"), image(), resource])
        }
        "test_tool_with_logging" => log_three_times(client).await,
        "test_tool_with_progress" => progress_three_times(context).await,
        "test_error_handling" => {
            Err("This tool intentionally returns an error for testing".to_owned())
        }
        "test_sampling" => sample(client, argument("prompt")).await,
        "test_elicitation" => elicit(client, argument("message"), two_strings()).await,
        "test_elicitation_sep1034_defaults" => {
            elicit(client, "Please review these values", every_default()).await
        }
        "test_elicitation_sep1330_enums" => elicit(client, "Please choose", every_enum()).await,
        "test_reconnection" => {
            // Long enough for the client to notice that its stream has ended; see `sessions`.
            tokio::time::sleep(2 * PAUSE).await;
            Ok(vec![text("Reconnection test completed")])
        }
        "json_schema_2020_12_tool" => Ok(vec![text(&arguments.to_string())]),
        _ => return None,
    };
    Some(match answer {
        Ok(content) => json!({ "content": content }),
        Err(why) => json!({ "content": [text(&why)], "isError": true }),
    })
}

type Answer = Result<Vec<Value>, String>;

async fn log_three_times(client: &Peer<RoleServer>) -> Answer {
    tell(client, log("Tool execution started")).await?;
    tokio::time::sleep(PAUSE).await;
    tell(client, log("Tool processing data")).await?;
    tokio::time::sleep(PAUSE).await;
    tell(client, log("Tool execution completed")).await?;
    Ok(vec![text("Tool with logging executed successfully")])
}

fn log(data: &str) -> Value {
    let params = json!({ "level": "info", "logger": "fixture", "data": data });
    json!({ "method": "notifications/message", "params": params })
}

async fn progress_three_times(context: &RequestContext<RoleServer>) -> Answer {
    let token = context.meta.get_progress_token();
    for progress in [0, 50, 100] {
        if progress > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        if let Some(token) = &token {
            let params = json!({ "progressToken": token, "progress": progress, "total": 100 });
            let notification = json!({ "method": "notifications/progress", "params": params });
            tell(&context.peer, notification).await?;
        }
    }
    Ok(vec![text("Tool with progress executed successfully")])
}

async fn sample(client: &Peer<RoleServer>, prompt: &str) -> Answer {
    if !declared(client, "sampling") {
        return Err("The client has no sampling".to_owned());
    }
    let message = json!({ "role": "user", "content": text(prompt) });
    let params = json!({ "messages": [message], "maxTokens": 100 });
    let answer = ask(client, "sampling/createMessage", params).await?;
    let said = answer.pointer("/content/text").or_else(|| answer.pointer("/content/0/text"));
    let said = said.and_then(Value::as_str).unwrap_or("nothing");
    Ok(vec![text(&format!("LLM response: {said}"))])
}

async fn elicit(client: &Peer<RoleServer>, message: &str, schema: Value) -> Answer {
    if !declared(client, "elicitation") {
        return Err("The client has no elicitation".to_owned());
    }
    let params = json!({ "message": message, "requestedSchema": schema });
    let answer = ask(client, "elicitation/create", params).await?;
    let action = answer.get("action").and_then(Value::as_str).unwrap_or("nothing");
    let content = answer.get("content").unwrap_or(&Value::Null);
    Ok(vec![text(&format!("Elicitation completed: action={action}, content={content}"))])
}

fn two_strings() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

fn every_default() -> Value {
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

fn every_enum() -> Value {
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

fn declared(client: &Peer<RoleServer>, capability: &str) -> bool {
    let info = client.peer_info();
    let capabilities = info.and_then(|info| serde_json::to_value(&info.capabilities).ok());
    capabilities.is_some_and(|capabilities| capabilities.get(capability).is_some())
}

/// A request of our own to the client. Sent as a custom one: the schemas arrive as they are written
/// above, and rmcp's own types are deprecated for what later revisions no longer have.
async fn ask(client: &Peer<RoleServer>, method: &str, params: Value) -> Result<Value, String> {
    let request = ServerRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    let answer = client.send_request(request).await.map_err(|error| error.to_string())?;
    as_value(&answer)
}

fn as_value(answer: &ClientResult) -> Result<Value, String> {
    serde_json::to_value(answer).map_err(|error| error.to_string())
}

/// A notification. The typed form matters: by it rmcp finds the stream of the call.
async fn tell(client: &Peer<RoleServer>, notification: Value) -> Result<(), String> {
    let notification: ServerNotification =
        serde_json::from_value(notification).map_err(|error| error.to_string())?;
    client.send_notification(notification).await.map_err(|error| error.to_string())
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

fn resource(uri: &str, mime: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "text": text } })
}
