//! What Trunkline itself sends to a server behind a URL.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::say::{self, net};
use kit::scene::{Front, each_front, each_of};
use kit::service::Wire;
use kit::{LIMIT, SOON, ledger, port, process, scan};
use serde_json::json;

#[test]
fn every_request_carries_what_the_transport_asks_for() {
    let room = Room::new();
    let a = room.fake("a").tool("echo", say::echo()).version("2025-06-18");
    room.config([("a", a.over(Upstream::Http))]);
    let scene = room.open_ready(Front::Stdio, &[]);
    scene.assert_echo("a", "echo", "{}");
    let path = room.ledger("a");
    let first = ledger::heads_of(&path, "initialize").remove(0);
    assert_eq!(first.header("mcp-session-id"), None, "none is known yet");
    for method in ["initialize", "notifications/initialized", "tools/list", "tools/call"] {
        for head in ledger::heads_of(&path, method) {
            assert_eq!(head.target(), "/mcp");
            assert!(head.header("content-type").is_some_and(|t| t.starts_with("application/json")));
            let accept = head.header("accept").unwrap_or_default();
            assert!(accept.contains("application/json") && accept.contains("text/event-stream"));
            let host = head.header("host").unwrap_or_default();
            assert!(host.starts_with("127.0.0.1:"), "{host}");
            if method != "initialize" {
                assert!(head.header("mcp-session-id").is_some(), "{head:?}");
                assert_eq!(head.header("mcp-protocol-version"), Some("2025-06-18"), "{head:?}");
            }
        }
    }
    let listens = || {
        ledger::heads(&path).iter().any(|head| head.method() == "GET" && head.target() == "/mcp")
    };
    process::wait_until("it listens", LIMIT, listens);
    for line in ledger::received(&path) {
        assert!(!line.contains(&b'\n'), "one message is one line");
    }
}

#[test]
fn connections_are_used_again() {
    each_of(Upstream::NETWORK, |upstream| {
        let room = Room::new();
        room.config([("a", room.fake("a").tool("echo", say::echo()).over(upstream))]);
        let scene = room.open_ready(Front::Stdio, &[]);
        for _ in 0..100 {
            scene.assert_echo("a", "echo", "{}");
        }
        let used: HashSet<u64> =
            ledger::heads(&room.ledger("a")).iter().map(|head| head.connection).collect();
        assert!(used.len() <= 6, "{} connections for 100 calls, one after the other", used.len());
    });
}

#[test]
fn a_server_that_closes_after_each_answer_costs_no_call() {
    each_front(|front| {
        for close in ["announced", "silent"] {
            let room = Room::new();
            // Without a stream of its own, which would stay open.
            let options = json!({ "close_each": close, "get": false });
            let a = room.fake("a").tool("echo", say::echo()).http(options).listen(Wire::Http);
            room.config([("a", a.entry())]);
            let scene = room.open_ready(front, &[]);
            // A call that meets the end of its connection is nobody's fault.
            let has_ended = || port::connected(a.address().port()) == 0;
            for _ in 0..30 {
                process::wait_until("the connection has ended", LIMIT, has_ended);
                scene.assert_echo("a", "echo", "{}");
            }
            assert_eq!(ledger::calls(&room.ledger("a")).len(), 30, "{close}: none was sent twice");
        }
    });
}

