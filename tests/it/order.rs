//! Calls of one session reach their server in the order in which they came, whatever they had to wait for.

use kit::client::Client;
use kit::mcp;
use kit::room::{CACHE, Room};
use kit::{LIMIT, ledger, process, say};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Fewer than may wait.
const CALLS: usize = 2_000;

/// The tools are known from an earlier start, or not; each client has a process of its own, or not.
const KINDS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// A server that starts when the gate is open.
fn entry(room: &Room, is_private: bool) -> Value {
    let wait = say::steps([say::gate(room, "go"), say::usual()]);
    let mut entry = room.fake("a").on("initialize", wait).tool("echo", say::echo()).entry();
    entry["era"] = json!("legacy"); // nothing is asked before `initialize`
    entry["start"] = json!("lazy");
    if is_private {
        entry["share"] = json!("per-session");
    }
    entry
}

fn start(room: &Room) -> Client {
    let mut command = room.trunkline(&["--start-timeout", "60"]);
    command.env(CACHE, room.path("memory"));
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    client
}

/// Sends calls of these numbers, one after the other.
fn send(client: &Client, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let arguments = format!(r#"{{"nonce":{number}}}"#);
        client.send_line(mcp::call(&format!("\"n{number}\""), "a:echo", &arguments));
    }
}

/// The numbers of the calls that the server got.
fn arrived(room: &Room) -> Vec<usize> {
    let number = |call: Vec<u8>| {
        let text = String::from_utf8(call).expect("text");
        let (_, number) = text.split_once("\"nonce\":").expect("each has one");
        number.chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("digits")
    };
    ledger::calls(&room.ledger("a")).into_iter().map(number).collect()
}

#[test]
fn calls_that_wait_for_a_start_are_not_overtaken_by_those_that_come_when_the_server_is_up() {
    for (is_known, is_private) in KINDS {
        let room = Room::new();
        room.config([("a", entry(&room, is_private))]);
        if is_known {
            room.open_gate("go");
            let client = start(&room);
            assert_eq!(client.list_names(), ["a:echo"]);
            client.close_stdin();
            client.wait_exit(LIMIT);
            std::fs::remove_file(room.path("go")).expect("the gate is a file");
        }
        let client = start(&room);
        send(&client, 0..CALLS / 2);
        room.open_gate("go");
        send(&client, CALLS / 2..CALLS);
        for number in 0..CALLS {
            client.answer(format!("\"n{number}\"").as_bytes(), LIMIT).result();
        }
        let order = arrived(&room);
        let first = order.iter().enumerate().find(|(at, number)| at != *number);
        assert_eq!(first, None, "known: {is_known}, private: {is_private}");
        assert_eq!(order.len(), CALLS);
    }
}

/// Calls that come while a killed server is started again, some of them before its end is noticed.
#[test]
fn calls_that_wait_for_a_return_are_not_overtaken() {
    let room = Room::new();
    let fake = room.fake("a").tool("echo", say::echo());
    room.config([("a", fake.entry())]);
    let client = room.start_ready(&["--restart"]);
    let mut sent = 0;
    for _ in 0..4 {
        send(&client, sent..sent + 1);
        client.answer(format!("\"n{sent}\"").as_bytes(), LIMIT).result();
        let pid = *ledger::started(&room.ledger("a")).last().expect("it was started");
        process::kill(pid, Signal::KILL);
        send(&client, sent + 1..sent + 500);
        for number in sent + 1..sent + 500 {
            // Those that the killed one may have read are not made again.
            client.answer(format!("\"n{number}\"").as_bytes(), LIMIT);
        }
        sent += 500;
    }
    let order = arrived(&room);
    assert!(order.is_sorted_by(|one, next| one < next), "{order:?}");
}
