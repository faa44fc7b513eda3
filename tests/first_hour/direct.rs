//! What each server lists to a client that starts it itself, without Trunkline.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::house::House;
use crate::servers::{SERVERS, Server};

/// A client that says nothing of itself is asked nothing, and some servers then list fewer tools.
const CAPABILITIES: &str = r#"{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#;
/// A server that adds tools after its handshake has done so by then.
const LATER: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(120);

/// The tools of all servers, as `server__tool`, with `_` for `-`.
#[derive(Default)]
pub(crate) struct Expected {
    pub(crate) all: BTreeSet<String>,
    /// Tools that can only be called as a task of revision 2025-11-25: a client of the newer revision cannot,
    /// and Trunkline does not show them to it.
    pub(crate) tasks_only: BTreeSet<String>,
}

pub(crate) fn ask(house: &House) -> Result<Expected, String> {
    let mut expected = Expected::default();
    for server in &SERVERS {
        let tools = list(house, server).map_err(|why| format!("{}: {why}", server.name))?;
        for tool in tools {
            let name = tool["name"].as_str().unwrap_or_default().replace('-', "_");
            let name = format!("{}__{name}", server.name);
            if tool.pointer("/execution/taskSupport") == Some(&json!("required")) {
                expected.tasks_only.insert(name.clone());
            }
            expected.all.insert(name);
        }
    }
    Ok(expected)
}

fn list(house: &House, server: &Server) -> Result<Vec<Value>, String> {
    let line = server.line(&house.home);
    let mut command = house.command(&line[0]);
    command.args(&line[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let (mut input, messages) = wire(&mut child).ok_or("it has no pipes")?;
    let capabilities: Value = serde_json::from_str(CAPABILITIES).unwrap_or_default();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": {"name": "direct", "version": "1"}}});
    say(&mut input, &hello)?;
    answer_until(&mut input, &messages, &json!(1), PATIENCE)?.ok_or("it says nothing")?;
    say(&mut input, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    answer_until(&mut input, &messages, &json!("later"), LATER)?;
    say(&mut input, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}))?;
    let list = answer_until(&mut input, &messages, &json!(2), PATIENCE)?.ok_or("no list")?;
    drop(input);
    drop(child.wait());
    Ok(list["result"]["tools"].as_array().cloned().unwrap_or_default())
}

fn wire(child: &mut Child) -> Option<(ChildStdin, Receiver<Value>)> {
    let (input, output) = (child.stdin.take()?, child.stdout.take()?);
    let (heard, messages) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Ok(message) = serde_json::from_str(&line) {
                drop(heard.send(message));
            }
        }
    });
    Some((input, messages))
}

fn say(input: &mut ChildStdin, message: &Value) -> Result<(), String> {
    input.write_all(format!("{message}\n").as_bytes()).map_err(|error| error.to_string())
}

/// Answers the server's own questions until the answer with this id comes, or the time is over.
fn answer_until(
    input: &mut ChildStdin,
    messages: &Receiver<Value>,
    id: &Value,
    within: Duration,
) -> Result<Option<Value>, String> {
    let until = Instant::now() + within;
    loop {
        let message = match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return Err("it has ended".to_owned()),
        };
        if message["method"] == "roots/list" {
            let roots = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": []}});
            say(input, &roots)?;
        } else if message["id"] == *id && message["method"].is_null() {
            return Ok(Some(message));
        }
    }
}
