//! `Answer`: what goes back, whole.

use serde_json::Value;
use trunkline_gateway::WebReply;

use super::inside::Inside;
use crate::api::problem::{MEDIA_TYPE, Problem};

#[derive(Debug)]
pub(super) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

const JSON: &str = "application/json";

impl Answer {
    pub(super) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    pub(super) fn text(status: u16, kind: &str, body: Vec<u8>) -> Self {
        Self { status, headers: vec![("Content-Type", kind.to_owned())], body }
    }

    pub(super) fn json(status: u16, value: &Value) -> Self {
        Self::json_bytes(status, value.to_string().into_bytes())
    }

    pub(super) fn json_bytes(status: u16, body: Vec<u8>) -> Self {
        Self::text(status, JSON, body)
    }

    pub(super) fn problem(problem: &Problem) -> Self {
        Self::text(problem.status(), MEDIA_TYPE, problem.json())
    }

    #[must_use]
    pub(super) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// For whoever asked from inside.
    pub(super) fn inside(self) -> Inside {
        let mut headers = self.headers.into_iter();
        let etag = headers.find(|(name, _)| *name == "ETag").map(|(_, value)| value);
        Inside { status: self.status, body: self.body, etag }
    }

    pub(super) fn send(mut self, reply: WebReply) {
        // What is shown here is for one asker, and may be another thing a moment later.
        self.headers.push(("Cache-Control", "no-store".to_owned()));
        self.headers.push(("X-Content-Type-Options", "nosniff".to_owned()));
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        reply.send(self.status, &headers, &self.body);
    }
}
