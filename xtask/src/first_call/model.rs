//! Stands for the model: over the API that Claude Code speaks, it wants one tool called and repeats what
//! came of it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};

pub(super) struct Model {
    address: String,
    results: Receiver<String>,
}

impl Model {
    pub(super) fn start(tool: &'static str) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let (heard, results) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let heard = heard.clone();
                std::thread::spawn(move || drop(answer(&stream, tool, &heard)));
            }
        });
        Ok(Self { address: format!("http://{address}"), results })
    }

    /// What the tool gave.
    pub(super) fn got(&self) -> Option<String> {
        self.results.try_iter().next()
    }

    pub(super) fn instead_of_a_real_one(&self, command: &mut Command) {
        command.env("ANTHROPIC_BASE_URL", &self.address).env("ANTHROPIC_API_KEY", "none");
        command
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1");
        // The tools themselves, and not a tool that finds them.
        command.env("ENABLE_TOOL_SEARCH", "false");
    }
}

/// One request after the other, as long as the connection lasts.
fn answer(stream: &TcpStream, tool: &str, heard: &Sender<String>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let body = String::from_utf8_lossy(&body);
        let result = body.split("\"tool_result\"").nth(1).map(str::to_owned);
        let events = match result {
            Some(result) => {
                drop(heard.send(result));
                said("The tool has answered.")
            }
            None if body.contains(&format!("\"{tool}\"")) => wanted(tool),
            None => said("…"),
        };
        let (kind, body) = match body.contains("\"stream\":true") {
            true => ("text/event-stream", events),
            false => ("application/json", "{\"input_tokens\":1}".to_owned()),
        };
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
        (&*stream).write_all(format!("{head}{body}").as_bytes())?;
    }
}

fn said(words: &str) -> String {
    let start = r#"{"type":"text","text":""}"#;
    let delta = format!(r#"{{"type":"text_delta","text":"{words}"}}"#);
    message(start, &delta, "end_turn")
}

fn wanted(tool: &str) -> String {
    let start = format!(r#"{{"type":"tool_use","id":"toolu_1","name":"{tool}","input":{{}}}}"#);
    message(&start, r#"{"type":"input_json_delta","partial_json":"{}"}"#, "tool_use")
}

/// The events of one message with one block.
fn message(start: &str, delta: &str, stop: &str) -> String {
    let usage = r#"{"input_tokens":1,"output_tokens":1}"#;
    let events = [
        (
            "message_start",
            format!(
                r#""message":{{"id":"msg_1","type":"message","role":"assistant","model":"none","content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage}}}"#
            ),
        ),
        ("content_block_start", format!(r#""index":0,"content_block":{start}"#)),
        ("content_block_delta", format!(r#""index":0,"delta":{delta}"#)),
        ("content_block_stop", r#""index":0"#.to_owned()),
        (
            "message_delta",
            format!(r#""delta":{{"stop_reason":"{stop}","stop_sequence":null}},"usage":{usage}"#),
        ),
    ];
    let line =
        |kind: &str, rest: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    let mut all: String =
        events.iter().map(|(kind, rest)| line(kind, &format!(",{rest}"))).collect();
    all.push_str(&line("message_stop", ""));
    all
}