#[test]
fn a_hundred_calls_are_open_at_once() {
    each_of(Upstream::NETWORK, |upstream| {
        let room = Room::new();
        let hold = say::steps([say::gate(&room, "go"), say::result("@ARGS@")]);
        let a = room.fake("a").tool("hold", hold).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(Front::Stdio, &[]);
        let ids: Vec<_> =
            (0..100).map(|n| (n, scene.begin("a:hold", &format!(r#"{{"n":{n}}}"#)))).collect();
        let there = || ledger::calls(&room.ledger("a")).len() == 100;
        process::wait_until("all of them are there", LIMIT, there);
        scene.assert_echo("a", "echo", "{}");
        room.open_gate("go");
        for (n, id) in ids {
            let expected = format!(r#"{{"n":{n}}}"#);
            assert_eq!(scene.answer(&id, LIMIT).result(), expected.as_bytes());
        }
    });
}

#[test]
fn k33_retry_after_is_honoured_in_the_handshake() {
    for status in [429, 503] {
        let room = Room::new();
        let later = say::steps([net::http(status, &[("Retry-After", "3")], "later")]);
        let a = room.fake("a").tool("echo", say::echo()).on("POST", say::first_only(1, &later));
        room.config([("a", a.over(Upstream::Http))]);
        let start = Instant::now();
        let scene = room.open(Front::Http, &[]);
        let tried = || ledger::received(&room.ledger("a")).len();
        process::wait_until("the second attempt", LIMIT, || tried() >= 2);
        assert!(start.elapsed() >= Duration::from_secs(3), "{:?}", start.elapsed());
        scene.wait_list("the server is there", LIMIT, |names| names == ["a.echo"]);
    }
}

#[test]
fn k33_a_busy_server_is_told_to_the_caller_and_asked_again_only_in_time() {
    for status in [429, 503] {
        let room = Room::new();
        let later = say::steps([net::http(status, &[("Retry-After", "2")], "later")]);
        let a = room.fake("a").tool("busy", say::first(1, &later, &say::mirror()));
        room.config([("a", a.tool("echo", say::echo()).over(Upstream::Http))]);
        let scene = room.open_ready(Front::Stdio, &[]);
        let start = Instant::now();
        let answer = scene.call("a:busy", r#"{"n":1}"#);
        match answer.try_result() {
            // Sent again, which is right where the server says that it did nothing.
            Some(result) => {
                assert_eq!(result, br#"{"n":1}"#);
                assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
            }
            None => {
                let error = String::from_utf8_lossy(answer.error()).into_owned();
                assert!(error.contains(&status.to_string()), "{error}");
                assert_eq!(ledger::calls(&room.ledger("a")).len(), 1);
            }
        }
        scene.assert_echo("a", "echo", "{}");
    }
}

#[test]
fn k33_an_absurd_retry_after_is_cut_and_nonsense_ignored() {
    for value in ["86400", "99999999999999999999", "-5", "soon", "Wed, 21 Oct 2099 07:28:00 GMT"] {
        let room = Room::new();
        let later = say::steps([net::http(503, &[("Retry-After", value)], "later")]);
        let a = room.fake("a").tool("busy", later).tool("echo", say::echo());
        room.config([("a", a.over(Upstream::Http))]);
        let scene = room.open_ready(Front::Stdio, &["--call-timeout", "3"]);
        scene.call("a:busy", "{}").error();
        let back = || scene.call_within("a:echo", "{}", SOON).try_result().is_some();
        process::wait_until("the server is used again", Duration::from_secs(70), back);
    }
}

#[test]
fn progress_and_cancellation_use_the_ids_the_server_knows() {
    each_of(Upstream::NETWORK, |upstream| {
        let room = Room::new();
        let work = say::steps([say::progress(1), say::until_cancelled(), say::text("late")]);
        room.config([("a", room.fake("a").tool("work", work).over(upstream))]);
        let scene = room.open_ready(Front::Stdio, &[]);
        let id = scene.start(
            "tools/call",
            r#"{"name":"a:work","arguments":{},"_meta":{"progressToken":"mine"}}"#,
        );
        let progress = scene.notification("notifications/progress", LIMIT);
        let token = scan::path(&progress.0, &["params", "progressToken"]);
        assert_eq!(token, Some(&b"\"mine\""[..]));
        scene.cancel(&id);
        let told = || !ledger::with_method(&room.ledger("a"), "notifications/cancelled").is_empty();
        process::wait_until("the server is told", LIMIT, told);
    });
}
