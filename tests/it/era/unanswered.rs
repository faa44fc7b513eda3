//! Servers that do not wait for what they have asked: they answer at once, or end.

use kit::config::Upstream;
use kit::line::Line;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, Scene, each_modern_to_legacy, each_of};
use kit::{LIMIT, ledger, process, say, scan};
use serde_json::Value;

use super::{ABLE, QUESTIONS};

/// A question that is not waited for.
fn question(id: u8) -> Value {
    let (method, params, _) = QUESTIONS[1];
    say::line(format!(r#"{{"jsonrpc":"2.0","id":"q-{id}","method":"{method}","params":{params}}}"#))
}

/// What comes of a call in the end: it is asked for again for as long as it asks.
#[track_caller]
fn outcome(scene: &Scene, tool: &str) -> Line {
    let call = format!(r#"{{"name":"{}","arguments":{{}}}}"#, scene.tool("a", tool));
    let mut answer = scene.ask("tools/call", &call);
    // Whether its client has been told what is asked depends on the moment.
    while answer.result_type().as_deref() == Some("input_required") {
        let again = answer.round().answered(&call, |_| QUESTIONS[1].2.into());
        answer = scene.ask("tools/call", &again);
    }
    answer
}

#[test]
fn a_server_that_answers_at_once_hears_what_becomes_of_its_questions() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let hasty = say::steps([question(1), question(2), say::text("done")]);
        room.config([("a", room.fake("a").tool("hasty", hasty).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let answer = outcome(&scene, "hasty");
        assert!(answer.to_string().contains("done"), "{answer}");
        for id in [&b"\"q-1\""[..], b"\"q-2\""] {
            let heard = || {
                let all = ledger::received(&room.ledger("a"));
                let of = |line: &&Vec<u8>| scan::get(line, "method").is_none();
                all.iter().filter(of).filter(|line| scan::get(line, "id") == Some(id)).count()
            };
            process::wait_until("the question is answered", LIMIT, || heard() == 1);
        }
        scene.assert_only_protocol();
    });
}

#[test]
fn a_server_that_ends_when_it_has_asked_fails_its_call() {
    each_modern_to_legacy(|front, upstream| {
        for end in [say::exit(0), say::exit(1), say::signal("KILL")] {
            let room = Room::new();
            let ask = say::steps([question(1), question(2), end]);
            let b = room.fake("b").tool("echo", say::echo()).entry();
            room.config([("a", room.fake("a").tool("ask", ask).over(upstream)), ("b", b)]);
            let scene = room.open_with(front, &[], ABLE);
            scene.list();
            let answer = outcome(&scene, "ask");
            assert!(answer.message().contains("`a`"), "{answer}");
            assert_eq!(ledger::calls(&room.ledger("a")).len(), 1, "it is not sent again");
            scene.assert_echo("b", "echo", "{}");
            scene.assert_only_protocol();
        }
    });
}

#[test]
fn a_server_that_closes_its_end_when_it_has_asked_fails_its_call() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let ask = say::steps([question(1), say::close_stdout()]);
        let b = room.fake("b").tool("echo", say::echo()).entry();
        room.config([("a", room.fake("a").tool("ask", ask).over(Upstream::Stdio)), ("b", b)]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let answer = outcome(&scene, "ask");
        assert!(answer.message().contains("`a`"), "{answer}");
        scene.assert_echo("b", "echo", "{}");
    });
}
