//! What a runtime tells about itself: for `ps`, and to a client that comes.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use trunkline_catalog::client::Client;
use trunkline_catalog::config::ServerSpec;
use trunkline_gateway::{FIRST_WORD, PrivateProcess, ServerInfo, State};

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
    let mut open_calls = 0;
    let mut servers = Vec::new();
    for server in reception.fleet.servers() {
        let own = reception.fleet.private_processes(&ServerSpec::file_id(&server.key));
        let own_calls: usize = own.iter().map(|process| process.info.open_calls).sum();
        open_calls += server.open_calls + own_calls;
        let mut told = process(&server);
        told.insert("name".to_owned(), server.key.as_str().into());
        told.insert("processes".to_owned(), own.iter().map(private).collect());
        servers.push(Value::Object(told));
    }
    let why_draining = why_draining(reception);
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
        // Of one that clients do not find they say nothing: others were made with another key.
        "inputs": reception.attendance.why_hidden().is_none().then_some(&reception.inputs),
        "clients": clients,
        "servers": servers,
    })
}

/// What a server, or one process of it, is about.
fn process(server: &ServerInfo) -> Map<String, Value> {
    let told = [
        ("state", server.state.word().into()),
        ("why", server.state.why().into()),
        ("pid", server.pid.into()),
        ("tools", server.tools.into()),
        ("restarts", server.restarts.into()),
        ("open_calls", server.open_calls.into()),
    ];
    told.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
}

/// A process that one client has for itself.
fn private(own: &PrivateProcess) -> Value {
    let mut told = process(&own.info);
    told.insert("client".to_owned(), own.client.into());
    Value::Object(told)
}

/// What the server with this id wrote last to its standard error; each process that a client has for itself apart.
pub(super) fn words(reception: &Reception, id: &str) -> Value {
    let own = reception.fleet.private_processes(id);
    let own = own.iter().map(|process| {
        json!({ "client": process.client, "pid": process.info.pid, "lines": process.stderr })
    });
    json!({
        "trunkline": 1,
        "lines": reception.fleet.stderr(id),
        "processes": own.collect::<Vec<Value>>(),
    })
}

/// Why no client will come any more, so that it ends with those it has.
fn why_draining(reception: &Reception) -> Option<&'static str> {
    if reception.attendance.is_ending() {
        return Some("it was told to end");
    }
    if let Some(why) = reception.attendance.why_hidden() {
        return Some(why);
    }
    if reception.program.is_replaced() {
        return Some("the program was replaced");
    }
    reception.attendance.is_outdated().then_some("the config uses other variables now")
}

/// What the log has told those who were there, for one who comes now: a line for each server that has failed, and
/// one for those whose tools are not known yet. `is_told`: it hears from the log itself what has failed.
pub(super) fn troubles(reception: &Reception, is_told: bool) -> Vec<String> {
    let servers = reception.fleet.servers();
    let failed = servers.iter().filter_map(|server| match &server.state {
        State::Failed(failure) if !is_told => {
            Some(format!("error: server `{}`: {failure}", server.key))
        }
        _ => None,
    });
    let mut lines: Vec<String> = failed.map(|line| line.replace('\n', " ")).collect();
    let is_unknown =
        |server: &&ServerInfo| server.state == State::Initializing && server.tools == 0;
    let unknown: Vec<&str> =
        servers.iter().filter(is_unknown).map(|server| server.key.as_str()).collect();
    // Sooner it is not worth a line, and later all clients are told at once.
    let is_late = reception.started.elapsed().is_ok_and(|age| age > FIRST_WORD);
    if is_late && !unknown.is_empty() {
        let names = unknown.join(", ");
        lines.push(format!("warning: still starting: {names}; their tools join the list then"));
    }
    lines
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
