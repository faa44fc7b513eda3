//! What a runtime tells about itself: for `ps`, and to a client that comes.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use trunkline_catalog::client::Client;
use trunkline_gateway::{FIRST_WORD, ServerInfo, State};

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
    let open_calls: usize = servers.iter().map(|server| server.open_calls).sum();
    let why_draining = why_draining(reception);
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
        "state": if why_draining.is_some() { "draining" } else { "running" },
        "why": why_draining,
        "version": env!("CARGO_PKG_VERSION"),
        "config": reception.config.to_string_lossy(),
        "directory": std::env::current_dir().ok().map(|path| path.to_string_lossy().into_owned()),
        "started": seconds(reception.started),
        "open_calls": open_calls,
        "inputs": reception.inputs,
        "clients": clients,
        "servers": servers,
    })
}

/// Why no client will come any more, so that it ends with those it has.
fn why_draining(reception: &Reception) -> Option<&'static str> {
    if reception.attendance.is_ending() {
        return Some("it was told to end");
    }
    if reception.program.is_replaced() {
        return Some("the program was replaced");
    }
    reception.attendance.is_outdated().then_some("the config uses other variables now")
}

/// What the log has told those who were there, for one who comes now: a line for each server that has failed, and
/// one for those whose tools are not known yet.
pub(super) fn troubles(reception: &Reception) -> Vec<String> {
    let servers = reception.fleet.servers();
    let failed = servers.iter().filter_map(|server| match &server.state {
        State::Failed(failure) => Some(format!("error: server `{}`: {failure}", server.key)),
        _ => None,
    });
    let mut lines: Vec<String> = failed.map(|line| line.replace('\n', " ")).collect();
    let is_unknown =
        |server: &&ServerInfo| server.state == State::Initializing && server.tools == 0;
    let unknown: Vec<&str> =
        servers.iter().filter(is_unknown).map(|server| server.key.as_str()).collect();
    // Sooner it is not worth a line, and later all clients are told at once.
    let is_told = reception.started.elapsed().is_ok_and(|age| age > FIRST_WORD);
    if is_told && !unknown.is_empty() {
        let names = unknown.join(", ");
        lines.push(format!("warning: still starting: {names}; their tools join the list then"));
    }
    lines
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
