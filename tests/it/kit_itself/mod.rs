//! The judge is judged first: client and scripted server against each other, nothing in between.

mod modern;
mod network;

use std::process::Command;

use kit::client::Client;
use kit::room::Room;
use kit::say::{self, Kin};
use kit::{LIMIT, ledger, process, scan};
use serde_json::Value;

/// A client whose program is the scripted server itself.
fn direct(entry: &Value) -> Client {
    let mut command = Command::new(entry["command"].as_str().expect("a command"));
    for arg in entry["args"].as_array().expect("arguments") {
        command.arg(arg.as_str().expect("text"));
    }
    let client = Client::spawn(command);
    client.initialize("2025-06-18");
    client
}

#[test]
fn echo_and_ledger_keep_every_byte() {
    let room = Room::new();
    let client = direct(&room.fake("a").tool("echo", say::echo()).entry());
    let arguments = r#"{ "x":1.0, "x":"@ID@ \ud800" }"#;
    let answer = client.call("echo", arguments);
    let content = scan::get(answer.result(), "structuredContent").expect("content");
    assert_eq!(scan::get(content, "arguments"), Some(arguments.as_bytes()));
    let calls = ledger::calls(&room.ledger("a"));
    assert_eq!(scan::path(&calls[0], &["params", "arguments"]), Some(arguments.as_bytes()));
    assert_eq!(ledger::started(&room.ledger("a")).len(), 1);
    client.assert_only_protocol();
    client.close_stdin();
    assert!(client.wait_exit(LIMIT).success());
}

#[test]
fn faults_are_committed_as_written() {
    let room = Room::new();
    let entry = room
        .fake("a")
        .tool(
            "bytes",
            say::steps([say::line(Value::Array(vec!["x".into(), say::bytes(&[0, 255])]))]),
        )
        .tool("huge", say::steps([say::huge(3 << 20, say::Place::Last)]))
        .tool("split", say::steps([say::split(r#"{"jsonrpc":"2.0","id":@ID@,"result":{}}"#)]))
        .tool("die", say::steps([say::stderr("last words\n"), say::exit(7)]))
        .entry();
    let client = direct(&entry);
    client.begin("bytes", "{}");
    client.wait_for("the bytes", LIMIT, |line| line.0 == [b'x', 0, 255]);
    let answer = client.call("huge", "{}");
    assert!(answer.result().len() > 3 << 20);
    assert_eq!(client.call("split", r#"{"at":9}"#).result(), b"{}");
    client.begin("die", "{}");
    let end = client.finish(LIMIT);
    assert_eq!(end.code, Some(7));
    assert!(end.stderr.contains("last words"));
}

#[test]
fn descendants_are_found_and_counted() {
    let room = Room::new();
    let all = Kin { setsid: true, double_fork: true, ignore_term: true, keep_stdout: false };
    let start = say::steps([say::descend(Kin::default()), say::descend(all)]);
    let client = direct(&room.fake("a").at_start(start).entry());
    let lingering = || process::with_argument(room.ledger("a").to_str().expect("UTF-8")).len();
    process::wait_until("both descendants run", LIMIT, || lingering() == 2);
    client.close_stdin();
    client.wait_exit(LIMIT);
    assert_eq!(lingering(), 2, "they outlive their server: that is what they are for");
}

#[test]
fn a_dropped_client_leaves_no_process() {
    let room = Room::new();
    let client = direct(&room.fake("a").ignoring_eof().entry());
    let pid = client.pid().as_raw_nonzero().get();
    assert!(process::is_alive(pid));
    drop(client);
    assert!(!process::is_alive(pid));
}
