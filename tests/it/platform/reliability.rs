//! NFR-R: one server's failure is its own, and no call is lost or doubled while it comes back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use kit::config::Fake;
use kit::platform::{Platform, id_of, stdio};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, ledger, process, say, scan};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::echoing;

/// How often each `{"n":…}` has reached the server.
fn arrived(room: &Room, server: &str) -> HashMap<u64, usize> {
    let mut counts = HashMap::new();
    for line in ledger::calls(&room.ledger(server)) {
        let number = scan::path(&line, &["params", "arguments", "n"]);
        let number = number.and_then(|raw| std::str::from_utf8(raw).ok()?.parse().ok());
        *counts.entry(number.expect("a number")).or_default() += 1;
    }
    counts
}

#[test]
fn nfr_r3_a_server_that_fails_again_and_again_costs_the_others_no_call() {
    let room = Room::new();
    let mut a = echoing(&room, "a").listen(Wire::Http);
    let b = echoing(&room, "b").listen(Wire::Http);
    let platform = room.platform(&["--health-interval", "1s"]);
    platform.connected("a", &a);
    platform.connected("b", &b);
    let over = AtomicBool::new(false);
    let served = std::thread::scope(|scope| {
        let (platform, over) = (&platform, &over);
        let calls = scope.spawn(move || {
            let mut served = 0;
            while !over.load(Ordering::SeqCst) {
                let result = platform.call("b.echo", &json!({ "n": served })).is(200);
                assert_eq!(result["structuredContent"]["arguments"]["n"], served);
                served += 1;
            }
            served
        });
        for _ in 0..5 {
            a.restart();
        }
        a.kill();
        process::wait_until("it is noticed", LIMIT, || {
            let list = platform.admin().get(kit::platform::SERVERS).is(200);
            list["servers"][0]["status"] == "ERROR"
        });
        over.store(true, Ordering::SeqCst);
        calls.join().expect("every call to the other server is served")
    });
    assert!(served > 0);
    let counts = arrived(&room, "b");
    assert!(counts.len() == served && counts.values().all(|count| *count == 1), "{counts:?}");
}

