//! The steps of a script, one after the other.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::Value;

use super::outlet::Outlet;
use super::request::Request;
use super::{Server, linger, listen, modern, network, template};
use crate::scan;

/// Does any step wait? Then the behaviour gets a thread and reading goes on.
pub(super) fn blocks(steps: &Value) -> bool {
    const WAITING: [&str; 10] = [
        "sleep_ms",
        "gate",
        "until_cancelled",
        "until_method",
        "ask",
        "ask_all",
        "push_ask",
        "huge",
        "flood",
        "slow",
    ];
    let waits = |step: &Value| WAITING.iter().any(|kind| step.get(kind).is_some());
    steps.as_array().is_some_and(|steps| steps.iter().any(waits))
}

pub(super) fn perform(server: &Arc<Server>, steps: &Value, request: &Request) {
    let mut answer = Vec::new();
    for step in steps.as_array().into_iter().flatten() {
        let (kind, what) = step.as_object().and_then(|step| step.iter().next()).expect("a step");
        match kind.as_str() {
            "ask" => answer = ask(server, what, &request.outlet),
            "ask_all" => answer = ask_all(server, what, &request.outlet),
            "push_ask" => answer = ask(server, what, &server.push(&request.session)),
            _ if network::act(server, kind, what, request, &answer) => {}
            _ => act(server, kind, what, request, &answer),
        }
    }
}

fn act(server: &Arc<Server>, kind: &str, what: &Value, request: &Request, answer: &[u8]) {
    let fill = |template: &Value| template::fill(server, template, request, answer);
    let outlet = &request.outlet;
    match kind {
        "write" => outlet.bytes([&fill(what)[..]]),
        "line" => outlet.message([&modern::adorned(server, request, fill(what))[..]]),
        "log" if !modern::wants_log(request, what["level"].as_str().unwrap_or_default()) => {}
        "log" => outlet.message([&fill(&what["line"])[..]]),
        "push" => push(server, &fill(what), request),
        "pieces" => {
            let framed = outlet.framed(&fill(&what["of"]));
            outlet.bytes(framed.chunks(number(&what["size"])));
            end_reply(outlet);
        }
        "split" => split(outlet, &fill(what), request.number("at")),
        "together" => together(server, number(&what["count"]), fill(&what["line"]), outlet),
        "huge" => huge(number(&what["bytes"]), what["id_first"] == true, request),
        "fill" => fill_up(outlet, number(what)),
        "deep" => deep(number(what), request),
        "flood" => flood(outlet, number(&what["count"]), &fill(&what["line"])),
        "progress" => progress(number(what), request),
        "stderr" => drop(std::io::stderr().write_all(&fill(what))),
        "stderr_flood" => stderr_flood(number(what)),
        "exit" => std::process::exit(what.as_i64().expect("a code") as i32),
        "signal" => signal_self(what.as_str().expect("a signal")),
        "usual" => super::answer(server, request),
        "close_stdout" => close_stdout(),
        "stall" => loop {
            std::thread::park();
        },
        "sleep_ms" => std::thread::sleep(Duration::from_millis(number(what) as u64)),
        "gate" => wait_at_gate(what.as_str().expect("a path")),
        "until_cancelled" => {
            let key = (request.session.clone(), request.id.clone());
            server.wait_heard(|heard| heard.cancelled.remove(&key).then_some(()));
        }
        "until_method" => {
            let method = what.as_str().expect("a method");
            server.wait_heard(|heard| heard.methods.contains(method).then_some(()));
        }
        "end_listens" => listen::end_all(server, what == true),
        "tools" => server.lists.lock().expect("no holder panics").change("tools", what),
        "list" => {
            let kind = what["kind"].as_str().expect("a kind");
            server.lists.lock().expect("no holder panics").change(kind, &what["of"]);
        }
        "updated" => updated(server, what.as_str().expect("a URI")),
        "descend" => linger::start(&server.script, what),
        other => panic!("the script knows no step {other}"),
    }
}

/// What belongs to no request: to whoever listens, and to the sessions of the older era.
fn push(server: &Server, message: &[u8], request: &Request) {
    listen::tell(server, message);
    if !request.modern && server.script["era"] != "modern" {
        server.push(&request.session).message([message]);
    }
}

/// Sends several requests of our own at once; the lines that answer them, as an array.
fn ask_all(server: &Server, what: &Value, outlet: &Outlet) -> Vec<u8> {
    let all = what.as_array().expect("questions");
    let ids: Vec<String> = all.iter().map(|one| begin(server, one, outlet)).collect();
    let heard = |id: &String| server.wait_heard(|heard| heard.answers.remove(id.as_bytes()));
    let answers: Vec<Vec<u8>> = ids.iter().map(heard).collect();
    [&b"["[..], &answers.join(&b','), b"]"].concat()
}

