//! How a client's entry says what its server is: a command, an address, or something of the client's own.

use serde_json::{Map, Value};

use crate::import::owner::Owner;

/// What the entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Command,
    Address {
        /// The key the address stands under.
        key: &'static str,
        /// What the client says outright.
        declared: Option<&'static str>,
        /// What the client takes it for without saying so. Trunkline tries both ways.
        taken_for: Option<&'static str>,
    },
}

const ADDRESS: [&str; 4] = ["httpUrl", "serverUrl", "url", "uri"];

/// The kind, or why the server cannot be Trunkline's.
pub(super) fn kind(owner: Owner, entry: &Map<String, Value>) -> Result<Kind, String> {
    let word = ["type", "transportType"].iter().find_map(|key| entry.get(*key)?.as_str());
    let lower = word.map(str::to_ascii_lowercase);
    let declared = match lower.as_deref() {
        None | Some("stdio" | "local") => None,
        Some("http" | "streamable-http" | "streamablehttp" | "streamable_http") => Some("http"),
        Some("sse") => Some("sse"),
        Some("ws" | "websocket") => return Err("speaks WebSocket, which Trunkline does not".into()),
        Some("builtin" | "platform" | "inline_python" | "frontend") if owner == Owner::Goose => {
            return Err("is a part of Goose itself".to_owned());
        }
        Some(_) => return Err("is of a type that is not known".to_owned()),
    };
    let command = ["command", "cmd"].iter().find_map(|key| entry.get(*key));
    let key = ADDRESS.into_iter().find(|key| entry.get(*key).is_some_and(Value::is_string));
    match (command, key) {
        (Some(_), None) => Ok(Kind::Command),
        (Some(_), Some(_)) if declared.is_none() => Ok(Kind::Command),
        (_, Some(key)) => address(owner, entry, key, declared),
        (None, None) if entry.contains_key("settings") => {
            Err(format!("is an extension of {}", owner.title()))
        }
        (None, None) => Err("has neither a command nor an address".to_owned()),
    }
}

fn address(
    owner: Owner,
    entry: &Map<String, Value>,
    key: &'static str,
    declared: Option<&'static str>,
) -> Result<Kind, String> {
    let url = entry.get(key).and_then(Value::as_str).unwrap_or_default();
    if url.starts_with("unix:") || url.starts_with("pipe:") {
        return Err("is reached over a local socket, which Trunkline cannot".to_owned());
    }
    let (declared, taken_for) = match (owner, key, declared) {
        // Tries the newer way first, then the older one: as Trunkline does where nothing is said.
        (Owner::VsCode, _, Some("http")) => (None, None),
        (_, "httpUrl", _) => (Some("http"), None),
        (Owner::Gemini | Owner::Cline, "url", None) => (None, Some("sse")),
        _ => (declared, None),
    };
    Ok(Kind::Address { key, declared, taken_for })
}
