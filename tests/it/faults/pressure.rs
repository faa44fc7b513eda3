//! K12, K13, K14, K18: secrets on stderr, a child that stops reading, floods, cancellations.

use std::time::Duration;

use kit::client::Client;
use kit::room::Room;
use kit::{LIMIT, SOON, ledger, process, say, scan};

use super::assert_own_error;

#[test]
fn k12_an_expanded_secret_in_what_a_child_says_is_redacted() {
    let canary = "canary-9a0b7c6d5e";
    for flags in [&[][..], &["--debug"]] {
        let room = Room::new();
        let words = format!("connecting with {canary} failed\nand now the end\n");
        let noise = say::line(format!("debug: key={canary}"));
        let die = say::steps([noise, say::stderr(&words), say::exit(3)]);
        let evil = room.fake("evil").tool("die", die).env("API_KEY", "${X_CANARY}").entry();
        room.config([("evil", evil)]);
        let mut command = room.trunkline(flags);
        command.env("X_CANARY", canary);
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client.list();
        let outcome = client.call_within("evil:die", "{}", SOON);
        assert!(!String::from_utf8_lossy(&outcome.0).contains(canary), "{outcome}");
        client.wait_stderr(&["evil", "and now the end"], SOON);
        assert!(!client.stderr().contains(canary), "{}", client.stderr());
    }
}

#[test]
fn k13_a_child_that_stops_reading_is_busy_for_its_own_callers_only() {
    const CALLS: usize = 3_000;
    let room = Room::new();
    let evil =
        room.fake("evil").tool("stall", say::steps([say::stall()])).tool("echo", say::echo());
    room.config([
        ("evil", evil.entry()),
        ("clean", room.fake("clean").tool("echo", say::echo()).entry()),
    ]);
    let client = room.start_ready(&["--call-timeout", "5"]);
    let mut ids = vec![client.begin("evil:stall", "{}")];
    let arguments = format!(r#"{{"x":"{}"}}"#, "y".repeat(2_000));
    for number in 0..CALLS {
        ids.push(client.begin("evil:echo", &arguments));
        if number % 500 == 0 {
            client.assert_echo("clean", "echo", "{}");
        }
    }
    client.assert_echo("clean", "echo", "{}");
    let mut busy = || {
        let id = client.begin("evil:echo", &arguments);
        let answer = client.try_wait_for(Duration::from_millis(300), |line| line.is_answer_to(&id));
        match answer {
            Some(answer) => answer.message().contains("busy"),
            None => {
                ids.push(id);
                false
            }
        }
    };
    process::wait_until("its callers hear that it is busy", LIMIT, &mut busy);
    client.assert_echo("clean", "echo", "{}");
    for id in &ids {
        let outcome = client.answer(id, LIMIT);
        assert_own_error(&outcome, &["busy|timed out|did not answer within"]);
    }
    client.assert_echo("clean", "echo", "{}");
    assert!(client.is_alive());
    client.assert_only_protocol();
}

#[test]
fn k14_a_flood_of_notifications_delays_nobody() {
    let room = Room::new();
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let flood =
        say::steps([say::flood(50_000, changed), say::flood(50_000, log), say::text("fine")]);
    let evil = room.fake("evil").tool("flood", flood).tool("echo", say::echo()).entry();
    room.config([("evil", evil), ("clean", room.fake("clean").tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&[]);
    let id = client.begin("evil:flood", "{}");
    client.assert_echo("clean", "echo", "{}");
    client.answer(&id, LIMIT).result();
    client.assert_echo("evil", "echo", "{}");
    client.assert_echo("clean", "echo", "{}");
    let sweeps = ledger::with_method(&room.ledger("evil"), "tools/list").len();
    assert!(sweeps <= 30, "{sweeps} times asked for its tools");
}

/// The id under which the child knows its newest call of `tool`.
fn childs_id(room: &Room, tool: &str) -> Option<Vec<u8>> {
    let name = scan::quote(tool);
    let calls = ledger::calls(&room.ledger("evil"));
    let of_tool = |call: &&Vec<u8>| scan::path(call, &["params", "name"]) == Some(name.as_bytes());
    let call = calls.iter().rfind(of_tool)?;
    scan::get(call, "id").map(<[u8]>::to_vec)
}

fn cancel(client: &Client, id: &str) {
    client.send_line(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"enough"}}}}"#
    ));
}

