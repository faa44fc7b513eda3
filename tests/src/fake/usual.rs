//! What a well-behaved server answers, as far as its script gives it something to offer.

use serde_json::Value;

use super::Server;
use super::request::Request;
use crate::scan;

/// The whole answer.
pub(super) fn answer(server: &Server, request: &Request) -> Vec<u8> {
    let script = &server.script;
    let listed = server.lists.lock().expect("no holder panics").page(request);
    let outcome = match request.method.as_str() {
        _ if listed.is_some() => listed.unwrap_or_default(),
        method if !knows(script, method) => error(-32601, "unknown method"),
        "initialize" => initialize(script, request),
        "tools/call" => error(-32602, "unknown tool"),
        "prompts/get" => error(-32602, "unknown prompt"),
        "resources/read" => error(-32002, "Resource not found"),
        "completion/complete" => {
            let values = scan::quote(script["name"].as_str().unwrap_or_default());
            format!(r#""result":{{"completion":{{"values":[{values}],"hasMore":false}}}}"#)
        }
        _ => r#""result":{}"#.to_owned(),
    };
    let head = br#"{"jsonrpc":"2.0","id":"#;
    [&head[..], &request.id, b",", outcome.as_bytes(), b"}"].concat()
}

/// Is the method part of what this server offers?
pub(super) fn knows(script: &Value, method: &str) -> bool {
    let offers = |kind: &str| script["lists"].get(kind).is_some();
    match method {
        "initialize" | "ping" | "tools/list" | "tools/call" => true,
        "resources/list"
        | "resources/templates/list"
        | "resources/read"
        | "resources/subscribe"
        | "resources/unsubscribe" => offers("resources") || offers("templates"),
        "prompts/list" | "prompts/get" => offers("prompts"),
        "completion/complete" => script["completions"] == true,
        "logging/setLevel" => script["logging"] == true,
        other => other.starts_with("notifications/") && KNOWN_NOTIFICATIONS.contains(&other),
    }
}

const KNOWN_NOTIFICATIONS: [&str; 4] = [
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
];

fn initialize(script: &Value, request: &Request) -> String {
    let asked = scan::get(&request.params, "protocolVersion").and_then(scan::text);
    let version = script["version"].as_str().map(str::to_owned).or(asked).unwrap_or_default();
    let (capabilities, info) = (capabilities(script), info(script));
    let instructions = script["instructions"].as_str().map(scan::quote);
    let instructions = instructions.map(|text| format!(r#","instructions":{text}"#));
    format!(
        r#""result":{{"protocolVersion":{},"capabilities":{capabilities},"serverInfo":{info}{}}}"#,
        scan::quote(&version),
        instructions.unwrap_or_default()
    )
}

/// The raw `serverInfo`.
pub(super) fn info(script: &Value) -> &str {
    script["info"].as_str().unwrap_or(r#"{"name":"fake-mcp","version":"1"}"#)
}

/// The raw `capabilities`.
pub(super) fn capabilities(script: &Value) -> String {
    if let Some(raw) = script["capabilities"].as_str() {
        return raw.to_owned();
    }
    let mut all = vec![r#""tools":{"listChanged":true}"#];
    if knows(script, "resources/list") {
        all.push(r#""resources":{"subscribe":true,"listChanged":true}"#);
    }
    if knows(script, "prompts/list") {
        all.push(r#""prompts":{"listChanged":true}"#);
    }
    if script["completions"] == true {
        all.push(r#""completions":{}"#);
    }
    if script["logging"] == true {
        all.push(r#""logging":{}"#);
    }
    format!("{{{}}}", all.join(","))
}

fn error(code: i32, message: &str) -> String {
    format!(r#""error":{{"code":{code},"message":"{message}"}}"#)
}
