//! What a runtime tells about itself: for `ps`, and to a client that comes.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use trunkline_catalog::client::Client;
use trunkline_gateway::{Fleet, State};

use super::listener::Reception;

/// Everything, as one JSON object.
pub(super) fn status(reception: &Reception) -> Value {
    let clients = reception.attendance.clients();
    let clients: Vec<Value> = clients
        .iter()
        .map(|client| {
            json!({
                "pid": client.pid,
                "for": client.kind.map(Client::id),
                "since": seconds(client.since),
            })
        })
        .collect();
    let servers = reception.fleet.servers();
    let servers: Vec<Value> = servers
        .iter()
        .map(|server| {
            json!({
                "name": server.key,
                "state": server.state.word(),
                "why": server.state.why(),
                "pid": server.pid,
                "tools": server.tools,
                "restarts": server.restarts,
                "open_calls": server.open_calls,
            })
        })
        .collect();
    json!({
        "trunkline": 1,
        "pid": std::process::id(),
        "version": env!("CARGO_PKG_VERSION"),
        "config": reception.config.to_string_lossy(),
        "directory": std::env::current_dir().ok().map(|path| path.to_string_lossy().into_owned()),
        "started": seconds(reception.started),
        "clients": clients,
        "servers": servers,
    })
}

/// One line for each server that does not run, as the log has told those who were there.
pub(super) fn troubles(fleet: &Fleet) -> Vec<String> {
    let failed = fleet.servers().into_iter().filter_map(|server| match &server.state {
        State::Failed(failure) => Some(format!("server `{}`: {failure}", server.key)),
        _ => None,
    });
    failed.map(|line| line.replace('\n', " ")).collect()
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
