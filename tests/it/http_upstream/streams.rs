//! Streams of a server behind a URL: resumed where they broke, heard while nothing is asked.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::say::{self, net};
use kit::scene::{Front, each_front};
use kit::{LIMIT, ledger, process};
use serde_json::json;

#[test]
fn a_dropped_stream_is_resumed_and_the_answer_arrives() {
    each_front(|front| {
        let room = Room::new();
        let drop = |retry| {
            say::steps([
                say::progress(1),
                net::drop_stream(retry),
                say::gate(&room, "go"),
                say::result("@ARGS@"),
            ])
        };
        let a = room
            .fake("a")
            .tool("polite", drop(Some(50)))
            .tool("curt", drop(None))
            .tool("twice", {
                say::steps([net::drop_stream(Some(10)), say::pause(100), say::result("@ARGS@")])
            })
            .http(json!({ "events": true, "prime": true }));
        room.config([("a", a.over(Upstream::Http))]);
        let scene = room.open_ready(front, &[]);
        let ids = ["polite", "curt", "twice"].map(|tool| {
            let arguments = format!(r#"{{"tool":"{tool}"}}"#);
            (scene.begin(&scene.tool("a", tool), &arguments), arguments)
        });
        let resumed = || {
            let heads = ledger::heads(&room.ledger("a"));
            heads.iter().filter(|head| head.header("last-event-id").is_some()).count() >= 3
        };
        process::wait_until("it comes back for the rest", LIMIT, resumed);
        room.open_gate("go");
        for (id, arguments) in ids {
            assert_eq!(scene.answer(&id, LIMIT).result(), arguments.as_bytes());
        }
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 3, "nothing was sent again");
    });
}

#[test]
fn a_stream_that_breaks_is_resumed_too() {
    let room = Room::new();
    let broken = say::steps([
        say::progress(1),
        net::hang_up(),
        say::pause(50),
        say::result(r#"{"late":1.0}"#),
    ]);
    let a = room.fake("a").tool("broken", broken).http(json!({ "events": true, "prime": true }));
    room.config([("a", a.over(Upstream::Http))]);
    let scene = room.open_ready(Front::Stdio, &[]);
    let call = r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"a:broken","_meta":{"progressToken":"t"}}}"#;
    scene.send_line(call);
    let answer = scene.answer(b"\"b\"", LIMIT);
    // With event ids nothing is lost by a broken connection.
    assert_eq!(answer.result(), br#"{"late":1.0}"#);
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 1);
}

#[test]
fn a_stream_that_cannot_be_resumed_fails_its_call() {
    let room = Room::new();
    let lost = say::steps([say::progress(1), net::forget_sessions(), net::hang_up()]);
    let a = room.fake("a").tool("lost", lost).tool("echo", say::echo());
    room.config([("a", a.http(json!({ "events": true })).over(Upstream::Http))]);
    let scene = room.open_ready(Front::Stdio, &[]);
    let answer = scene.call("a:lost", "{}");
    assert!(String::from_utf8_lossy(answer.error()).contains("may have run"), "{answer}");
    let back = || scene.call("a:echo", "{}").try_result().is_some();
    process::wait_until("the next call is served", LIMIT, back);
}

#[test]
fn the_listening_stream_is_opened_again_when_it_ends() {
    each_front(|front| {
        for end in [net::push_hang_up(), net::push_detach()] {
            let room = Room::new();
            let (end_it, fresh) = (say::definition("end"), say::definition("fresh"));
            let change = say::steps([
                say::change_tools(&[&end_it, &fresh]),
                say::changed("tools"),
                say::text("done"),
            ]);
            let end = say::steps([end, say::text("done")]);
            let a = room.fake("a").tool("end", end).tool("change", change);
            room.config([("a", a.over(Upstream::Http))]);
            let scene = room.open_ready(front, &[]);
            let gets =
                || ledger::heads(&room.ledger("a")).iter().filter(|h| h.method() == "GET").count();
            process::wait_until("it listens", LIMIT, || gets() == 1);
            scene.call(&scene.tool("a", "end"), "{}").result();
            process::wait_until("it listens again", LIMIT, || gets() >= 2);
            scene.call(&scene.tool("a", "change"), "{}").result();
            let expected = [scene.tool("a", "end"), scene.tool("a", "fresh")];
            scene.wait_list("the change was heard", LIMIT, |names| names == expected);
            assert_eq!(ledger::with_method(&room.ledger("a"), "initialize").len(), 1);
        }
    });
}

#[test]
fn what_comes_on_the_listening_stream_is_never_taken_for_an_answer() {
    let room = Room::new();
    let forged = say::push(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"forged":true}}"#);
    let work = say::steps([forged, say::pause(50), say::result(r#"{"true":1.0}"#)]);
    room.config([("a", room.fake("a").tool("work", work).over(Upstream::Http))]);
    let scene = room.open_ready(Front::Stdio, &[]);
    let answer = scene.call("a:work", "{}");
    // The transport allows an answer there only for a resumed stream; one outcome in any case.
    assert!(answer.try_result().is_some(), "{answer}");
    scene.ask("ping", "{}").result();
    let more = scene.try_wait_for(std::time::Duration::ZERO, |line| line.id().is_some());
    assert_eq!(more, None, "an outcome too many");
}

#[test]
fn a_stream_of_one_call_cannot_answer_another() {
    let room = Room::new();
    let hold = say::steps([say::gate(&room, "go"), say::result(r#"{"held":1}"#)]);
    let stray = r#"{"jsonrpc":"2.0","id":100000001,"result":{"stray":true}}"#;
    let mixed = say::steps([say::line(stray), say::result(r#"{"own":1}"#)]);
    let a = room.fake("a").tool("hold", hold).tool("mixed", mixed);
    room.config([("a", a.over(Upstream::Http))]);
    let scene = room.open_ready(Front::Stdio, &[]);
    let id = scene.begin("a:hold", "{}");
    assert_eq!(scene.call("a:mixed", "{}").result(), br#"{"own":1}"#);
    room.open_gate("go");
    assert_eq!(scene.answer(&id, LIMIT).result(), br#"{"held":1}"#);
}
