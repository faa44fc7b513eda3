//! Words for what only a network server can do: HTTP faults, streams, sessions.

use serde_json::{Value, json};

/// A complete HTTP response instead of an answer.
pub fn http(status: u16, headers: &[(&str, &str)], body: &str) -> Value {
    let headers: Vec<[&str; 2]> = headers.iter().map(|(name, value)| [*name, *value]).collect();
    json!({ "http": { "status": status, "headers": headers, "body": body } })
}

/// A response with this content type that carries the usual good answer as its body.
pub fn typed(kind: &str) -> Value {
    http(200, &[("Content-Type", kind)], r#"{"jsonrpc":"2.0","id":@ID@,"result":{}}"#)
}

/// Exactly these bytes to the socket, head included; the behaviour ends with [`over`] or
/// [`hang_up`].
pub fn raw(template: impl Into<Value>) -> Value {
    json!({ "http_raw": template.into() })
}

/// [`raw`], byte after byte with this pause.
pub fn slow(milliseconds: u64, template: &str) -> Value {
    json!({ "slow": { "ms": milliseconds, "of": template } })
}

/// The response written by [`raw`] is complete; the connection can be used again.
pub fn over() -> Value {
    json!({ "http_over": true })
}

/// The answer comes as an event, even where a JSON body would do.
pub fn as_stream() -> Value {
    json!({ "reply": "sse" })
}

/// Ends the stream of this request, answered or not.
pub fn end() -> Value {
    json!({ "end": true })
}

/// Ends the response but not the stream; the client is told when to come back for the rest.
pub fn drop_stream(retry_ms: Option<u64>) -> Value {
    json!({ "drop_stream": retry_ms })
}

/// Closes the connection without another word.
pub fn hang_up() -> Value {
    json!({ "hang_up": true })
}

/// Closes the connection of every session's own stream without another word.
pub fn push_hang_up() -> Value {
    json!({ "push_hang_up": true })
}

/// Ends the response that carries every session's own stream; the stream goes on.
pub fn push_detach() -> Value {
    json!({ "push_detach": true })
}

/// As after a restart: no session is known any more.
pub fn forget_sessions() -> Value {
    json!({ "forget": true })
}
