//! A small MCP server with a ledger, for as long as its input lasts.

use std::fs::OpenOptions;
use std::io::{BufRead, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use trunkline_wire::{decode, find, scan};

const TOOLS: &str = r#"{"tools":[
    {"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
    {"name":"act","inputSchema":{"type":"object"}},
    {"name":"refuse","inputSchema":{"type":"object"}},
    {"name":"wait","inputSchema":{"type":"object"}},
    {"name":"ask","inputSchema":{"type":"object"}}]}"#;

/// `args`: where it keeps its things.
pub(crate) fn run(args: &[String]) {
    let place = PathBuf::from(&args[0]);
    if place.join("broken").exists() {
        std::process::exit(3);
    }
    for line in stdin().lock().lines() {
        let line = line.unwrap();
        let message = scan(line.as_bytes()).unwrap();
        let method = String::from_utf8(message.method().to_vec()).unwrap();
        match method.as_str() {
            "initialize" => answer(
                message.id(),
                r#""result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#,
            ),
            "tools/list" => {
                answer(message.id(), &format!("\"result\":{}", TOOLS.replace('\n', "")));
            }
            "tools/call" => call(&place, &line),
            "" => answer(
                &std::fs::read(place.join("asking")).unwrap(),
                &format!("\"result\":{{\"content\":[],\"structuredContent\":{line}}}"),
            ),
            "notifications/cancelled" => write(&place, "cancelled"),
            _ if message.id.is_some() => {
                answer(message.id(), r#""error":{"code":-32601,"message":"unknown"}"#);
            }
            _ => {}
        }
    }
}

fn call(place: &Path, line: &str) {
    let message = scan(line.as_bytes()).unwrap();
    let tool = decode(message.text(message.params.name)).unwrap().into_owned();
    let arguments = String::from_utf8(message.text(message.params.arguments).to_vec()).unwrap();
    let meta = find(line.as_bytes(), message.params.span.unwrap(), &["_meta"]);
    let meta = meta.map_or("null".into(), |at| String::from_utf8_lossy(at.of(line.as_bytes())));
    let before = read(place);
    write(place, &format!("call {tool} {arguments}"));
    let dies = arguments.contains("\"always\"")
        || arguments.contains("\"die\"") && !before.contains(&arguments);
    if dies {
        std::process::exit(9);
    }
    let id = message.id().to_vec();
    match tool.as_str() {
        "refuse" => answer(&id, r#""error":{"code":-7,"message":"no"}"#),
        "ask" => {
            std::fs::write(place.join("asking"), &id).unwrap();
            say(r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#);
        }
        "wait" => {
            let gate = place.join("gate");
            // Beside the others, so that it hears what else is said.
            drop(std::thread::spawn(move || {
                while !gate.exists() {
                    std::thread::sleep(Duration::from_millis(10));
                }
                answer(&id, r#""result":{"content":[{"type":"text","text":"waited"}]}"#);
            }));
        }
        _ => answer(
            &id,
            &format!(
                r#""result":{{"content":[],"structuredContent":{{"arguments":{arguments},"meta":{meta}}}}}"#
            ),
        ),
    }
}

fn answer(id: &[u8], rest: &str) {
    let id = std::str::from_utf8(id).unwrap();
    say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}"));
}

fn say(line: &str) {
    let line = format!("{line}\n");
    let mut out = stdout().lock();
    // Whoever reads may have gone.
    drop(out.write_all(line.as_bytes()).and_then(|()| out.flush()));
}

fn write(place: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(place.join("ledger"));
    file.unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
}

pub(crate) fn read(place: &Path) -> String {
    std::fs::read_to_string(place.join("ledger")).unwrap_or_default()
}