#[test]
fn k18_a_cancellation_reaches_the_child_with_its_own_id_and_there_is_at_most_one_outcome() {
    let room = Room::new();
    let stubborn = say::steps([say::until_cancelled(), say::text("anyway")]);
    let evil = room.fake("evil").tool("never", say::never()).tool("stubborn", stubborn);
    room.config([("evil", evil.tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&[]);
    for tool in ["never", "stubborn"] {
        let id = format!("\"cancel {tool}\"");
        client.send_line(kit::mcp::call(&id, &format!("evil:{tool}"), "{}"));
        process::wait_until("the child has it", LIMIT, || childs_id(&room, tool).is_some());
        cancel(&client, &id);
        let sent = childs_id(&room, tool);
        let told = || {
            let cancels = ledger::with_method(&room.ledger("evil"), "notifications/cancelled");
            let last = cancels.last().and_then(|c| scan::path(c, &["params", "requestId"]));
            last.is_some() && last == sent.as_deref()
        };
        process::wait_until("the child is told", LIMIT, told);
        client.assert_echo("evil", "echo", "{}");
        client.assert_echo("evil", "echo", "{}");
        let answered = || {
            client.try_wait_for(Duration::ZERO, |line| line.is_answer_to(id.as_bytes())).is_some()
        };
        assert!(!(answered() && answered()), "{tool}: two outcomes");
        // The id is free again.
        client.send_line(kit::mcp::call(&id, "evil:echo", "{}"));
        client.answer(id.as_bytes(), LIMIT).result();
    }
}

#[test]
fn k18_cancelling_what_is_not_there_changes_nothing() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::text("fine")]);
    let evil = room.fake("evil").tool("wait", wait).tool("echo", say::echo()).entry();
    room.config([("evil", evil)]);
    let client = room.start_ready(&[]);
    client.send_line(kit::mcp::call("77", "evil:wait", "{}"));
    process::wait_until("the child has it", LIMIT, || childs_id(&room, "wait").is_some());
    let childs = childs_id(&room, "wait").expect("it has");
    // The child's own number, other types of the same number, nonsense: none of them is ours.
    for id in ["\"77\"", "77.0", "78", "null", "{}", "[77]", "-77", "\"\""] {
        cancel(&client, id);
    }
    if childs != b"77" {
        cancel(&client, &String::from_utf8_lossy(&childs));
    }
    client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#);
    client.assert_echo("evil", "echo", "{}");
    let cancels = ledger::with_method(&room.ledger("evil"), "notifications/cancelled");
    assert!(cancels.is_empty(), "{:?}", cancels.iter().map(|c| String::from_utf8_lossy(c)));
    room.open_gate("go");
    client.answer(b"77", SOON).result();
}

#[test]
fn k18_racing_cancellations_leave_at_most_one_outcome_each() {
    let room = Room::new();
    room.config([("evil", room.fake("evil").tool("echo", say::mirror()).entry())]);
    let client = room.start_ready(&[]);
    for number in 0..500 {
        let id = format!("\"race {number}\"");
        let arguments = format!(r#"{{"n":{number}}}"#);
        client.send_line(kit::mcp::call(&id, "evil:echo", &arguments));
        cancel(&client, &id);
    }
    client.call("evil:echo", r#"{"last":1}"#).result();
    let mut seen = std::collections::HashMap::new();
    while let Some(line) = client.try_wait_for(Duration::ZERO, |line| line.id().is_some()) {
        let id = String::from_utf8_lossy(line.id().unwrap_or_default()).into_owned();
        if let Some(result) = line.try_result() {
            let number = id.trim_matches('"').trim_start_matches("race ").to_owned();
            assert_eq!(result, format!(r#"{{"n":{number}}}"#).as_bytes(), "crossed: {line}");
        }
        *seen.entry(id).or_insert(0) += 1;
    }
    assert!(seen.values().all(|&count| count == 1), "{seen:?}");
}
