//! What a client has to report about server-everything, whatever lies in between.

use serde_json::{Value, json};

use super::stage::Era;

/// The report of `scenario.mjs` and `scenario.py` in this era.
pub(super) fn report(era: Era) -> Value {
    let mut report = in_a_session();
    if era == Era::Modern {
        report["initialize"]["revision"] = "2026-07-28".into();
        // Tasks are an extension there, which is declared whatever servers have.
        report["initialize"]["capabilities"] =
            json!(["completions", "extensions", "logging", "prompts", "resources", "tools"]);
        report["tools"] = tools(era);
        // The error that asks for a visit elsewhere first is a question in this era, and the call is
        // made again: the server then asks itself. So two visits for each of two calls.
        report["url"]["refused"] = "not at all".into();
        let visits = ["https://modelcontextprotocol.io", "https://example.org/peer"];
        report["url"]["visited"] = visits.repeat(2).into();
    }
    report
}

fn in_a_session() -> Value {
    json!({
        "initialize": {
            "revision": "2025-11-25",
            "capabilities": ["completions", "logging", "prompts", "resources", "tasks", "tools"],
            "instructions": true,
        },
        "tools": tools(Era::Legacy),
        "echo": "Echo: héllo 😀",
        "structured": {
            "temperature": 36,
            "conditions": "Light rain / drizzle",
            "humidity": 82,
        },
        "progress": {
            "first": [1, 4],
            "inOrder": true,
            "text": "Long running operation completed.",
        },
        "cancellation": { "ended": "cancelled", "then": "Echo: still here" },
        "resources": resources(),
        "templates": templates(),
        "read": {
            "document": DOCUMENT,
            "made": MADE,
            "blob": "Resource 7: This is a base64 blob",
        },
        "prompts": prompts(),
        "prompt": ["What's weather in Rome, Lazio?"],
        "completion": {
            "department": ["Sales", "Support"],
            "name": ["Alice", "Bob", "Charlie"],
            "resource": ["7"],
        },
        "elicitation": { "asked": QUESTION, "fields": 13, "times": 1, "heard": ANSWER },
        "url": {
            "refused": -32042,
            "visited": ["https://example.org/peer"],
            "heard": "✅ User completed the URL elicitation flow.",
        },
        "sampling": {
            "asked": "Resource trigger-sampling-request context: say something",
            "maxTokens": 50,
            "times": 1,
            "answered": true,
        },
        "roots": { "listed": true, "asked": true },
        "subscription": {
            "toggled": ["Started", "Stopped"],
            "updated": "demo://resource/dynamic/text/1",
            "afterwards": 0,
        },
        "logging": "heard",
    })
}

/// The report of `inspector.mjs`, for a deep target of this era.
pub(super) fn inspected(era: Era) -> Value {
    json!({
        "connect": era.word(),
        "tools": { "cli": tools(era), "mcpdo": tools(era) },
        "sum": "The sum of 1 and 2 is 3.",
        "cli": {
            "echo": "Echo: héllo 😀",
            "resources": resources(),
            "document": DOCUMENT,
            "prompt": ["What's weather in Rome, Lazio?"],
        },
        "mcpdo": {
            "templates": templates(),
            "made": MADE,
            "prompts": prompts(),
            "completion": { "department": ["Sales", "Support"], "resource": ["7"] },
        },
        "elicitation": { "asked": QUESTION, "fields": 13, "heard": ANSWER },
        "subscription": {
            "toggled": ["Started", "Stopped"],
            "updated": "demo://resource/dynamic/text/1",
        },
    })
}

/// What `inspector.mjs` does with a target that is not deep.
pub(super) const SHALLOW: [&str; 3] = ["connect", "tools", "sum"];

const DOCUMENT: &str = "# Everything Server - Features";
const MADE: &str = "Resource 7: This is a plaintext resource";
const QUESTION: &str = "Please provide inputs for the following fields:";
const ANSWER: &str = "User inputs:\n- Name: Ada\n- Agreed to terms: true\n- Favorite Integer: 7";

fn tools(era: Era) -> Value {
    let mut all = vec![
        "echo",
        "get-annotated-message",
        "get-env",
        "get-resource-links",
        "get-resource-reference",
        "get-roots-list",
        "get-structured-content",
        "get-sum",
        "get-tiny-image",
        "gzip-file-as-resource",
        "simulate-research-query",
        "toggle-simulated-logging",
        "toggle-subscriber-updates",
        "trigger-elicitation-request",
        "trigger-long-running-operation",
        "trigger-sampling-request",
        "trigger-url-elicitation",
    ];
    // It can only be called as a task, which the eras do in ways of their own.
    all.retain(|tool| era == Era::Legacy || *tool != "simulate-research-query");
    json!(all)
}

fn resources() -> Value {
    let names = [
        "architecture",
        "extension",
        "features",
        "how-it-works",
        "instructions",
        "startup",
        "structure",
    ];
    names.iter().map(|name| format!("demo://resource/static/document/{name}.md")).collect()
}

fn templates() -> Value {
    json!([
        "demo://resource/dynamic/blob/{resourceId}",
        "demo://resource/dynamic/text/{resourceId}",
    ])
}

fn prompts() -> Value {
    json!(["args-prompt", "completable-prompt", "resource-prompt", "simple-prompt"])
}
