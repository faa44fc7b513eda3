//! One runtime per user: clients that share servers, what separates them, and the loss of a runtime.

mod apart;
mod caller;
mod commands;
mod ending;
mod first_list;
mod grace;
mod hostile;
mod life;
mod loss;
mod private;
mod removed;
mod starting;
mod upgrade;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use kit::client::Client;
use kit::line::Line;
use kit::room::Room;
use kit::say;

/// A room whose clients share the server `a`, which says its process, asks, and waits at the gate `go`.
fn house() -> Room {
    house_with(None)
}

fn house_with(share: Option<&str>) -> Room {
    furnished(Room::shared(), share)
}

fn furnished(room: Room, share: Option<&str>) -> Room {
    let ask = say::steps([
        say::ask("elicitation/create", r#"{"message":"who?","requestedSchema":{"type":"object"}}"#),
        say::result(r#"{"heard":@ANSWER@}"#),
    ]);
    let wait = say::steps([say::gate(&room, "go"), say::result("@ARGS@")]);
    let a = room
        .fake("a")
        .tool("echo", say::echo())
        .tool("mirror", say::mirror())
        .tool("ask", ask)
        .tool("wait", wait)
        .tool("env", say::steps([say::result(r#"{"env":@ENV@,"cwd":@CWD@}"#)]))
        .resource("x://a", "A");
    let mut entry = a.entry();
    if let Some(share) = share {
        entry["share"] = serde_json::json!(share);
    }
    room.config([("a", entry)]);
    room
}

/// The program as an upgrade brings it: another file. Copied by another process: one that this process has open for
/// writing while another test starts something cannot be executed (ETXTBSY).
fn another_program(room: &Room, name: &str) -> PathBuf {
    let path = room.path(name);
    let copied = Command::new("cp").arg(kit::bin::trunkline()).arg(&path).status().expect("cp");
    assert!(copied.success());
    path
}

/// The process of the server that this client reaches.
#[track_caller]
fn server_of(client: &Client) -> i32 {
    let answer = client.call("a:echo", "{}");
    let pid = kit::scan::path(answer.result(), &["structuredContent", "pid"]).expect("a pid");
    String::from_utf8_lossy(pid).parse().expect("a number")
}

/// The lines on a client's standard error, but those about a start that takes long on a busy machine.
fn complaints(client: &Client) -> Vec<String> {
    let lines = client.stderr();
    lines.lines().filter(|line| !line.contains("waiting for")).map(str::to_owned).collect()
}

/// What a process that is told to end gives its open calls.
const DRAIN: Duration = Duration::from_millis(3800);

/// This call was open when its process was told to end, after `since`: it has its result. One that was still open when its
/// time was over, as happens on a starved machine, was cut off, and says so.
#[track_caller]
fn assert_let_end(answer: &Line, result: &[u8], since: Instant) {
    match answer.try_result() {
        Some(there) => assert_eq!(there, result, "{answer}"),
        None => {
            assert!(since.elapsed() >= DRAIN, "cut off before its time was over: {answer}");
            assert!(answer.message().contains("may have run"), "{answer}");
        }
    }
}

/// The one runtime there is.
#[track_caller]
fn runtime_of(room: &Room) -> i32 {
    match &room.runtimes()[..] {
        [runtime] => runtime.pid,
        other => panic!("one runtime is expected: {other:?}"),
    }
}
