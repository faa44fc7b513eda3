//! The fixture's tools that ask nobody: what each one answers, and what it says before.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ServerNotification;
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};

use crate::changes::{Changes, List};
use crate::era::is_modern;
use crate::listing::{PNG, WAV};

/// The suite wants to see that what happens during a call arrives during the call.
const PAUSE: Duration = Duration::from_millis(50);

/// The result of `tools/call`; `None` for a tool that does not exist.
pub(crate) async fn call(
    name: &str,
    arguments: &Value,
    context: &RequestContext<RoleServer>,
    changes: &Changes,
) -> Option<Value> {
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
        "test_tool_with_logging" => log_three_times(context).await,
        "test_logging_tool" => log_once(context).await,
        "test_tool_with_progress" => progress_three_times(context).await,
        "test_error_handling" => {
            Err("This tool intentionally returns an error for testing".to_owned())
        }
        "test_trigger_tool_change" => change(List::Tools, context, changes).await,
        "test_trigger_prompt_change" => change(List::Prompts, context, changes).await,
        "test_reconnection" => {
            // Long enough for the client to notice that its stream has ended; see `sessions`.
            tokio::time::sleep(2 * PAUSE).await;
            Ok(vec![text("Reconnection test completed")])
        }
        "json_schema_2020_12_tool" | "test_custom_header" | "test_now_and_then" => {
            Ok(vec![text(&arguments.to_string())])
        }
        _ => return None,
    };
    Some(match answer {
        Ok(content) => json!({ "content": content }),
        Err(why) => failed(&why),
    })
}

/// The result of a tool that asked first.
pub(crate) fn saying(end: &str) -> Value {
    json!({ "content": [text(end)] })
}

pub(crate) fn failed(why: &str) -> Value {
    json!({ "content": [text(why)], "isError": true })
}

type Answer = Result<Vec<Value>, String>;

async fn log_three_times(context: &RequestContext<RoleServer>) -> Answer {
    log(context, "Tool execution started").await?;
    tokio::time::sleep(PAUSE).await;
    log(context, "Tool processing data").await?;
    tokio::time::sleep(PAUSE).await;
    log(context, "Tool execution completed").await?;
    Ok(vec![text("Tool with logging executed successfully")])
}

async fn log_once(context: &RequestContext<RoleServer>) -> Answer {
    log(context, "A tool was called").await?;
    Ok(vec![text("Logging tool executed successfully")])
}

/// A modern client says with each request what it wants to hear. A legacy one hears everything,
/// whatever it has set: what stands between must not count on a server that keeps quiet.
#[expect(deprecated, reason = "later revisions have no log messages, this one has")]
async fn log(context: &RequestContext<RoleServer>, data: &str) -> Result<(), String> {
    use rmcp::model::LoggingLevel::{Debug, Info};
    if is_modern(context) && !matches!(context.meta.log_level(), Some(Debug | Info)) {
        return Ok(());
    }
    let params = json!({ "level": "info", "logger": "fixture", "data": data });
    tell(&context.peer, json!({ "method": "notifications/message", "params": params })).await
}

async fn change(list: List, context: &RequestContext<RoleServer>, changes: &Changes) -> Answer {
    let session = (!is_modern(context)).then_some(&context.peer);
    changes.change(list, session).await?;
    Ok(vec![text("Changed")])
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
