//! Who comes again for a call that waits: under which id, and as whom.

use std::time::Duration;

use kit::line::Line;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::room::Room;
use kit::scene::{Front, Scene, each_modern_to_legacy, each_of};
use kit::{LIMIT, ledger, process, say, scan};

use super::{ABLE, QUESTIONS};

const METHOD: &str = QUESTIONS[1].0;
const PARAMS: &str = QUESTIONS[1].1;
const RESULT: &str = QUESTIONS[1].2;

/// What the server has heard in answer to what it asked.
fn heard(room: &Room) -> Vec<Vec<u8>> {
    let all = ledger::received(&room.ledger("a"));
    all.into_iter().filter(|line| scan::get(line, "method").is_none()).collect()
}

fn call_of(scene: &Scene, tool: &str) -> String {
    format!(r#"{{"name":"{}","arguments":{{"n":1.0}}}}"#, scene.tool("a", tool))
}

/// Comes again with these params under an id that another request of the client's has: whatever is
/// said to that, the call is served, and every request has one answer.
#[track_caller]
fn come_again_under_a_used_id(room: &Room, scene: &Scene, again: &str) -> Line {
    let send = |params: &str| {
        scene.send_line(format!(
            r#"{{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{params}}}"#
        ));
    };
    let before = ledger::calls(&room.ledger("a")).len();
    send(&call_of(scene, "wait"));
    let there = || ledger::calls(&room.ledger("a")).len() > before;
    process::wait_until("the other request is open", LIMIT, there);
    send(again);
    let first = scene.answer(b"\"same\"", LIMIT);
    let served = match first.try_error() {
        // On a pipe the id is the client's only name for a request.
        Some(_) => {
            assert_eq!(first.code(), -32600, "{first}");
            scene.ask("tools/call", again)
        }
        None => first,
    };
    room.open_gate("go");
    let other = scene.answer(b"\"same\"", LIMIT);
    assert!(other.to_string().contains("the other"), "{other}");
    let more = scene.try_wait_for(Duration::ZERO, |line| line.id().is_some());
    assert_eq!(more, None, "one answer each");
    scene.assert_only_protocol();
    served
}

#[test]
fn a_call_that_waits_is_not_lost_to_a_retry_under_an_id_in_use() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let ask = say::steps([say::ask(METHOD, PARAMS), say::result(r#"{"heard":@ANSWER@}"#)]);
        let wait = say::steps([say::gate(&room, "go"), say::text("the other")]);
        let a = room.fake("a").tool("ask", ask).tool("wait", wait);
        room.config([("a", a.over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = call_of(&scene, "ask");
        let round = scene.ask("tools/call", &call).round();
        let again = round.answered(&call, |_| RESULT.into());
        let answer = come_again_under_a_used_id(&room, &scene, &again);
        let said = scan::path(answer.result(), &["heard", "result"]).map(String::from_utf8_lossy);
        assert_eq!(said.as_deref(), Some(RESULT), "{answer}");
        assert_eq!(heard(&room).len(), 1, "the server has heard one answer");
    });
}

/// A server that asks, and has answered before its client comes again. All on one pipe: who has the
/// answer of `other` knows that the one of `hasty` has come.
fn hasty() -> Room {
    let room = Room::new();
    let question =
        format!(r#"{{"jsonrpc":"2.0","id":"q-1","method":"{METHOD}","params":{PARAMS}}}"#);
    let done = r#"{"jsonrpc":"2.0","id":@ID@,"result":{"content":[],"done":@ARGS@}}"#;
    let hasty = say::steps([say::line(question), say::together(2, done)]);
    let other = say::steps([say::together(2, done)]);
    let wait = say::steps([say::gate(&room, "go"), say::text("the other")]);
    let a = room.fake("a").tool("hasty", hasty).tool("other", other).tool("wait", wait);
    room.config([("a", a.entry())]);
    room
}

#[test]
fn an_answer_that_waits_is_not_lost_to_a_retry_under_an_id_in_use() {
    each_of(Front::MODERN, |front| {
        let room = hasty();
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = call_of(&scene, "hasty");
        let round = scene.ask("tools/call", &call).round();
        scene.ask("tools/call", &call_of(&scene, "other")).result();
        let again = round.answered(&call, |_| RESULT.into());
        let answer = come_again_under_a_used_id(&room, &scene, &again);
        let done = scan::get(answer.result(), "done").map(String::from_utf8_lossy);
        assert_eq!(done.as_deref(), Some(r#"{"n":1.0}"#), "{answer}");
        let answered = || heard(&room).len() == 1;
        process::wait_until("the server has its answer as well", LIMIT, answered);
    });
}

/// The call is over, and what was asked for it is not answered: its server does not wait for ever.
#[test]
fn who_comes_again_for_an_answer_alone_leaves_no_question_open() {
    each_of(Front::MODERN, |front| {
        let room = hasty();
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = call_of(&scene, "hasty");
        let round = scene.ask("tools/call", &call).round();
        scene.ask("tools/call", &call_of(&scene, "other")).result();
        let answer = scene.ask("tools/call", &round.again(&call, &[]));
        assert!(scan::get(answer.result(), "done").is_some(), "{answer}");
        process::wait_until("the server is told", LIMIT, || heard(&room).len() == 1);
        let told = &heard(&room)[0];
        assert_eq!(scan::get(told, "id"), Some(&b"\"q-1\""[..]));
        assert!(scan::get(told, "error").is_some(), "{}", String::from_utf8_lossy(told));
    });
}

/// A token is the same however its scheme is written.
#[test]
fn who_shows_the_same_token_is_the_same() {
    let rows: [&[&str]; 2] = [
        &["Bearer one", "bearer one", "BEARER   one", "Bearer \t one  "],
        &["bEARER   one", "Bearer one"],
    ];
    for flags in [&[][..], &["--token", "one"]] {
        for row in rows {
            let room = Room::new();
            let ask = say::steps([say::ask(METHOD, PARAMS), say::text("done")]);
            room.config([("a", room.fake("a").tool("ask", ask).entry())]);
            let serve = room.serve(flags);
            let client = serve.modern(ABLE);
            let send = |id: usize, method: &str, params: &str, shown: &str| {
                let message = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
                );
                answer_to(&client, &message, shown)
            };
            send(0, "tools/list", "{}", row[0]).result();
            for (id, shown) in row.iter().enumerate() {
                let call = format!(r#"{{"name":"a.ask","arguments":{{"n":{id}}}}}"#);
                let round = send(10 + id, "tools/call", &call, row[0]).round();
                let again = round.answered(&call, |_| RESULT.into());
                let answer = send(20 + id, "tools/call", &again, shown);
                assert!(answer.to_string().contains("done"), "{shown:?} {flags:?}: {answer}");
            }
        }
    }
}

#[test]
fn who_shows_another_token_or_none_is_another() {
    let room = Room::new();
    let ask = say::steps([say::ask(METHOD, PARAMS), say::text("done")]);
    room.config([("a", room.fake("a").tool("ask", ask).entry())]);
    let serve = room.serve(&[]);
    let client = serve.modern(ABLE);
    client.list();
    let call = r#"{"name":"a.ask","arguments":{}}"#;
    let send = |id: usize, params: &str, shown: &str| {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        answer_to(&client, &message, shown)
    };
    let round = send(100, call, "Bearer one").round();
    let again = round.answered(call, |_| RESULT.into());
    for (id, shown) in ["Bearer two", "Bearer One", "Bearer on", "Bearer onee", "Bearer", ""]
        .into_iter()
        .enumerate()
    {
        let answer = send(200 + id, &again, shown);
        assert_eq!(answer.code(), -32602, "{shown:?}: {answer}");
    }
    assert_eq!(client.ask("tools/call", &again).code(), -32602, "without a token");
    assert!(heard(&room).is_empty(), "the server has heard nothing");
    let answer = send(300, &again, "Bearer one");
    assert!(answer.to_string().contains("done"), "{answer}");
}

/// The answer to this request, made with this token.
#[track_caller]
fn answer_to(client: &Modern, message: &str, shown: &str) -> Line {
    let id = client.start_with(message, &[("Authorization", shown)]);
    client.answer(&id, LIMIT)
}
