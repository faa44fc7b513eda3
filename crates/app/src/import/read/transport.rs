//! Decides from a client's entry whether its server is a command or an address.

use serde_json::{Map, Value};
use trunkline_catalog::client::EntryWords;

use crate::import::owner::FileOwner;
use crate::import::words;

/// What the entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerKind {
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

/// The kind, or why the server cannot be Trunkline's.
pub(super) fn server_kind(
    owner: FileOwner,
    own: &EntryWords,
    entry: &Map<String, Value>,
) -> Result<ServerKind, String> {
    let word = ["type", "transportType"].iter().find_map(|key| entry.get(*key)?.as_str());
    let lower = word.map(str::to_ascii_lowercase);
    let declared = match lower.as_deref() {
        // `remote` says nothing about the way: opencode tries both, as Trunkline does.
        None | Some("stdio" | "local" | "remote") => None,
        Some("http" | "streamable-http" | "streamablehttp" | "streamable_http") => Some("http"),
        Some("sse") => Some("sse"),
        Some("ws" | "websocket") => return Err("speaks WebSocket, which Trunkline does not".into()),
        Some(word) if own.built_in.contains(&word) => {
            return Err(format!("is a part of {} itself", owner.title()));
        }
        Some(_) => return Err("is of a type that is not known".to_owned()),
    };
    let command = words::command(own).into_iter().find_map(|key| entry.get(key));
    let key = words::url(own).into_iter().find(|key| entry.get(*key).is_some_and(Value::is_string));
    match (command, key) {
        (Some(_), None) => Ok(ServerKind::Command),
        (Some(_), Some(_)) if declared.is_none() => Ok(ServerKind::Command),
        (_, Some(key)) => address(own, entry, key, declared),
        (None, None) if entry.contains_key("settings") => {
            Err(format!("is an extension of {}", owner.title()))
        }
        (None, None) => Err("has neither a command nor an address".to_owned()),
    }
}

fn address(
    own: &EntryWords,
    entry: &Map<String, Value>,
    key: &'static str,
    declared: Option<&'static str>,
) -> Result<ServerKind, String> {
    let url = entry.get(key).and_then(Value::as_str).unwrap_or_default();
    if url.starts_with("unix:") || url.starts_with("pipe:") {
        return Err("is reached over a local socket, which Trunkline cannot".to_owned());
    }
    let remote = own.remote.as_ref();
    let is_own = remote.is_some_and(|remote| remote.url == key);
    let (declared, taken_for) = match declared {
        // Tries the newer way first, then the older one: as Trunkline does where nothing is said.
        Some("http") if remote.is_some_and(|remote| remote.http_may_be_sse) => (None, None),
        _ if words::http_url(own).contains(&key) => (Some("http"), None),
        None if is_own && remote.is_some_and(|remote| remote.untyped_is_sse) => (None, Some("sse")),
        _ => (declared, None),
    };
    Ok(ServerKind::Address { key, declared, taken_for })
}
