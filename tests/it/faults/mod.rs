//! Faults of a child, as a table: what it does, what its caller gets, what is left afterwards.
//!
//! Every row runs a gateway of its own with two servers, `evil` and `clean`. Whatever `evil` does:
//! its caller gets exactly one outcome soon, `clean` answers before and after, the gateway lives,
//! and `evil` has received nothing but requests and notifications.

mod catalogue;
mod crashes;
mod failed_starts;
mod framing;
mod pressure;
mod sloppy;
pub(crate) mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};

use kit::config::Upstream;
use kit::line::Line;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, Scene};
use kit::{LIMIT, SOON, ledger, process, say, scan};
use serde_json::Value;

/// One fault.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) flags: &'static [&'static str],
    /// What `evil:bad` does.
    pub(crate) bad: Value,
    pub(crate) caller: Caller,
    pub(crate) after: After,
}

impl Row {
    /// Is it about messages only, so that it means the same over every transport?
    pub(crate) fn is_about_messages(&self) -> bool {
        const OTHER: [&str; 6] =
            ["write", "stderr", "stderr_flood", "close_stdout", "exit", "signal"];
        let steps = self.bad.as_array().into_iter().flatten();
        steps.into_iter().all(|step| OTHER.iter().all(|kind| step.get(kind).is_none()))
    }
}

/// What the caller of `evil:bad` gets.
pub(crate) enum Caller {
    /// This result, to the byte.
    Result(String),
    /// An error of Trunkline's own: code outside -32768…-32000, and a message with each of these
    /// (`a|b`: one of them).
    OwnError(&'static [&'static str]),
    /// This error of the server's, to the byte.
    Error(String),
    /// An error, the server's own or Trunkline's.
    AnyError,
    /// Exactly one outcome; which one is not promised.
    Definite,
}

/// How Trunkline says that an answer was over the limit, and that there was none in time.
pub(crate) const TOO_LARGE: &[&str] = &["large|over the limit"];
pub(crate) const LATE: &[&str] = &["timed out|did not answer within", "1 s|1s"];

/// What has become of `evil`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum After {
    /// Its process answers the next call, too.
    Lives,
    /// It is gone from the list and the next call is an error.
    Gone,
    /// A new process answers; the call was not sent again.
    Replaced,
}

/// Runs every row, then reports all that failed.
#[track_caller]
fn check(rows: Vec<Row>) {
    check_over(Front::Stdio, Upstream::Stdio, rows);
}

/// Checks the rows over this front and upstream.
#[track_caller]
pub(crate) fn check_over(front: Front, upstream: Upstream, rows: Vec<Row>) {
    let mut failed = Vec::new();
    for row in rows {
        if catch_unwind(AssertUnwindSafe(|| check_row(&row, front, upstream))).is_err() {
            failed.push(row.name);
        }
    }
    assert!(failed.is_empty(), "{front:?}, {upstream:?}: failed (details above): {failed:#?}");
}

fn check_row(row: &Row, front: Front, upstream: Upstream) {
    println!("---- {front:?}, {upstream:?}: {}", row.name);
    let room = Room::new();
    let evil = room.fake("evil").tool("bad", row.bad.clone()).tool("echo", say::echo());
    let clean = room.fake("clean").tool("echo", say::echo());
    room.config([("evil", evil.over(upstream)), ("clean", clean.over(upstream))]);
    let client = room.open_ready(front, row.flags);
    client.assert_echo("clean", "echo", r#"{"when":"before"}"#);
    let id = client.begin(&client.tool("evil", "bad"), r#"{"for":"evil"}"#);
    client.assert_echo("clean", "echo", r#"{"when":"meanwhile"}"#);
    let outcome = client.answer(&id, SOON);
    assert_caller(&row.caller, &outcome, front.is_modern() || upstream.is_modern());
    client.assert_echo("clean", "echo", r#"{"when":"after"}"#);
    assert_after(row.after, &room, &client);
    assert!(client.process().is_alive());
    assert_single(&client.client, &id);
    assert_only_requests(&room, "evil");
    assert_eq!(calls_of(&room, "bad"), 1, "a call is never sent twice");
    client.assert_only_protocol();
}

#[track_caller]
fn assert_caller(expected: &Caller, outcome: &Line, is_modern: bool) {
    match expected {
        // In the stateless era a result has a type besides.
        Caller::Result(raw) if is_modern => {
            assert!(outcome.payload() == raw.as_bytes(), "{outcome}");
        }
        Caller::Result(raw) => assert!(outcome.result() == raw.as_bytes(), "{outcome}"),
        Caller::OwnError(parts) => assert_own_error(outcome, parts),
        Caller::Error(raw) => assert!(outcome.error() == raw.as_bytes(), "{outcome}"),
        Caller::AnyError => drop(outcome.error()),
        Caller::Definite => {}
    }
}

#[track_caller]
pub(crate) fn assert_own_error(outcome: &Line, parts: &[&str]) {
    assert!(!(-32768..=-32000).contains(&outcome.code()), "a reserved code: {outcome}");
    let error = String::from_utf8_lossy(outcome.error()).into_owned();
    for part in parts {
        assert!(part.split('|').any(|one| error.contains(one)), "no {part:?} in {outcome}");
    }
}

#[track_caller]
fn assert_after(after: After, room: &Room, client: &Scene) {
    let echo = client.tool("evil", "echo");
    match after {
        After::Lives => client.assert_echo("evil", "echo", r#"{"next":1}"#),
        After::Gone => {
            assert!(!client.list_names().iter().any(|name| name.starts_with("evil")));
            client.call_within(&echo, "{}", SOON).error();
        }
        After::Replaced => {
            let back = || client.call(&echo, "{}").try_result().is_some();
            process::wait_until("a new process answers", LIMIT, back);
        }
    }
    let processes = ledger::started(&room.ledger("evil")).len();
    assert_eq!(processes, if after == After::Replaced { 2 } else { 1 });
}

/// No second outcome for `id`: everything sent before the answer to a later call has arrived.
#[track_caller]
fn assert_single(client: &impl Speak, id: &[u8]) {
    client.assert_echo("clean", "echo", r#"{"when":"last"}"#);
    let second = client.try_wait_for(std::time::Duration::ZERO, |line| line.is_answer_to(id));
    assert_eq!(second, None, "a second outcome");
}

#[track_caller]
fn assert_only_requests(room: &Room, server: &str) {
    for line in ledger::received(&room.ledger(server)) {
        let good = scan::is_json(&line) && scan::get(&line, "method").is_some();
        assert!(good, "{server} got {}", String::from_utf8_lossy(&line));
    }
}

fn calls_of(room: &Room, tool: &str) -> usize {
    let name = scan::quote(tool);
    let calls = ledger::calls(&room.ledger("evil"));
    calls
        .iter()
        .filter(|call| scan::path(call, &["params", "name"]) == Some(name.as_bytes()))
        .count()
}
