//! One request: its era, what it says, and how it is answered.

use serde_json::{Value, json};

use crate::demo::tool::{Arguments, DemoQuestion};

/// The revision without sessions.
pub(super) const MODERN: &str = "2026-07-28";

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The only question of a result that asks.
const KEY: &str = "details";

#[derive(Debug)]
pub(super) enum Incoming {
    Request(DemoRequest),
    /// An answer to what was asked.
    Response {
        id: String,
        answer: Value,
    },
    /// The client has cancelled this request.
    Cancelled(Value),
}

#[derive(Debug)]
pub(super) struct DemoRequest {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) is_modern: bool,
}

impl Incoming {
    /// `None`: nothing that has to be answered or heeded.
    pub(super) fn read(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        let id = message.get("id").cloned();
        let params = message.get("params").cloned().unwrap_or(Value::Null);
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let id = id?.as_str()?.to_owned();
            // An error is an answer as well: the person was not asked.
            let refused = json!({ "action": "cancel" });
            let answer = message.get("result").cloned().unwrap_or(refused);
            return Some(Self::Response { id, answer });
        };
        match id {
            Some(id) => Some(Self::Request(DemoRequest::new(id, method, params))),
            None if method == "notifications/cancelled" => {
                params.get("requestId").cloned().map(Self::Cancelled)
            }
            None => None,
        }
    }
}

impl DemoRequest {
    fn new(id: Value, method: &str, params: Value) -> Self {
        let says_version = params.get("_meta").is_some_and(|meta| meta.get(VERSION).is_some());
        let is_modern = says_version || method == "server/discover";
        Self { id, method: method.to_owned(), params, is_modern }
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.params.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn arguments(&self) -> Arguments<'_> {
        Arguments(self.params.get("arguments"))
    }

    /// The answer that came with a request that was made again.
    pub(super) fn input(&self) -> Option<&Value> {
        self.params.get("inputResponses")?.get(KEY)
    }

    /// Can a person be asked, as far as this request itself says?
    pub(super) fn may_ask(&self) -> bool {
        let said = self.params.get("_meta").and_then(|meta| meta.get(CAPABILITIES));
        said.is_some_and(|capabilities| capabilities.get("elicitation").is_some())
    }

    pub(super) fn progress_token(&self) -> Option<&Value> {
        self.params.get("_meta")?.get("progressToken")
    }

    /// A result in the words of its era.
    pub(super) fn result(&self, mut result: Value) -> Value {
        if let Some(members) = result.as_object_mut().filter(|_| self.is_modern) {
            members.entry("resultType").or_insert_with(|| "complete".into());
            let is_kept = self.method.ends_with("/list")
                || matches!(self.method.as_str(), "server/discover" | "resources/read");
            if is_kept {
                members.insert("ttlMs".to_owned(), 0.into());
                members.insert("cacheScope".to_owned(), "private".into());
            }
        }
        json!({ "jsonrpc": "2.0", "id": self.id, "result": result })
    }

    pub(super) fn error(&self, code: i64, message: &str) -> Value {
        let error = json!({ "code": code, "message": message });
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error })
    }

    /// Asks the client: with a request of ours, whose id is returned, or, in the stateless era, with
    /// the result itself.
    pub(super) fn ask(
        &self,
        question: &DemoQuestion,
        id: String,
    ) -> Result<(String, Value), Value> {
        let mut params = json!({ "message": question.message, "requestedSchema": question.schema });
        let method = "elicitation/create";
        if !self.is_modern {
            let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            return Ok((id, asked));
        }
        if let Some(members) = params.as_object_mut() {
            members.insert("mode".to_owned(), "form".into());
        }
        let asked = json!({ "method": method, "params": params });
        let requests = json!({ KEY: asked });
        Err(self.result(json!({ "resultType": "input_required", "inputRequests": requests })))
    }
}
