//! SC-001 … SC-003, US3-3: fast enough, and patient enough.

use std::process::Command;
use std::time::{Duration, Instant};

use kit::client::Client;
use kit::room::Room;
use kit::yardstick::Yardstick;
use kit::{LIMIT, SOON, bin, ledger, process, say, scan};

#[test]
fn sc_001_a_dozen_slow_starters_are_up_within_5_s() {
    let room = Room::new();
    // One after the other they would need 9.6 s.
    let servers = (0..12).map(|number| {
        let name = format!("s{number}");
        let steps = say::steps([say::pause(800), say::usual()]);
        let fake = room.fake(&name).on("initialize", steps).tool("echo", say::echo());
        (name.clone(), fake.entry())
    });
    room.config_of(servers.collect());
    let (yardstick, start) = (Yardstick::new(), Instant::now());
    let client = room.start(&[]);
    assert_eq!(client.list().len(), 12);
    yardstick.assert_kept(Duration::from_secs(5), start.elapsed());
    for number in 0..12 {
        client.assert_echo(&format!("s{number}"), "echo", "{}");
    }
}

#[test]
fn sc_001_one_slow_child_delays_nobody() {
    let room = Room::new();
    let silent = room.fake("silent").on("initialize", say::never()).entry();
    room.config([("silent", silent), ("ok", room.fake("ok").tool("echo", say::echo()).entry())]);
    let client = room.start(&[]);
    let called = || client.call_within("ok:echo", "{}", SOON).try_result().is_some();
    process::wait_until("the good child can be called", SOON, called);
}

#[test]
fn sc_002_the_complete_list_comes_within_1_s() {
    let room = Room::new();
    let servers = (0..10).map(|number| {
        let name = format!("s{number}");
        (name.clone(), room.fake(&name).generated(100, 50).entry())
    });
    room.config_of(servers.collect());
    let client = room.start_ready(&[]);
    let (yardstick, start) = (Yardstick::new(), Instant::now());
    assert_eq!(client.list().len(), 1000);
    yardstick.assert_kept(Duration::from_secs(1), start.elapsed());
}

#[test]
fn sc_003_the_gateway_adds_less_than_50_ms_to_a_call() {
    let room = Room::new();
    let entry = room.fake("a").tool("echo", say::echo()).entry();
    let mut direct = Command::new(bin::fake_mcp());
    direct.arg("--script").arg(entry["args"][1].as_str().expect("a path"));
    room.config([("a", entry)]);
    let direct = Client::spawn(direct);
    direct.initialize("2025-11-25");
    let through = room.start_ready(&[]);
    let yardstick = Yardstick::new();
    let added = median(&through, "a:echo").saturating_sub(median(&direct, "echo"));
    yardstick.assert_kept(Duration::from_millis(50), added);
}

fn median(client: &Client, tool: &str) -> Duration {
    let mut times: Vec<Duration> = (0..101)
        .map(|_| {
            let start = Instant::now();
            client.call(tool, "{}").result();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

#[test]
fn us3_3_a_slow_tool_is_waited_for() {
    let room = Room::new();
    let slow = say::steps([say::pause(2500), say::text("at last")]);
    room.config([("a", room.fake("a").tool("slow", slow).tool("echo", say::echo()).entry())]);
    let (patient, endless) = (room.start_ready(&[]), room.start_ready(&["--call-timeout", "0"]));
    let calls = [patient.begin("a:slow", "{}"), endless.begin("a:slow", "{}")];
    patient.assert_echo("a", "echo", "{}");
    patient.answer(&calls[0], LIMIT).result();
    endless.answer(&calls[1], LIMIT).result();
}

#[test]
fn us3_3_k6_a_call_past_its_deadline_is_an_error_for_the_caller_and_a_cancellation_for_the_child() {
    let room = Room::new();
    let late = say::steps([say::until_cancelled(), say::text("too late")]);
    let a = room.fake("a").tool("never", say::never()).tool("late", late).tool("echo", say::echo());
    room.config([("a", a.entry())]);
    let client = room.start_ready(&["--call-timeout", "1"]);
    for tool in ["never", "late"] {
        let start = Instant::now();
        let id = client.begin(&format!("a:{tool}"), "{}");
        let answer = client.answer(&id, SOON);
        assert!(start.elapsed() >= Duration::from_millis(900), "{tool}: not before its time");
        assert!(!(-32768..=-32000).contains(&answer.code()), "{tool}: {answer}");
        assert!(answer.message().contains("within 1 s"), "{tool}: {answer}");
        let cancelled = || {
            let calls = ledger::calls(&room.ledger("a"));
            let sent = calls.last().and_then(|call| scan::get(call, "id")).map(<[u8]>::to_vec);
            let cancels = ledger::with_method(&room.ledger("a"), "notifications/cancelled");
            let last = cancels.last().and_then(|c| scan::path(c, &["params", "requestId"]));
            sent.is_some() && last == sent.as_deref()
        };
        process::wait_until("the child is told, with its own id", SOON, cancelled);
        client.assert_echo("a", "echo", "{}");
        assert_eq!(client.try_wait_for(Duration::ZERO, |line| line.is_answer_to(&id)), None);
    }
    assert_eq!(ledger::started(&room.ledger("a")).len(), 1, "the child lives on");
}
