//! What is told to whoever listens: `GET /events`.

use serde_json::{Value, json};

use crate::api::view::Status;

/// Small: those who want to know more ask for it.
#[derive(Debug, Clone)]
pub enum News {
    /// A server was registered, changed or removed.
    Changed { id: String, name: String, what: &'static str },
    /// Its status is another one now.
    Status { id: String, name: String, status: Status, why: Option<String> },
    /// What it offers has changed.
    Tools { id: String, name: String, tools: usize },
}

/// How many may wait for a slow listener; then the oldest are skipped, and it is told so.
pub(super) const WAITING: usize = 1024;

impl News {
    /// The name of the event.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Changed { .. } => "server",
            Self::Status { .. } => "status",
            Self::Tools { .. } => "tools",
        }
    }

    /// The server it is about.
    pub fn server(&self) -> &str {
        match self {
            Self::Changed { name, .. } | Self::Status { name, .. } | Self::Tools { name, .. } => {
                name
            }
        }
    }

    pub fn json(&self) -> Value {
        match self {
            Self::Changed { id, name, what } => json!({"id": id, "name": name, "change": what}),
            Self::Status { id, name, status, why } => {
                json!({"id": id, "name": name, "status": status.as_str(), "reason": why})
            }
            Self::Tools { id, name, tools } => json!({"id": id, "name": name, "tools": tools}),
        }
    }
}
