//! K8, K9: what a crash costs, and what it does not.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use kit::client::Client;
use kit::room::Room;
use kit::yardstick::Yardstick;
use kit::{LIMIT, SOON, ledger, process, say, scan};
use serde_json::json;

use super::assert_own_error;

#[test]
fn k8_a_crash_settles_every_open_call_of_that_child_and_no_other() {
    let room = Room::new();
    let evil = room.fake("evil").tool("never", say::never());
    let evil = evil.tool("die", say::steps([say::exit(9)])).entry();
    let wait = say::steps([say::gate(&room, "go"), say::text("fine")]);
    room.config([("evil", evil), ("clean", room.fake("clean").tool("wait", wait).entry())]);
    let client = room.start_ready(&[]);
    let open: Vec<_> = (0..50).map(|_| client.begin("evil:never", "{}")).collect();
    let other = client.begin("clean:wait", "{}");
    client.begin("evil:die", "{}");
    for id in &open {
        assert_own_error(&client.answer(id, SOON), &["may have run", "9"]);
    }
    room.open_gate("go");
    client.answer(&other, SOON).result();
}

#[test]
fn k8_after_a_crash_the_next_process_is_asked_for_its_tools_again() {
    let room = Room::new();
    let sweeps = json!([
        [{ "at": null, "tools": [say::definition("die"), say::definition("old")] }],
        [{ "at": null, "tools": [say::definition("die"), say::definition("new")] }],
    ]);
    // Each process counts its own sweeps, so the second list needs a file that says "again".
    let again = room.path("again").to_str().expect("UTF-8").to_owned();
    let evil = room.fake("evil").tool("*", say::echo()).tool("die", say::steps([say::exit(1)]));
    let mut entry = evil.pages(sweeps[0].clone()).entry();
    let second = room.fake("second").tool("*", say::echo()).pages(sweeps[1].clone()).entry();
    let script = format!(
        r#"if [ -e {again} ]; then exec "$0" --script "$2"; else : > {again}; exec "$0" --script "$1"; fi"#
    );
    entry["args"] = json!(["-c", script, entry["command"], entry["args"][1], second["args"][1]]);
    entry["command"] = json!("/bin/sh");
    room.config([("evil", entry)]);
    let client = room.start_ready(&["--restart"]);
    client.call("evil:die", "{}").error();
    let listed = |names: &[String]| names.iter().any(|name| name == "evil:new");
    client.wait_list("the new process's tools", LIMIT, listed);
    assert!(!client.list_names().contains(&"evil:old".to_owned()));
    client.call("evil:new", "{}").result();
}

/// Calls `clean` for a while: nobody waits a second for an answer.
#[track_caller]
fn assert_unnoticed(client: &Client, time: Duration) {
    let (yardstick, start) = (Yardstick::new(), Instant::now());
    let mut slowest = Duration::ZERO;
    while start.elapsed() < time {
        let call = Instant::now();
        client.assert_echo("clean", "echo", "{}");
        slowest = slowest.max(call.elapsed());
    }
    yardstick.assert_kept(Duration::from_secs(1), slowest);
}

#[test]
fn k9_a_crash_loop_backs_off_and_nobody_else_notices() {
    let room = Room::new();
    let evil = room.fake("evil").at_start(say::steps([say::stderr("no\n"), say::exit(1)])).entry();
    room.config([("evil", evil), ("clean", room.fake("clean").tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&["--restart"]);
    let again = || ledger::started(&room.ledger("evil")).len() >= 2;
    process::wait_until("it is tried again", LIMIT, again);
    assert_unnoticed(&client, Duration::from_secs(3));
    // Backoff from 0.5 s, doubling with jitter: 4 or 5 in this time; a storm has hundreds.
    let starts = ledger::started(&room.ledger("evil")).len();
    assert!(starts <= 10, "{starts} processes in about 4 s");
}

#[test]
fn k9_what_cannot_be_started_is_named_and_harms_nobody() {
    let room = Room::new();
    let garbage = room.write("garbage", b"\x7fELFgarbage\0\xff");
    std::fs::set_permissions(&garbage, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let plain = room.write("plain", "no program");
    room.config([
        ("missing", json!({ "command": "/nowhere/missing" })),
        ("no-such-word", json!({ "command": "surely-no-such-program-anywhere" })),
        ("garbage", json!({ "command": garbage.to_str() })),
        ("plain", json!({ "command": plain.to_str() })),
        ("directory", json!({ "command": "/tmp" })),
        ("clean", room.fake("clean").tool("echo", say::echo()).entry()),
    ]);
    for flags in [&[][..], &["--restart"]] {
        let client = room.start(flags);
        assert_eq!(client.list_names(), ["clean:echo"], "{flags:?}");
        for key in ["missing", "no-such-word", "garbage", "plain", "directory"] {
            client.wait_stderr(&[key], SOON);
        }
        assert_unnoticed(&client, Duration::from_secs(1));
        // Said once, or where it is tried again: from 0.5 s on, in twice the time each. That is seven
        // times in a minute, which all of this takes on a busy machine; a storm has hundreds.
        let said = client.stderr().matches("surely-no-such-program-anywhere").count();
        assert!(said <= 10, "{said} times:\n{}", client.stderr());
    }
}

#[test]
fn k9_a_child_that_ends_at_once_is_reported_with_its_status() {
    let room = Room::new();
    room.config([
        ("quitter", json!({ "command": "/bin/sh", "args": ["-c", "echo why >&2; exit 42"] })),
        ("clean", room.fake("clean").tool("echo", say::echo()).entry()),
    ]);
    let client = room.start(&[]);
    assert_eq!(client.list_names(), ["clean:echo"]);
    client.wait_stderr(&["quitter", "42", "why"], SOON);
}

#[test]
fn k8_no_call_is_ever_sent_twice_by_a_restart() {
    let room = Room::new();
    let evil = room.fake("evil").tool("die", say::steps([say::exit(1)])).tool("echo", say::echo());
    room.config([("evil", evil.entry())]);
    let client = room.start_ready(&["--restart"]);
    let ids: Vec<_> = (0..40)
        .map(|n| {
            client.begin(if n == 20 { "evil:die" } else { "evil:echo" }, &format!(r#"{{"n":{n}}}"#))
        })
        .collect();
    let outcomes: Vec<_> = ids.iter().map(|id| client.answer(id, LIMIT)).collect();
    let back = || client.call("evil:echo", r#"{"n":-1}"#).try_result().is_some();
    process::wait_until("a new process answers", LIMIT, back);
    let calls = ledger::calls(&room.ledger("evil"));
    for (n, outcome) in outcomes.iter().enumerate() {
        let number = n.to_string();
        let number_of = |call: &&Vec<u8>| {
            scan::path(call, &["params", "arguments", "n"]) == Some(number.as_bytes())
        };
        let times = calls.iter().filter(number_of).count();
        assert!(times <= 1, "call {n} ran {times} times");
        assert!(outcome.try_result().is_none() || times == 1, "an answer out of nothing: {n}");
    }
}
