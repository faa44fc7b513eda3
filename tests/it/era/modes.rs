//! Elicitation has two modes: a form is asked of who can fill in forms, a visit of who can go to URLs.

use std::time::Duration;

use kit::line::Line;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{each_legacy_to_modern, each_modern, each_modern_to_legacy};
use kit::{LIMIT, SOON, ledger, say, scan};
use serde_json::Value;

const ELICIT: &str = "elicitation/create";

/// What a client declares, and which modes that means.
const CLIENTS: [(&str, &[Mode]); 5] = [
    (r#"{"elicitation":{}}"#, &[Mode::Form]),
    (r#"{"elicitation":{"form":{}}}"#, &[Mode::Form]),
    (r#"{"elicitation":{"url":{}}}"#, &[Mode::Url]),
    (r#"{"elicitation":{"form":{},"url":{}}}"#, &[Mode::Form, Mode::Url]),
    (r#"{"sampling":{},"roots":{}}"#, &[]),
];

/// Tools, and what they ask.
const TOOLS: [(&str, Mode, &str); 3] = [
    ("unsaid", Mode::Form, r#"{"message":"who?","requestedSchema":{"type":"object"}}"#),
    ("form", Mode::Form, r#"{"mode":"form","message":"who?","requestedSchema":{"type":"object"}}"#),
    (
        "url",
        Mode::Url,
        r#"{"message":"Visit","\u006dode":"\u0075rl","url":"https://example.org","elicitationId":"e-1"}"#,
    ),
];

const ACCEPT: &str = r#"{"action":"accept"}"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Form,
    Url,
}

/// A room with one server that has these tools.
fn house(upstream: kit::config::Upstream, ask: impl Fn(&str) -> Value) -> Room {
    let room = Room::new();
    let a = TOOLS.iter().fold(room.fake("a").tool("echo", say::echo()), |a, (tool, _, params)| {
        a.tool(tool, ask(params))
    });
    room.config([("a", a.over(upstream))]);
    room
}

/// Asks in a result, and is content with whatever is answered.
fn asks_in_a_result(params: &str) -> Value {
    say::modern::rounds([
        say::steps([say::modern::input_required(&[("k", ELICIT, params)], Some("\"1:s\""))]),
        say::steps([say::result(r#"{"heard":@RESPONSES@}"#)]),
    ])
}

/// -32021 with the capability that is missing, and of that only what is.
#[track_caller]
fn assert_missing(answer: &Line, missing: &[Mode]) {
    assert_eq!(answer.code(), -32021, "{answer}");
    let needed = scan::path(answer.error(), &["data", "requiredCapabilities"]);
    let needed: Vec<_> = needed.and_then(scan::members).into_iter().flatten().collect();
    assert!(matches!(needed[..], [ref one] if one.key == b"\"elicitation\""), "{answer}");
    let modes: &str = match missing {
        [Mode::Form] => r#"{"form":{}}"#,
        [Mode::Url] => r#"{"url":{}}"#,
        _ => r#"{"form":{},"url":{}}"#,
    };
    assert_eq!(String::from_utf8_lossy(needed[0].value), modes, "{answer}");
}

#[test]
fn a_stateless_caller_is_asked_in_the_modes_it_knows_and_the_server_told_of_the_others() {
    each_modern_to_legacy(|front, upstream| {
        let asks = |params: &str| {
            say::steps([say::ask(ELICIT, params), say::result(r#"{"heard":@ANSWER@}"#)])
        };
        let room = house(upstream, asks);
        let mut scene = room.open_with(front, &[], super::ABLE);
        scene.list();
        for (capabilities, modes) in CLIENTS {
            scene.modern_mut().set_capabilities(capabilities);
            for (tool, mode, _) in TOOLS {
                let tool = scene.tool("a", tool);
                let call = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
                let mut answer = scene.ask("tools/call", &call);
                let what = format!("{capabilities} {tool}: {answer}");
                if modes.contains(&mode) {
                    let round = answer.round();
                    assert_eq!(round.only().method, ELICIT, "{what}");
                    answer = scene.ask("tools/call", &round.answered(&call, |_| ACCEPT.into()));
                    let heard = scan::path(answer.result(), &["heard", "result"]);
                    assert_eq!(heard, Some(ACCEPT.as_bytes()), "{what}");
                    continue;
                }
                assert_eq!(answer.result_type().as_deref(), Some("complete"), "{what}");
                let told = scan::path(answer.result(), &["heard", "error", "message"]);
                let told = told.and_then(scan::text).unwrap_or_default();
                assert!(told.contains("does not support elicitation"), "{what}");
            }
        }
        scene.assert_only_protocol();
    });
}

#[test]
fn a_stateless_caller_gets_no_result_that_asks_in_a_mode_it_does_not_know() {
    each_modern(|front, upstream| {
        let room = house(upstream, asks_in_a_result);
        let mut scene = room.open_with(front, &[], super::ABLE);
        scene.list();
        for (capabilities, modes) in CLIENTS {
            scene.modern_mut().set_capabilities(capabilities);
            for (tool, mode, _) in TOOLS {
                let tool = scene.tool("a", tool);
                let call = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
                let answer = scene.ask("tools/call", &call);
                if modes.contains(&mode) {
                    let round = answer.round();
                    let answer = scene.ask("tools/call", &round.again(&call, &[("k", ACCEPT)]));
                    let heard = scan::path(answer.result(), &["heard", "k"]);
                    assert_eq!(heard, Some(ACCEPT.as_bytes()), "{capabilities} {tool}: {answer}");
                } else {
                    assert_missing(&answer, &[mode]);
                }
            }
        }
    });
}

#[test]
fn a_session_is_asked_in_the_modes_it_knows_and_told_of_the_others() {
    each_legacy_to_modern(|front, upstream| {
        for (capabilities, modes) in CLIENTS {
            let room = house(upstream, asks_in_a_result);
            let scene = room.open_with(front, &[], capabilities);
            scene.list();
            for (tool, mode, _) in TOOLS {
                let before = ledger::calls(&room.ledger("a")).len();
                let id = scene.begin(&scene.tool("a", tool), "{}");
                if modes.contains(&mode) {
                    let question = scene.question(ELICIT, LIMIT);
                    scene.reply(&question, &format!(r#""result":{ACCEPT}"#));
                    let answer = scene.answer(&id, LIMIT);
                    let heard = scan::path(answer.result(), &["heard", "k"]);
                    assert_eq!(heard, Some(ACCEPT.as_bytes()), "{capabilities} {tool}: {answer}");
                    continue;
                }
                assert_missing(&scene.answer(&id, SOON), &[mode]);
                let calls = ledger::calls(&room.ledger("a")).len() - before;
                assert_eq!(calls, 1, "{capabilities} {tool}: it is not made again");
            }
            scene.assert_echo("a", "echo", "{}");
            let asked = scene.try_wait_for(Duration::ZERO, |line| line.method().is_some());
            assert_eq!(asked, None, "{capabilities}");
        }
    });
}

/// Of two questions it may only be asked one: then it is asked neither.
#[test]
fn a_result_that_asks_in_both_modes_is_for_who_knows_both() {
    let [(_, _, form), _, (_, _, url)] = TOOLS;
    let both = say::steps([say::modern::input_required(
        &[("f", ELICIT, form), ("u", ELICIT, url)],
        Some("\"s\""),
    )]);
    let check = |front: kit::scene::Front, upstream| {
        for (capabilities, modes) in CLIENTS {
            let room = Room::new();
            room.config([("a", room.fake("a").tool("both", both.clone()).over(upstream))]);
            let scene = room.open_with(front, &[], capabilities);
            scene.list();
            let id = scene.begin(&scene.tool("a", "both"), "{}");
            let all = [Mode::Form, Mode::Url];
            let missing: Vec<_> = all.into_iter().filter(|mode| !modes.contains(mode)).collect();
            if !missing.is_empty() {
                assert_missing(&scene.answer(&id, SOON), &missing);
                let asked = scene.try_wait_for(Duration::ZERO, |line| line.method().is_some());
                assert_eq!(asked, None, "{capabilities}");
            } else if front.is_modern() {
                assert_eq!(scene.answer(&id, LIMIT).round().questions.len(), 2);
            } else {
                scene.question(ELICIT, LIMIT);
                scene.question(ELICIT, LIMIT);
            }
        }
    };
    each_modern(check);
    each_legacy_to_modern(check);
}
