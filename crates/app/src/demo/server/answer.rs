//! What a demo server says to each method, in either era.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::request::{DemoRequest, MODERN};
use crate::demo::tool::{Demo, ToolOutcome, failed};

/// The revisions that open with `initialize`, the newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

#[derive(Debug)]
pub(super) struct DemoSession<D> {
    name: &'static str,
    demo: D,
    /// What the client has said at the handshake.
    may_ask: bool,
}

impl<D: Demo> DemoSession<D> {
    pub(super) fn new(name: &'static str, demo: D) -> Self {
        Self { name, demo, may_ask: false }
    }

    pub(super) fn start(&self) -> Duration {
        self.demo.start()
    }

    /// What comes of a request; `Err` is an error to be sent.
    pub(super) fn answer(&mut self, request: &DemoRequest) -> Result<ToolOutcome, Value> {
        let result = match (request.method.as_str(), request.is_modern) {
            ("initialize", false) => self.initialize(request),
            ("ping", false) => json!({}),
            ("server/discover", _) => self.discover(),
            ("tools/list", _) => json!({ "tools": self.demo.tools() }),
            ("tools/call", _) if !self.has(request.text("name")) => {
                return Err(request.error(INVALID_PARAMS, "there is no such tool"));
            }
            ("tools/call", _) => return Ok(self.call(request, request.input())),
            ("resources/list", _) => json!({ "resources": self.demo.resources() }),
            ("resources/templates/list", _) => {
                json!({ "resourceTemplates": self.demo.templates() })
            }
            ("resources/read", _) => self.read(request)?,
            ("prompts/list", _) => json!({ "prompts": self.demo.prompts() }),
            ("prompts/get", _) => self.prompt(request)?,
            ("completion/complete", _) => self.complete(request),
            _ => return Err(request.error(METHOD_NOT_FOUND, "there is no such method here")),
        };
        Ok(ToolOutcome::Done(result))
    }

    /// Calls a tool that there is.
    pub(super) fn call(&mut self, request: &DemoRequest, answer: Option<&Value>) -> ToolOutcome {
        let outcome = self.demo.call(request.text("name"), &request.arguments(), answer);
        let may_ask = if request.is_modern { request.may_ask() } else { self.may_ask };
        match outcome {
            Some(ToolOutcome::Ask(_)) if !may_ask => ToolOutcome::Done(failed(
                "something is missing, and your client cannot be asked for it: give all arguments",
            )),
            Some(outcome) => outcome,
            None => ToolOutcome::Done(failed("there is no such tool")),
        }
    }

    /// That there are other resources now, where that is told without being asked for.
    pub(super) fn news(&self, request: &DemoRequest) -> Option<Value> {
        let method = "notifications/resources/list_changed";
        (!request.is_modern).then(|| json!({ "jsonrpc": "2.0", "method": method }))
    }

    fn has(&self, tool: &str) -> bool {
        let tools = self.demo.tools();
        let mut tools = tools.as_array().into_iter().flatten();
        tools.any(|listed| listed.get("name").and_then(Value::as_str) == Some(tool))
    }

    fn initialize(&mut self, request: &DemoRequest) -> Value {
        let capabilities = request.params.get("capabilities");
        self.may_ask = capabilities.is_some_and(|said| said.get("elicitation").is_some());
        let asked = request.text("protocolVersion");
        let newest = LEGACY.first().copied().unwrap_or_default();
        let version = LEGACY.iter().copied().find(|known| *known == asked).unwrap_or(newest);
        json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(true),
            "serverInfo": self.info(),
            "instructions": self.demo.instructions(),
        })
    }

    fn discover(&self) -> Value {
        json!({
            "supportedVersions": [MODERN],
            "capabilities": self.capabilities(false),
            "instructions": self.demo.instructions(),
            "_meta": { "io.modelcontextprotocol/serverInfo": self.info() },
        })
    }

    fn info(&self) -> Value {
        json!({ "name": format!("trunkline-demo-{}", self.name), "version": env!("CARGO_PKG_VERSION") })
    }

    /// Changes are told in the older era only: in the other, clients would have to listen for them.
    fn capabilities(&self, tells_changes: bool) -> Value {
        let mut all = Map::new();
        all.insert("tools".to_owned(), json!({}));
        if !self.demo.resources().is_empty() || !self.demo.templates().is_empty() {
            let resources = if tells_changes { json!({ "listChanged": true }) } else { json!({}) };
            all.insert("resources".to_owned(), resources);
        }
        if !self.demo.prompts().is_empty() {
            all.insert("prompts".to_owned(), json!({}));
            all.insert("completions".to_owned(), json!({}));
        }
        Value::Object(all)
    }

    fn read(&self, request: &DemoRequest) -> Result<Value, Value> {
        let uri = request.text("uri");
        let code = if request.is_modern { INVALID_PARAMS } else { -32002 };
        let Some((kind, text)) = self.demo.read(uri) else {
            return Err(request.error(code, "there is no such resource"));
        };
        Ok(json!({ "contents": [{ "uri": uri, "mimeType": kind, "text": text }] }))
    }

    fn prompt(&self, request: &DemoRequest) -> Result<Value, Value> {
        let Some(text) = self.demo.prompt(request.text("name"), &request.arguments()) else {
            return Err(request.error(INVALID_PARAMS, "there is no such prompt"));
        };
        let content = json!({ "type": "text", "text": text });
        Ok(json!({ "messages": [{ "role": "user", "content": content }] }))
    }

    fn complete(&self, request: &DemoRequest) -> Value {
        let argument = request.params.get("argument");
        let said = |key: &str| argument.and_then(|said| said.get(key)).and_then(Value::as_str);
        let begun = said("value").unwrap_or_default().to_lowercase();
        let all = self.demo.completions(said("name").unwrap_or_default());
        let fitting = all.into_iter().filter(|word| word.to_lowercase().starts_with(&begun));
        json!({ "completion": { "values": fitting.collect::<Vec<_>>(), "hasMore": false } })
    }
}