/// Sends a request of our own; the line that answers it.
fn ask(server: &Server, what: &Value, outlet: &Outlet) -> Vec<u8> {
    let id = begin(server, what, outlet);
    server.wait_heard(|heard| heard.answers.remove(id.as_bytes()))
}

/// Sends a request of our own; its id.
fn begin(server: &Server, what: &Value, outlet: &Outlet) -> String {
    let id = format!("\"ask-{}\"", server.next_question.fetch_add(1, Ordering::Relaxed));
    let (method, params) = (&what["method"], what["params"].as_str().unwrap_or("{}"));
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
    outlet.message([line.as_bytes()]);
    id
}

/// Tells everybody who has subscribed.
fn updated(server: &Server, uri: &str) {
    let uri = scan::quote(uri);
    let line = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":{uri}}}}}"#
    );
    listen::tell(server, line.as_bytes());
    let subscribed = server.subscribed.lock().expect("no holder panics").clone();
    for (session, wanted) in subscribed {
        let there = server.stdout.is_some() || server.sessions.get(&session).is_some();
        if wanted == uri.as_bytes() && there {
            server.push(&session).message([line.as_bytes()]);
        }
    }
}

/// A moment between the two writes, so that the reader meets the first alone.
fn split(outlet: &Outlet, message: &[u8], at: usize) {
    let framed = outlet.framed(message);
    let (head, tail) = framed.split_at(at % framed.len());
    outlet.bytes([head]);
    std::thread::sleep(Duration::from_millis(1));
    outlet.bytes([tail]);
    end_reply(outlet);
}

/// Bytes that were cut by hand do not show that the answer was among them.
fn end_reply(outlet: &Outlet) {
    if let Some(reply) = outlet.reply() {
        reply.end();
    }
}

/// One write where the messages share a way out.
fn together(server: &Server, count: usize, message: Vec<u8>, outlet: &Outlet) {
    let mut waiting = server.together.lock().expect("no holder panics");
    waiting.push((outlet.clone(), message));
    if waiting.len() < count {
        return;
    }
    if outlet.reply().is_some() {
        waiting.drain(..).for_each(|(outlet, message)| outlet.message([&message[..]]));
    } else {
        let all: Vec<u8> =
            waiting.drain(..).flat_map(|(outlet, message)| outlet.framed(&message)).collect();
        outlet.bytes([&all[..]]);
    }
}

fn huge(bytes: usize, id_first: bool, request: &Request) {
    let id = String::from_utf8_lossy(&request.id);
    let text = vec![b'x'; 1 << 16];
    let (head, tail) = if id_first {
        (format!(r#""id":{id},"#), String::new())
    } else {
        (String::new(), format!(r#","id":{id}"#))
    };
    let head = format!(r#"{{"jsonrpc":"2.0",{head}"result":{{"content":[{{"type":"text","text":""#);
    let tail = format!("\"}}]}}{tail}}}");
    let chunks = std::iter::repeat_n(&text[..], bytes / text.len());
    let rest = &text[..bytes % text.len()];
    let parts = [head.as_bytes()].into_iter().chain(chunks).chain([rest, tail.as_bytes()]);
    request.outlet.message(parts);
}

fn fill_up(outlet: &Outlet, bytes: usize) {
    let text = vec![b'x'; 1 << 16];
    let chunks = std::iter::repeat_n(&text[..], bytes / text.len());
    outlet.bytes(chunks.chain([&text[..bytes % text.len()]]));
}

fn deep(levels: usize, request: &Request) {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    let head = br#"{"jsonrpc":"2.0","id":"#;
    let body = format!(r#","result":{{"deep":{open}{close}}}}}"#);
    request.outlet.message([&head[..], &request.id, body.as_bytes()]);
}

fn flood(outlet: &Outlet, count: usize, message: &[u8]) {
    let framed = outlet.framed(message);
    let block = framed.repeat(64);
    let blocks = std::iter::repeat_n(&block[..], count / 64);
    outlet.bytes(blocks.chain(std::iter::repeat_n(&framed[..], count % 64)));
}

/// Only to whoever asked for it.
fn progress(count: usize, request: &Request) {
    if request.token.is_empty() {
        return;
    }
    let token = String::from_utf8_lossy(&request.token);
    for step in 1..=count {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}.0,"total": {count},"message":"\u0073tep"}}}}"#
        );
        request.outlet.message([line.as_bytes()]);
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
