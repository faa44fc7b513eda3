//! `ApiResponse`: what goes back, whole.

use serde_json::Value;
use trunkline_gateway::WebReply;

use super::problem::{MEDIA_TYPE, Problem};

#[derive(Debug)]
pub(in crate::api) struct ApiResponse {
    pub(in crate::api) status: u16,
    pub(in crate::api) headers: Vec<(&'static str, String)>,
    pub(in crate::api) body: Vec<u8>,
}

const JSON: &str = "application/json";

impl ApiResponse {
    pub(in crate::api) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    pub(in crate::api) fn text(status: u16, kind: &str, body: Vec<u8>) -> Self {
        Self { status, headers: vec![("Content-Type", kind.to_owned())], body }
    }

    pub(in crate::api) fn json(status: u16, value: &Value) -> Self {
        Self::json_bytes(status, value.to_string().into_bytes())
    }

    pub(in crate::api) fn json_bytes(status: u16, body: Vec<u8>) -> Self {
        Self::text(status, JSON, body)
    }

    pub(in crate::api) fn problem(problem: &Problem) -> Self {
        let answer = Self::text(problem.status(), MEDIA_TYPE, problem.json());
        match problem.text.retry_after {
            // Rounded up: who comes then does not come too early (RFC 9110, 10.2.3).
            Some(again) => {
                let seconds = again.as_nanos().div_ceil(1_000_000_000).max(1);
                answer.header("Retry-After", seconds.to_string())
            }
            None => answer,
        }
    }

    #[must_use]
    pub(in crate::api) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(in crate::api) fn body(&self) -> &[u8] {
        &self.body
    }

    pub(in crate::api) fn send(mut self, reply: WebReply) {
        // What is shown here is for one asker, and may be another thing a moment later.
        self.headers.push(("Cache-Control", "no-store".to_owned()));
        self.headers.push(("X-Content-Type-Options", "nosniff".to_owned()));
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        reply.send(self.status, &headers, &self.body);
    }
}
