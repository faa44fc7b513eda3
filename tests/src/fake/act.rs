//! The steps of a script, one after the other.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::Value;

use super::listing::Listing;
use super::request::Request;
use super::{Server, linger, template};

/// Does any step wait? Then the behaviour gets a thread and reading goes on.
pub(super) fn blocks(steps: &Value) -> bool {
    const WAITING: [&str; 6] = ["sleep_ms", "gate", "until_cancelled", "ask", "huge", "flood"];
    let waits = |step: &Value| WAITING.iter().any(|kind| step.get(kind).is_some());
    steps.as_array().is_some_and(|steps| steps.iter().any(waits))
}

pub(super) fn perform(server: &Arc<Server>, steps: &Value, request: &Request) {
    let mut answer = Vec::new();
    for step in steps.as_array().into_iter().flatten() {
        let (kind, what) = step.as_object().and_then(|step| step.iter().next()).expect("a step");
        if kind == "ask" {
            answer = ask(server, what);
        } else {
            act(server, kind, what, request, &answer);
        }
    }
}

fn act(server: &Arc<Server>, kind: &str, what: &Value, request: &Request, answer: &[u8]) {
    let fill = |template: &Value| template::fill(server, template, request, answer);
    let line = |template: &Value| [&fill(template)[..], b"\n"].concat();
    match kind {
        "write" => server.outlet.write(&fill(what)),
        "line" => server.outlet.write(&line(what)),
        "pieces" => in_pieces(server, &line(&what["of"]), number(&what["size"])),
        "split" => split(server, &line(what), request.number("at")),
        "together" => together(server, number(&what["count"]), line(&what["line"])),
        "huge" => huge(server, number(&what["bytes"]), what["id_first"] == true, request),
        "fill" => fill_up(server, number(what)),
        "deep" => deep(server, number(what), request),
        "flood" => flood(server, number(&what["count"]), &line(&what["line"])),
        "progress" => progress(server, number(what), request),
        "stderr" => drop(std::io::stderr().write_all(&fill(what))),
        "stderr_flood" => stderr_flood(number(what)),
        "exit" => std::process::exit(what.as_i64().expect("a code") as i32),
        "signal" => signal_self(what.as_str().expect("a signal")),
        "usual" => server.outlet.write(&super::usual(server, request)),
        "close_stdout" => close_stdout(),
        "stall" => loop {
            std::thread::park();
        },
        "sleep_ms" => std::thread::sleep(Duration::from_millis(number(what) as u64)),
        "gate" => wait_at_gate(what.as_str().expect("a path")),
        "until_cancelled" => {
            server.wait_heard(|heard| heard.cancelled.remove(&request.id).then_some(()));
        }
        "tools" => {
            *server.listing.lock().expect("no holder panics") = Listing::flat(what);
        }
        "descend" => linger::start(&server.script, what),
        other => panic!("the script knows no step {other}"),
    }
}

/// Sends a request of our own; the line that answers it.
fn ask(server: &Server, what: &Value) -> Vec<u8> {
    let id = format!("\"ask-{}\"", server.next_question.fetch_add(1, Ordering::Relaxed));
    let (method, params) = (&what["method"], what["params"].as_str().unwrap_or("{}"));
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
    server.outlet.write(format!("{line}\n").as_bytes());
    server.wait_heard(|heard| heard.answers.remove(id.as_bytes()))
}

fn in_pieces(server: &Server, bytes: &[u8], size: usize) {
    server.outlet.write_all(bytes.chunks(size));
}

/// A moment between the two writes, so that the reader meets the first alone.
fn split(server: &Server, bytes: &[u8], at: usize) {
    let (head, tail) = bytes.split_at(at % bytes.len());
    server.outlet.write(head);
    std::thread::sleep(Duration::from_millis(1));
    server.outlet.write(tail);
}

fn together(server: &Server, count: usize, line: Vec<u8>) {
    let mut waiting = server.together.lock().expect("no holder panics");
    waiting.push(line);
    if waiting.len() == count {
        server.outlet.write(&waiting.concat());
        waiting.clear();
    }
}

fn huge(server: &Server, bytes: usize, id_first: bool, request: &Request) {
    let id = String::from_utf8_lossy(&request.id);
    let text = vec![b'x'; 1 << 16];
    let (head, tail) = if id_first {
        (format!(r#""id":{id},"#), String::new())
    } else {
        (String::new(), format!(r#","id":{id}"#))
    };
    let head = format!(r#"{{"jsonrpc":"2.0",{head}"result":{{"content":[{{"type":"text","text":""#);
    let tail = format!("\"}}]}}{tail}}}\n");
    let chunks = std::iter::repeat_n(&text[..], bytes / text.len());
    let rest = &text[..bytes % text.len()];
    let parts = [head.as_bytes()].into_iter().chain(chunks).chain([rest, tail.as_bytes()]);
    server.outlet.write_all(parts);
}

fn fill_up(server: &Server, bytes: usize) {
    let text = vec![b'x'; 1 << 16];
    let chunks = std::iter::repeat_n(&text[..], bytes / text.len());
    server.outlet.write_all(chunks.chain([&text[..bytes % text.len()]]));
}

fn deep(server: &Server, levels: usize, request: &Request) {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    let head = br#"{"jsonrpc":"2.0","id":"#;
    let body = format!(r#","result":{{"deep":{open}{close}}}}}"#);
    server.outlet.write(&[&head[..], &request.id, body.as_bytes(), b"\n"].concat());
}

fn flood(server: &Server, count: usize, line: &[u8]) {
    let block = line.repeat(64);
    let blocks = std::iter::repeat_n(&block[..], count / 64);
    server.outlet.write_all(blocks.chain(std::iter::repeat_n(line, count % 64)));
}

fn progress(server: &Server, count: usize, request: &Request) {
    let token = String::from_utf8_lossy(&request.token);
    for step in 1..=count {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}.0,"total": {count},"message":"\u0073tep"}}}}"#
        );
        server.outlet.write(format!("{line}\n").as_bytes());
    }
}

fn stderr_flood(bytes: usize) {
    let line = [&b"noise ".repeat(20)[..], b"\n"].concat();
    let mut stderr = std::io::stderr().lock();
    for _ in 0..=bytes / line.len() {
        drop(stderr.write_all(&line));
    }
}

fn signal_self(name: &str) {
    let signal = match name {
        "SEGV" => Signal::SEGV,
        "KILL" => Signal::KILL,
        "TERM" => Signal::TERM,
        "STOP" => Signal::STOP,
        other => panic!("the script knows no signal {other}"),
    };
    // Again and again: the runtime's own SIGSEGV handler takes the first for a fault that will
    // repeat itself, and puts the default action back.
    loop {
        kill_process(getpid(), signal).expect("a process may signal itself");
        if name == "STOP" {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn close_stdout() {
    let null = std::fs::File::create("/dev/null").expect("/dev/null can be opened");
    rustix::stdio::dup2_stdout(null).expect("stdout can be replaced");
}

fn wait_at_gate(path: &str) {
    while !std::path::Path::new(path).exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn number(value: &Value) -> usize {
    value.as_u64().expect("a number") as usize
}
