//! The scripted server: reads lines, writes each into its ledger, then does what the script says.

mod act;
mod linger;
mod listing;
mod outlet;
mod request;
mod template;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, stdin};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex};

use serde_json::Value;

use crate::ledger::Ledger;
use crate::scan;
use listing::Listing;
use outlet::Outlet;
use request::Request;

/// `--script FILE`, `--script-json TEXT`, or `--linger MARKER` for what a script starts.
pub fn main() {
    let args: Vec<String> = std::env::args().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[1..] {
        ["--script", path] => {
            let text = std::fs::read(path).expect("the script can be read");
            serve(serde_json::from_slice(&text).expect("the script is JSON"));
        }
        ["--script-json", text] => serve(serde_json::from_str(text).expect("the script is JSON")),
        ["--linger", _, ..] => linger::main(&args),
        _ => panic!("usage: fake-mcp --script FILE | --script-json JSON"),
    }
}

/// What all threads of one server share.
struct Server {
    script: Value,
    outlet: Outlet,
    listing: Mutex<Listing>,
    /// Raw ids the client has cancelled, and answers to our own questions by raw id.
    heard: Mutex<Heard>,
    heard_more: Condvar,
    /// Lines that wait to be written together.
    together: Mutex<Vec<Vec<u8>>>,
    next_question: AtomicU64,
}

#[derive(Default)]
struct Heard {
    cancelled: HashSet<Vec<u8>>,
    answers: HashMap<Vec<u8>, Vec<u8>>,
}

fn serve(script: Value) {
    let mut ledger = Ledger::open(script["ledger"].as_str());
    let server = Arc::new(Server {
        listing: Mutex::new(Listing::of(&script)),
        script,
        outlet: Outlet::default(),
        heard: Mutex::default(),
        heard_more: Condvar::new(),
        together: Mutex::default(),
        next_question: AtomicU64::new(1),
    });
    act::perform(&server, &server.script["start"], &Request::default());
    let mut input = stdin().lock();
    loop {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(1..) => {}
            _ if server.script["ignore_eof"] == true => loop {
                std::thread::park();
            },
            _ => return,
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        ledger.received(&line);
        take(&server, line);
    }
}

/// Sorts one message: a question to us, an answer to ours, a cancellation.
fn take(server: &Arc<Server>, line: Vec<u8>) {
    let request = Request::read(line);
    match request.method.as_str() {
        "" => server.hear(|heard| {
            heard.answers.insert(request.id.clone(), request.line.clone());
        }),
        "notifications/cancelled" => {
            let id = scan::get(&request.params, "requestId").unwrap_or_default().to_vec();
            server.hear(|heard| {
                heard.cancelled.insert(id);
            });
        }
        _ => {}
    }
    match steps_for(&server.script, &request) {
        Some(steps) if act::blocks(steps) => {
            let (server, steps) = (Arc::clone(server), steps.clone());
            std::thread::spawn(move || act::perform(&server, &steps, &request));
        }
        Some(steps) => act::perform(server, steps, &request),
        None if !request.id.is_empty() && !request.method.is_empty() => {
            server.outlet.write(&usual(server, &request));
        }
        None => {}
    }
}

/// The behaviour the script gives for this message.
fn steps_for<'a>(script: &'a Value, request: &Request) -> Option<&'a Value> {
    if request.method == "tools/call" {
        let tool = scan::text(&request.name)?;
        return script["calls"].get(tool).or_else(|| script["calls"].get("*"));
    }
    script["on"].get(&request.method)
}

/// What a well-behaved server answers.
fn usual(server: &Server, request: &Request) -> Vec<u8> {
    let outcome = match request.method.as_str() {
        "initialize" => {
            let asked = scan::get(&request.params, "protocolVersion").and_then(scan::text);
            let version = server.script["version"].as_str().map(str::to_owned).or(asked);
            format!(
                r#""result":{{"protocolVersion":{},"capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"fake-mcp","version":"1"}}}}"#,
                scan::quote(&version.unwrap_or_default())
            )
        }
        "tools/list" => server.listing.lock().expect("no holder panics").page(request),
        "ping" => r#""result":{}"#.to_owned(),
        "tools/call" => r#""error":{"code":-32602,"message":"unknown tool"}"#.to_owned(),
        _ => r#""error":{"code":-32601,"message":"unknown method"}"#.to_owned(),
    };
    let head = br#"{"jsonrpc":"2.0","id":"#;
    [&head[..], &request.id, b",", outcome.as_bytes(), b"}\n"].concat()
}

impl Server {
    fn hear(&self, change: impl FnOnce(&mut Heard)) {
        change(&mut self.heard.lock().expect("no holder panics"));
        self.heard_more.notify_all();
    }

    fn wait_heard<T>(&self, mut wanted: impl FnMut(&mut Heard) -> Option<T>) -> T {
        let mut heard = self.heard.lock().expect("no holder panics");
        loop {
            match wanted(&mut heard) {
                Some(found) => return found,
                None => heard = self.heard_more.wait(heard).expect("no holder panics"),
            }
        }
    }
}
