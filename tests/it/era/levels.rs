//! Log messages: asked for with each request in one era, once for a session in the other.

use std::time::Duration;

use kit::line::Line;
use kit::mcp::Speak;
use kit::modern::stamp::LEVEL;
use kit::room::Room;
use kit::scene::{each_legacy_to_modern, each_modern, each_modern_to_legacy};
use kit::{SOON, ledger, say, scan};
use serde_json::Value;

const MESSAGE: &str = "notifications/message";

/// Says something on every level, asked for or not.
fn loud() -> Value {
    say::steps([
        say::loud_log("debug", "1"),
        say::loud_log("info", r#"{ "n":2.0,"s":"\u0061" }"#),
        say::loud_log("error", "3"),
        say::text("done"),
    ])
}

/// The levels of the messages that have come.
fn levels(client: &impl Speak) -> Vec<String> {
    let next = || client.try_wait_for(Duration::ZERO, |line: &Line| line.is_notification(MESSAGE));
    let level = |line: Line| scan::path(&line.0, &["params", "level"]).and_then(scan::text);
    std::iter::from_fn(next).filter_map(level).collect()
}

#[test]
fn a_request_gets_messages_from_the_level_it_has_asked_for() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        room.config([("a", room.fake("a").logging().tool("speak", loud()).over(upstream))]);
        let mut scene = room.open_ready(front, &[]);
        let tool = scene.tool("a", "speak");
        for (level, expected) in [
            (None, &[][..]),
            (Some("info"), &["info", "error"]),
            (Some("error"), &["error"]),
            (Some("debug"), &["debug", "info", "error"]),
            (None, &[]),
        ] {
            scene.modern_mut().set_level(level);
            scene.call(&tool, "{}").result();
            assert_eq!(levels(&scene.client), expected, "{level:?}");
        }
        let told = ledger::with_method(&room.ledger("a"), "logging/setLevel");
        assert!(!told.is_empty(), "the server was told to speak");
        scene.assert_only_protocol();
    });
}

#[test]
fn a_message_travels_byte_for_byte() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        room.config([("a", room.fake("a").logging().tool("speak", loud()).over(upstream))]);
        let mut scene = room.open_ready(front, &[]);
        scene.modern_mut().set_level(Some("info"));
        scene.call(&scene.tool("a", "speak"), "{}").result();
        let message = scene.notification(MESSAGE, SOON);
        let data = scan::path(&message.0, &["params", "data"]).map(String::from_utf8_lossy);
        assert_eq!(data.as_deref(), Some(r#"{ "n":2.0,"s":"\u0061" }"#), "{message}");
    });
}

#[test]
fn a_server_that_speaks_unasked_is_not_heard_by_who_has_not_asked() {
    each_modern(|front, upstream| {
        let room = Room::new();
        room.config([("a", room.fake("a").logging().tool("speak", loud()).over(upstream))]);
        let mut scene = room.open_ready(front, &[]);
        let tool = scene.tool("a", "speak");
        scene.call(&tool, "{}").result();
        assert_eq!(levels(&scene.client), Vec::<String>::new());
        scene.modern_mut().set_level(Some("error"));
        scene.call(&tool, "{}").result();
        assert_eq!(levels(&scene.client).last().map(String::as_str), Some("error"));
        let asked = ledger::calls(&room.ledger("a"));
        let said = |call: &Vec<u8>| scan::path(call, &["params", "_meta", LEVEL]).is_some();
        assert_eq!(asked.iter().map(said).collect::<Vec<_>>(), [false, true]);
    });
}

#[test]
fn the_level_of_a_session_goes_with_each_of_its_requests() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let speak = say::steps([say::log("info", "1"), say::log("error", "2"), say::text("done")]);
        let a = room.fake("a").logging().tool("speak", speak);
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let tool = scene.tool("a", "speak");
        scene.call(&tool, "{}").result();
        assert_eq!(levels(&scene.client), ["info", "error"], "before it has said anything");
        for (level, expected) in [("info", &["info", "error"][..]), ("error", &["error"])] {
            let params = format!(r#"{{"level":"{level}"}}"#);
            assert_eq!(scene.ask("logging/setLevel", &params).payload(), b"{}");
            scene.call(&tool, "{}").result();
            assert_eq!(levels(&scene.client), expected, "{level}");
            let asked = ledger::calls(&room.ledger("a"));
            let said = scan::path(asked.last().expect("a call"), &["params", "_meta", LEVEL]);
            assert_eq!(said, Some(scan::quote(level).as_bytes()));
        }
        assert!(ledger::with_method(&room.ledger("a"), "logging/setLevel").is_empty());
    });
}

#[test]
fn two_clients_with_different_levels_get_what_each_has_asked_for() {
    let room = Room::new();
    let a = room.fake("a").logging().tool("speak", loud());
    room.config([("a", a.over(kit::config::Upstream::Http))]);
    let serve = room.serve(&[]);
    let quiet = serve.modern("{}").with_level("error");
    let loud = serve.modern("{}").with_level("debug");
    let (mute, old) = (serve.modern("{}"), serve.http());
    old.ask("logging/setLevel", r#"{"level":"info"}"#).result();
    for _ in 0..3 {
        quiet.call("a.speak", "{}").result();
        loud.call("a.speak", "{}").result();
        mute.call("a.speak", "{}").result();
        old.call("a.speak", "{}").result();
        assert_eq!(levels(&quiet), ["error"]);
        assert_eq!(levels(&loud), ["debug", "info", "error"]);
        assert_eq!(levels(&mute), Vec::<String>::new());
        assert_eq!(levels(&old), ["info", "error"]);
    }
}

#[test]
fn a_request_is_heard_from_its_level_on_after_a_session_has_set_a_higher_one() {
    let room = Room::new();
    room.config([("a", room.fake("a").logging().tool("speak", loud()).entry())]);
    let serve = room.serve(&[]);
    let (loud, old) = (serve.modern("{}").with_level("debug"), serve.http());
    loud.call("a.speak", "{}").result();
    old.ask("logging/setLevel", r#"{"level":"error"}"#).result();
    loud.call("a.speak", "{}").result();
    // Both calls were answered, and what the server was told came before them.
    let told = ledger::with_method(&room.ledger("a"), "logging/setLevel");
    let level = |line: &Vec<u8>| scan::path(line, &["params", "level"]).and_then(scan::text);
    let told: Vec<String> = told.iter().filter_map(level).collect();
    assert_eq!(told, ["debug", "error", "debug"]);
}
