//! K2, K3, K4, K7 where more than one call is open, or more than one answer is cut.

use std::time::Duration;

use kit::room::Room;
use kit::say::{self, Place};
use kit::{LIMIT, SOON, ledger, process, scan};

use super::{TOO_LARGE, assert_only_requests, assert_own_error};

#[test]
fn k1_noise_before_the_handshake_is_skipped_too() {
    let room = Room::new();
    let banner = say::steps([
        say::line("Welcome to the server!"),
        say::line("[]"),
        say::line("123"),
        say::raw("\u{1b}[2J\n\n"),
    ]);
    room.config([("evil", room.fake("evil").at_start(banner).tool("echo", say::echo()).entry())]);
    let client = room.start(&[]);
    assert_eq!(client.list_names(), ["evil:echo"]);
    client.assert_echo("evil", "echo", "{}");
    assert_only_requests(&room, "evil");
}

#[test]
fn k1_noise_between_a_hundred_calls_harms_none() {
    let room = Room::new();
    let noisy = say::steps([
        say::flood(10, "[] 123 null \u{1b}[0m"),
        say::result("@ARGS@"),
        say::line("{\"done\":true}"),
    ]);
    room.config([("evil", room.fake("evil").tool("noisy", noisy).entry())]);
    let client = room.start_ready(&[]);
    let ids: Vec<_> =
        (0..100).map(|n| (n, client.begin("evil:noisy", &format!(r#"{{"n":{n}}}"#)))).collect();
    for (n, id) in ids {
        let answer = client.answer(&id, LIMIT);
        assert_eq!(answer.result(), format!(r#"{{"n":{n}}}"#).as_bytes());
    }
    assert_only_requests(&room, "evil");
}

#[test]
fn k2_an_answer_may_be_cut_at_every_offset() {
    let whole = r#"{"jsonrpc":"2.0","id":@ID@,"result":{"é":"\u00e9","at":@ARGS@}}"#;
    let room = Room::new();
    room.config([(
        "evil",
        room.fake("evil").tool("split", say::steps([say::split(whole)])).entry(),
    )]);
    let client = room.start_ready(&[]);
    for at in 0..whole.len() + 4 {
        let arguments = format!(r#"{{"at":{at}}}"#);
        let answer = client.call("evil:split", &arguments);
        let expected = format!(r#"{{"é":"\u00e9","at":{arguments}}}"#);
        assert_eq!(String::from_utf8_lossy(answer.result()), expected, "cut at {at}");
    }
}

#[test]
fn k2_two_answers_in_one_write_reach_their_two_callers() {
    let line = r#"{"jsonrpc":"2.0","id":@ID@,"result":@ARGS@}"#;
    let room = Room::new();
    let both = say::steps([say::together(2, line)]);
    room.config([("evil", room.fake("evil").tool("both", both).entry())]);
    let client = room.start_ready(&[]);
    let one = client.begin("evil:both", r#"{"n":1}"#);
    let two = client.begin("evil:both", r#"{"n":2}"#);
    assert_eq!(client.answer(&one, SOON).result(), br#"{"n":1}"#);
    assert_eq!(client.answer(&two, SOON).result(), br#"{"n":2}"#);
}

#[test]
fn k3_a_line_that_never_ends_fails_its_call_and_not_the_next() {
    let room = Room::new();
    let endless =
        say::steps([say::raw(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"x":""#), say::fill(4 << 20)]);
    let next = say::steps([say::fill(100), say::raw("\n"), say::text("fine")]);
    let evil = room.fake("evil").tool("endless", endless).tool("next", next).entry();
    room.config([("evil", evil), ("clean", room.fake("clean").tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&["--max-message", "1048576"]);
    let outcome = client.call_within("evil:endless", "{}", SOON);
    assert_own_error(&outcome, TOO_LARGE);
    client.assert_echo("clean", "echo", "{}");
    client.call_within("evil:next", "{}", SOON).result();
    assert_eq!(ledger::started(&room.ledger("evil")).len(), 1);
}

#[test]
fn k3_of_two_open_calls_only_the_one_with_the_large_answer_fails() {
    for place in [Place::First, Place::Last] {
        let room = Room::new();
        let wait = say::steps([say::gate(&room, "go"), say::text("fine")]);
        let huge = say::steps([say::huge(2 << 20, place)]);
        room.config([("evil", room.fake("evil").tool("wait", wait).tool("huge", huge).entry())]);
        let client = room.start_ready(&["--max-message", "1048576"]);
        let waiting = client.begin("evil:wait", "{}");
        let outcome = client.call_within("evil:huge", "{}", SOON);
        assert_own_error(&outcome, TOO_LARGE);
        room.open_gate("go");
        client.answer(&waiting, SOON).result();
    }
}

#[test]
fn k3_a_hundred_mib_cost_no_more_memory_than_the_limit_allows() {
    let room = Room::new();
    let huge = say::steps([say::huge(100 << 20, Place::First)]);
    room.config([("evil", room.fake("evil").tool("huge", huge).tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&["--max-message", "16777216"]);
    let pid = client.pid().as_raw_nonzero().get();
    let before = process::peak_memory_kib(pid);
    let outcome = client.call_within("evil:huge", "{}", SOON);
    assert_own_error(&outcome, TOO_LARGE);
    client.assert_echo("evil", "echo", "{}");
    let grown = process::peak_memory_kib(pid) - before;
    assert!(grown <= 64 << 10, "{grown} KiB more");
}

#[test]
fn k4_of_two_open_calls_only_the_owner_of_the_bad_line_fails() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::text("fine")]);
    let bad = say::steps([say::line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"x":nope}}"#)]);
    let evil = room.fake("evil").tool("wait", wait).tool("bad", bad).entry();
    room.config([("evil", evil)]);
    let client = room.start_ready(&[]);
    let waiting = client.begin("evil:wait", "{}");
    assert_own_error(&client.call_within("evil:bad", "{}", SOON), &[]);
    room.open_gate("go");
    client.answer(&waiting, SOON).result();
}

#[test]
fn k4_a_bad_line_that_names_nobody_harms_neither_of_two_open_calls() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::result("@ARGS@")]);
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
    let torn = r#"{"jsonrpc":"2.0","result":{"#;
    let bad = say::steps([say::line(error), say::line(torn), say::result("@ARGS@")]);
    let evil = room.fake("evil").tool("wait", wait).tool("bad", bad).entry();
    room.config([("evil", evil)]);
    let client = room.start_ready(&[]);
    let one = client.begin("evil:wait", r#"{"n":1}"#);
    let two = client.begin("evil:bad", r#"{"n":2}"#);
    assert_eq!(client.answer(&two, SOON).result(), br#"{"n":2}"#);
    room.open_gate("go");
    assert_eq!(client.answer(&one, SOON).result(), br#"{"n":1}"#);
}

#[test]
fn k7_thousands_of_doubled_and_stray_answers_confuse_nobody() {
    const CALLS: usize = 2_000;
    let room = Room::new();
    let doubled = say::steps([
        say::line(r#"{"jsonrpc":"2.0","id":99999999,"result":{"stray":true}}"#),
        say::result("@ARGS@"),
        say::result(r#"{"second":true}"#),
        say::error(r#"{"code":1,"message":"third"}"#),
    ]);
    room.config([("evil", room.fake("evil").tool("doubled", doubled).entry())]);
    let client = room.start_ready(&[]);
    let before = client.lines_seen();
    let ids: Vec<_> =
        (0..CALLS).map(|n| (n, client.begin("evil:doubled", &format!(r#"{{"n":{n}}}"#)))).collect();
    for (n, id) in ids {
        let answer = client.answer(&id, LIMIT);
        assert_eq!(answer.result(), format!(r#"{{"n":{n}}}"#).as_bytes());
    }
    let ping = client.request(r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#);
    assert!(scan::is_json(ping.result()));
    assert_eq!(client.try_wait_for(Duration::ZERO, |_| true), None, "nothing is left over");
    assert_eq!(client.lines_seen() - before, CALLS + 1);
}
