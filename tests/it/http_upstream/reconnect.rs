//! A server behind a URL that goes away and comes back.

use std::time::{Duration, Instant};

use kit::mcp::Speak;
use kit::room::Room;
use kit::say;
use kit::scene::{Front, each_of};
use kit::service::Wire;
use kit::{LIMIT, SOON, ledger, process};
use serde_json::json;

use crate::faults::assert_own_error;

const WIRES: [Wire; 2] = [Wire::Http, Wire::Sse];

#[test]
fn k8_a_server_that_dies_with_calls_open_settles_them_and_is_used_again_when_it_is_back() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let a = room.fake("a").tool("never", say::never()).tool("echo", say::echo());
        let mut service = a.listen(wire);
        let b = room.fake("b").tool("echo", say::echo());
        room.config([("a", service.entry()), ("b", b.entry())]);
        let scene = room.open_ready(Front::Http, &[]);
        let open: Vec<_> = (0..20).map(|_| scene.begin("a.never", "{}")).collect();
        let there = || ledger::calls(&room.ledger("a")).len() == 20;
        process::wait_until("they are open", LIMIT, there);
        service.kill();
        for id in &open {
            assert_own_error(&scene.answer(id, SOON), &["may have run"]);
        }
        scene.assert_echo("b", "echo", "{}");
        service.restart();
        let back = || scene.call("a.echo", "{}").try_result().is_some();
        process::wait_until("it is used again", LIMIT, back);
        scene.wait_list("its tools are back", LIMIT, |names| names.len() == 3);
        let again = ledger::calls(&room.ledger("a"));
        let never = again.iter().filter(|call| String::from_utf8_lossy(call).contains("never"));
        assert_eq!(never.count(), 20, "no call is sent again");
    });
}

#[test]
fn a_server_that_starts_later_joins() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let service = room.fake("late").tool("echo", say::echo()).listen(wire);
        let entry = service.entry();
        let mut service = service;
        service.kill();
        room.config([("late", entry)]);
        let scene = room.open(Front::Http, &[]);
        assert_eq!(scene.list_names(), Vec::<String>::new());
        service.restart();
        scene.wait_list("it joins", Duration::from_secs(60), |names| names == ["late.echo"]);
        scene.assert_echo("late", "echo", "{}");
    });
}

#[test]
fn k9_a_server_that_stays_away_is_not_stormed() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let refuse = say::steps([say::net::hang_up()]);
        let service = room.fake("a").on("POST", refuse.clone()).on("GET", refuse).listen(wire);
        let b = room.fake("b").tool("echo", say::echo());
        room.config([("a", service.entry()), ("b", b.entry())]);
        let scene = room.open_ready(Front::Http, &[]);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(4) {
            scene.assert_echo("b", "echo", "{}");
        }
        let tried = ledger::heads(&room.ledger("a")).len();
        assert!(tried <= 16, "{tried} attempts in about 4 s");
        assert!(tried >= 2, "it is tried again: {tried}");
    });
}

#[test]
fn new_tools_after_a_restart_are_listed() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let mut service = room.fake("a").tool("old", say::echo()).listen(wire);
        room.config([("a", service.entry())]);
        let scene = room.open_ready(Front::Http, &[]);
        assert_eq!(scene.list_names(), ["a.old"]);
        let script = json!({ "name": "a", "calls": { "new": say::echo() },
            "ledger": room.ledger("a").to_str() });
        room.write("a.script.json", script.to_string());
        service.restart();
        scene.wait_list("the new tool", Duration::from_secs(60), |names| names == ["a.new"]);
        scene.assert_echo("a", "new", "{}");
    });
}

#[test]
fn a_network_server_that_hangs_in_the_handshake_holds_up_nobody() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let service = room.fake("a").on("initialize", say::never()).listen(wire);
        let b = room.fake("b").tool("echo", say::echo());
        room.config([("a", service.entry()), ("b", b.entry())]);
        let scene = room.open(Front::Stdio, &["--start-timeout", "1"]);
        assert_eq!(scene.list_names(), ["b:echo"]);
        scene.assert_echo("b", "echo", "{}");
    });
}

#[test]
fn a_server_that_accepts_and_never_speaks_times_out() {
    let room = Room::new();
    let mute = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/mcp", mute.local_addr().expect("bound"));
    room.config([
        ("mute", json!({ "type": "http", "url": url })),
        ("b", room.fake("b").tool("echo", say::echo()).entry()),
    ]);
    let scene = room.open(Front::Stdio, &["--start-timeout", "1"]);
    assert_eq!(scene.list_names(), ["b:echo"]);
    let id = scene.begin("mute:x", "{}");
    scene.assert_echo("b", "echo", "{}");
    scene.answer(&id, LIMIT).error();
    drop(mute);
}