#[test]
fn nfr_r4_a_call_that_comes_while_its_server_is_away_waits_and_is_delivered_once() {
    let room = Room::new();
    let mut a = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &a);
    a.kill();
    // The first one finds out; what it is told is its own affair.
    let mut first = platform.admin().begin(&Platform::call_ask("a.echo", r#"{"n":0}"#));
    platform.wait_server(&id, "it is known to be away", LIMIT, |s| s["status"] != "CONNECTED");
    let mut waiting: Vec<_> = (1..=8)
        .map(|n| platform.admin().begin(&Platform::call_ask("a.echo", &format!(r#"{{"n":{n}}}"#))))
        .collect();
    a.restart();
    for (n, connection) in (1..).zip(&mut waiting) {
        let answer = connection.response(2 * LIMIT);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let result: Value = serde_json::from_slice(&answer.body).expect("a result");
        assert_eq!(result["structuredContent"]["arguments"]["n"], n);
    }
    first.response(2 * LIMIT);
    let counts = arrived(&room, "a");
    for n in 1..=8 {
        assert_eq!(counts.get(&n), Some(&1), "{counts:?}");
    }
}

#[test]
fn nfr_r1_nfr_r2_nfr_r4_under_load_every_call_has_one_outcome_and_none_runs_twice() {
    const ROUNDS: usize = 6;
    const CALLERS: usize = 4;
    let room = Room::new();
    // Without sessions: a request that comes with one the new process does not know has arrived,
    // too, but has not run, and is rightly made again.
    let mut a = echoing(&room, "a").http(json!({ "sessions": false })).listen(Wire::Http);
    let platform = room.platform(&["--health-interval", "1s"]);
    let id = platform.connected("a", &a);
    let over = AtomicBool::new(false);
    let outcomes: Vec<(u64, u16, String)> = std::thread::scope(|scope| {
        let (platform, over) = (&platform, &over);
        let callers: Vec<_> = (0..CALLERS as u64)
            .map(|caller| {
                scope.spawn(move || {
                    let mut outcomes = Vec::new();
                    let mut n = caller * 1_000_000;
                    while !over.load(Ordering::SeqCst) {
                        let ask = Platform::call_ask("a.echo", &format!(r#"{{"n":{n}}}"#));
                        let answer = platform.admin().begin(&ask).response(4 * LIMIT);
                        outcomes.push((n, answer.status(), answer.text()));
                        n += 1;
                    }
                    outcomes
                })
            })
            .collect();
        for _ in 0..ROUNDS {
            let before = ledger::calls(&room.ledger("a")).len();
            process::wait_until("calls arrive", 2 * LIMIT, || {
                ledger::calls(&room.ledger("a")).len() > before + 5
            });
            a.restart();
        }
        // One that was lost so often is degraded, and there.
        platform.wait_server(&id, "it is back", LIMIT, |server| {
            server["status"] == "CONNECTED" || server["status"] == "DEGRADED"
        });
        over.store(true, Ordering::SeqCst);
        let joined = callers.into_iter().map(|caller| caller.join().expect("no caller panics"));
        joined.flatten().collect()
    });
    let counts = arrived(&room, "a");
    assert!(counts.values().all(|count| *count == 1), "doubled: {counts:?}");
    for (n, status, text) in &outcomes {
        match status {
            200 => assert_eq!(counts.get(n), Some(&1), "answered without having run: {n}"),
            502..=504 if counts.contains_key(n) => {
                assert!(text.contains("may have run"), "{n} has reached the server: {text}");
            }
            502..=504 => {}
            _ => panic!("{n}: {status} {text}"),
        }
    }
    // Only what is with the server when it dies can be in doubt: one call of each caller.
    let failed = outcomes.iter().filter(|(_, status, _)| *status != 200).count();
    assert!(failed <= ROUNDS * CALLERS, "{failed} of {} failed", outcomes.len());
}

/// `plain` says nothing of itself, the others that they may be called again. All wait at a gate.
fn told_to_be(room: &Room) -> Fake<'_> {
    let wait = say::steps([say::gate(room, "go"), say::text("done")]);
    let definition = |name: &str, annotations: &str| {
        format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{annotations}}}"#
        )
    };
    let definitions = [
        definition("plain", "{}"),
        definition("reads", r#"{"readOnlyHint":true}"#),
        definition("idempotent", r#"{"idempotentHint":true}"#),
    ];
    let definitions = definitions.each_ref().map(String::as_str);
    let fake = room.fake("a").definitions(&definitions).tool("*", wait);
    fake.http(json!({ "sessions": false }))
}

/// Calls each tool, has its server die with the call, and looks what comes of it.
#[track_caller]
fn cut_off(room: &Room, platform: &Platform, tool: &str, times: usize, die: impl FnOnce()) {
    let mut call = platform.admin().begin(&Platform::call_ask(&format!("a.{tool}"), "{}"));
    // What names a session that is not known is turned away, and has not run.
    let arrived = || {
        let turned = ledger::turned_away(&room.ledger("a"));
        let calls = |line: &&Vec<u8>| scan::get(line, "method") == Some(&b"\"tools/call\""[..]);
        ledger::calls(&room.ledger("a")).len() - turned.iter().filter(calls).count()
    };
    process::wait_until("the call is at the server", LIMIT, || arrived() == 1);
    die();
    room.open_gate("go");
    let answer = call.response(2 * LIMIT);
    match times {
        1 => {
            assert!((502..=504).contains(&answer.status()), "{tool}: {}", answer.text());
            assert!(answer.text().contains("may have run"), "{tool}: {}", answer.text());
        }
        _ => {
            let (arrived, text) = (arrived(), answer.text());
            assert_eq!(answer.status(), 200, "{tool}, which came {arrived} times: {text}");
        }
    }
    assert_eq!(arrived(), times, "{tool}");
}

const TIMES: [(&str, usize); 3] = [("plain", 1), ("reads", 2), ("idempotent", 2)];

#[test]
fn nfr_r4_over_http_a_call_that_was_cut_off_is_repeated_only_if_its_tool_may_be() {
    for (tool, times) in TIMES {
        let room = Room::new();
        let mut a = told_to_be(&room).listen(Wire::Http);
        let platform = room.platform(&[]);
        platform.connected("a", &a);
        cut_off(&room, &platform, tool, times, || a.restart());
    }
}

#[test]
fn nfr_r4_over_pipes_a_call_that_was_cut_off_is_repeated_only_if_its_tool_may_be() {
    for (tool, times) in TIMES {
        let room = Room::new();
        let platform = room.platform(&["--allow-stdio-registration"]);
        let id = id_of(&platform.register(&stdio("a", &told_to_be(&room).entry())));
        platform.wait_status(&id, "CONNECTED");
        let [pid] = ledger::started(&room.ledger("a"))[..] else { panic!("one process") };
        cut_off(&room, &platform, tool, times, || process::kill(pid, Signal::KILL));
    }
}
