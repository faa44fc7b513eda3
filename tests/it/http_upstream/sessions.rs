//! Sessions at a server behind a URL: kept, lost and opened again; servers that have none.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::say::{self, net};
use kit::scene::{Front, each_front};
use kit::{LIMIT, ledger, process};
use serde_json::json;

#[test]
fn a_forgotten_session_is_opened_again_and_nothing_is_lost() {
    each_front(|front| {
        let room = Room::new();
        let forget = say::steps([net::forget_sessions(), say::text("forgotten")]);
        let a = room.fake("a").tool("mirror", say::mirror()).tool("forget", forget);
        room.config([("a", a.over(Upstream::Http))]);
        let scene = room.open_ready(front, &[]);
        let (forget, mirror) = (scene.tool("a", "forget"), scene.tool("a", "mirror"));
        for round in 0..3 {
            scene.call(&forget, "{}");
            // A 404 says that nothing has run, so the call may be sent under the new session.
            let arguments = format!(r#"{{"round":{round}}}"#);
            let served = || {
                let answer = scene.call(&mirror, &arguments);
                answer.try_result().is_some_and(|result| result == arguments.as_bytes())
            };
            process::wait_until("a call is served again", LIMIT, served);
        }
        let handshakes = ledger::with_method(&room.ledger("a"), "initialize").len();
        assert!((4..=8).contains(&handshakes), "one per session: {handshakes}");
        assert_eq!(ledger::started(&room.ledger("a")).len(), 1);
        assert!(!scene.list_names().is_empty());
    });
}

#[test]
fn calls_in_flight_when_the_session_is_forgotten_have_one_outcome_each() {
    let room = Room::new();
    let forget = say::steps([net::forget_sessions(), say::text("forgotten")]);
    let hold = say::steps([say::gate(&room, "go"), say::result("@ARGS@")]);
    let a = room.fake("a").tool("hold", hold).tool("mirror", say::mirror()).tool("forget", forget);
    room.config([("a", a.over(Upstream::Http))]);
    let scene = room.open_ready(Front::Stdio, &[]);
    let held: Vec<_> = (0..10).map(|n| scene.begin("a:hold", &format!(r#"{{"n":{n}}}"#))).collect();
    let there = || ledger::calls(&room.ledger("a")).len() == 10;
    process::wait_until("they are open", LIMIT, there);
    scene.call("a:forget", "{}");
    let burst: Vec<_> =
        (0..50).map(|n| scene.begin("a:mirror", &format!(r#"{{"m":{n}}}"#))).collect();
    room.open_gate("go");
    for id in held.iter().chain(&burst) {
        scene.answer(id, LIMIT);
    }
    let handshakes = ledger::with_method(&room.ledger("a"), "initialize").len();
    assert!(handshakes <= 4, "one new session for all of them: {handshakes}");
    let more = scene.try_wait_for(std::time::Duration::ZERO, |line| line.id().is_some());
    assert_eq!(more, None, "an outcome too many");
}

#[test]
fn subscriptions_and_the_log_level_survive_a_new_session() {
    let room = Room::new();
    let forget = say::steps([net::forget_sessions(), say::text("forgotten")]);
    let touch = say::steps([say::updated("x://a"), say::text("done")]);
    let a = room.fake("a").logging().resource("x://a", "A").tool("forget", forget);
    room.config([("a", a.tool("touch", touch).over(Upstream::Http))]);
    let scene = room.open_ready(Front::Http, &[]);
    scene.ask("resources/subscribe", r#"{"uri":"x://a"}"#).result();
    scene.ask("logging/setLevel", r#"{"level":"debug"}"#).result();
    scene.call("a.forget", "{}");
    let updated = "notifications/resources/updated";
    let told = || {
        scene.call("a.touch", "{}");
        let soon = std::time::Duration::from_millis(300);
        scene.try_wait_for(soon, |line| line.is_notification(updated)).is_some()
    };
    process::wait_until("the subscription is there again", LIMIT, told);
    let levels = || ledger::with_method(&room.ledger("a"), "logging/setLevel").len();
    process::wait_until("the level is there again", LIMIT, || levels() >= 2);
}

#[test]
fn servers_without_sessions_or_without_a_get_stream_are_served() {
    each_front(|front| {
        for options in [
            json!({ "sessions": false }),
            json!({ "get": false }),
            json!({ "sessions": false, "reply": "sse" }),
            json!({ "events": true, "prime": true, "reply": "sse" }),
        ] {
            let room = Room::new();
            let a = room.fake("a").tool("echo", say::echo()).resource("x://a", "A");
            room.config([("a", a.http(options.clone()).over(Upstream::Http))]);
            let scene = room.open_ready(front, &[]);
            for _ in 0..5 {
                scene.assert_echo("a", "echo", r#"{"x":1.0}"#);
            }
            scene.ask("resources/read", r#"{"uri":"x://a"}"#).result();
            let gets =
                || ledger::heads(&room.ledger("a")).iter().filter(|h| h.method() == "GET").count();
            assert!(gets() <= 3, "{options}: a refused stream is not asked for again and again");
        }
    });
}

#[test]
fn every_legacy_revision_is_spoken_over_http() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        for upstream in Upstream::NETWORK {
            let room = Room::new();
            let a = room.fake("a").tool("echo", say::echo()).version(version);
            room.config([("a", a.over(upstream))]);
            let scene = room.open_ready(Front::Stdio, &[]);
            scene.assert_echo("a", "echo", "{}");
        }
    }
}

#[test]
fn a_refused_delete_is_no_trouble() {
    let room = Room::new();
    let refuse = say::steps([net::http(405, &[], "")]);
    let a = room.fake("a").tool("echo", say::echo()).on("DELETE", refuse);
    room.config([("a", a.over(Upstream::Http))]);
    let scene = room.open_ready(Front::Stdio, &[]);
    scene.assert_echo("a", "echo", "{}");
    scene.process().close_stdin();
    let end = scene.process().finish(LIMIT);
    assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""), "{end:?}");
}
