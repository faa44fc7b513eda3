//! One event of `GET /events`.

use serde_json::{Value, json};

use crate::services::ServerEvent;

/// Its data.
pub(crate) fn event(event: &ServerEvent) -> Value {
    match event {
        ServerEvent::Changed { id, name, what } => json!({"id": id, "name": name, "change": what}),
        ServerEvent::Status { id, name, status, why } => {
            json!({"id": id, "name": name, "status": status.as_str(), "reason": why})
        }
        ServerEvent::Tools { id, name, tools } => json!({"id": id, "name": name, "tools": tools}),
    }
}
