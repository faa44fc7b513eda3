//! FR-004 … FR-009, PROTO-1, SC-006, US3-3, EDGE-1, K6, K18 over every front and upstream.

use kit::mcp::Speak;
use kit::room::Room;
use kit::say::Place;
use kit::scene::each;
use kit::{LIMIT, SOON, ledger, process, say, scan};
use serde_json::json;

use crate::faults::{LATE, assert_own_error};

#[test]
fn fr_004_fr_005_one_sorted_list_with_every_tool_and_only_its_name_changed() {
    each(|front, upstream| {
        let room = Room::threaded();
        let odd = r#"{ "title":"\u0054","name":"odd","inputSchema":{"type":"object","n":1.0},"_meta":{"a":1e2} }"#;
        let pages = json!([
            { "at": null, "tools": [say::definition("z"), odd], "next": "" },
            { "at": "", "tools": [say::definition("a")] },
        ]);
        let one = room.fake("one").pages(pages).tool("*", say::echo());
        let two = room.fake("two").tool("z", say::echo());
        room.config([("Two", two.over(upstream)), ("one", one.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let list = scene.list();
        let names: Vec<&str> = list.iter().map(|tool| tool.name.as_str()).collect();
        let expected = [("Two", "z"), ("one", "a"), ("one", "odd"), ("one", "z")];
        let expected = expected.map(|(server, tool)| scene.tool(server, tool));
        assert_eq!(names, expected);
        let name = scan::quote(&scene.tool("one", "odd"));
        let raw = scan::replace(odd.as_bytes(), "name", name.as_bytes()).expect("it has a name");
        assert_eq!(String::from_utf8_lossy(&list[2].raw), String::from_utf8_lossy(&raw));
        let one = scene.ask("tools/list", "{}");
        assert_eq!(one.result(), scene.ask("tools/list", "{}").result(), "the same bytes");
    });
}

#[test]
fn fr_006_sc_006_a_call_reaches_its_own_server_under_the_original_name() {
    each(|front, upstream| {
        let room = Room::threaded();
        let fake = |name: &str| room.fake(name).tool("search", say::echo()).over(upstream);
        room.config([("one", fake("one")), ("two", fake("two"))]);
        let scene = room.open_ready(front, &[]);
        scene.assert_echo("one", "search", r#"{"q":1}"#);
        scene.assert_echo("two", "search", r#"{"q":2}"#);
        for server in ["one", "two"] {
            let calls = ledger::calls(&room.ledger(server));
            assert_eq!(calls.len(), 1);
            assert_eq!(scan::path(&calls[0], &["params", "name"]), Some(&b"\"search\""[..]));
        }
        scene.assert_only_protocol();
    });
}

#[test]
fn proto_1_unknown_tools_are_refused_and_errors_come_through_byte_for_byte() {
    each(|front, upstream| {
        let room = Room::threaded();
        let error = r#"{ "data":[1.0, 1e400,"\ud800"] ,"message":"caf\u00e9", "code":-32602,"unknown":{} }"#;
        let a = room.fake("a").tool("bad", say::steps([say::error(error)]));
        let fault = r#"{"content":[],"isError":true,"_meta":{"n":1.0}}"#;
        let a = a.tool("fault", say::steps([say::result(fault)]));
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        for unknown in ["nope", ""] {
            let name = scene.tool("a", unknown);
            let answer = scene.call(&name, "{}");
            assert_eq!(answer.code(), -32601, "{answer}");
            assert_eq!(answer.message(), format!("Tool not found: {name}"));
        }
        let answer = scene.call("nothing", "{}");
        assert_eq!(answer.code(), -32602, "{answer}");
        assert_eq!(answer.message(), "Tool name must be prefixed with server key: nothing");
        let answer = scene.call(&scene.tool("a", "bad"), "{}");
        assert_eq!(String::from_utf8_lossy(answer.error()), error);
        let answer = scene.call(&scene.tool("a", "fault"), "{}");
        assert_eq!(String::from_utf8_lossy(answer.result()), fault);
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 2, "a refused call reaches nobody");
    });
}

#[test]
fn edge_1_large_arguments_and_results_pass() {
    const SIZE: usize = 20 << 20;
    let _turn = crate::ONE_AT_A_TIME.lock();
    each(|front, upstream| {
        let room = Room::threaded();
        let a = room.fake("a").tool("mirror", say::mirror());
        let a = a.tool("huge", say::steps([say::huge(SIZE, Place::First)]));
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.call(&scene.tool("a", "huge"), "{}");
        let head = r#"{"content":[{"type":"text","text":""#.len();
        assert_eq!(answer.result().len(), head + SIZE + "\"}]}".len());
        // A request body over HTTP has a limit of its own, so this one is smaller.
        let arguments = format!(r#"{{"text":"{}"}}"#, "y".repeat(3 << 20));
        let answer = scene.call(&scene.tool("a", "mirror"), &arguments);
        assert!(answer.result() == arguments.as_bytes(), "the bytes differ");
    });
}

#[test]
fn us3_3_k6_a_call_past_its_deadline_is_an_error_and_a_cancellation() {
    each(|front, upstream| {
        let room = Room::threaded();
        let a = room.fake("a").tool("never", say::never()).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &["--call-timeout", "1"]);
        let id = scene.begin(&scene.tool("a", "never"), "{}");
        scene.assert_echo("a", "echo", "{}");
        assert_own_error(&scene.answer(&id, SOON), LATE);
        // Over HTTP the two may arrive in either order.
        let calls = ledger::calls(&room.ledger("a"));
        let never = |call: &&Vec<u8>| scan::path(call, &["params", "name"]) == Some(b"\"never\"");
        let call = calls.iter().find(never).expect("the call arrived");
        let own = scan::get(call, "id").expect("an id").to_vec();
        let told = || {
            let cancels = ledger::with_method(&room.ledger("a"), "notifications/cancelled");
            let ids = cancels.iter().filter_map(|c| scan::path(c, &["params", "requestId"]));
            ids.into_iter().any(|id| id == own)
        };
        process::wait_until("the server is told", LIMIT, told);
        scene.assert_echo("a", "echo", "{}");
    });
}

#[test]
fn k18_a_cancelled_call_has_at_most_one_outcome_and_frees_its_id() {
    each(|front, upstream| {
        let room = Room::threaded();
        let stubborn = say::steps([say::until_cancelled(), say::text("anyway")]);
        let a = room.fake("a").tool("stubborn", stubborn).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let id = "\"to be cancelled\"";
        scene.send_line(kit::mcp::call(id, &scene.tool("a", "stubborn"), "{}"));
        let there = || ledger::calls(&room.ledger("a")).len() == 1;
        process::wait_until("the server has it", LIMIT, there);
        scene.cancel(id.as_bytes());
        let told = || !ledger::with_method(&room.ledger("a"), "notifications/cancelled").is_empty();
        process::wait_until("the server is told", LIMIT, told);
        scene.assert_echo("a", "echo", "{}");
        scene.assert_echo("a", "echo", "{}");
        let answered = || {
            let zero = std::time::Duration::ZERO;
            scene.try_wait_for(zero, |line| line.is_answer_to(id.as_bytes())).is_some()
        };
        assert!(!(answered() && answered()), "two outcomes");
        scene.send_line(kit::mcp::call(id, &scene.tool("a", "echo"), "{}"));
        scene.answer(id.as_bytes(), LIMIT).result();
    });
}

#[test]
fn fr_006_many_calls_at_once_are_not_mixed_up_and_none_holds_up_another() {
    each(|front, upstream| {
        let room = Room::threaded();
        let hold = say::steps([say::gate(&room, "go"), say::result("@ARGS@")]);
        let a = room.fake("a").tool("hold", hold).tool("mirror", say::mirror());
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let (hold, mirror) = (scene.tool("a", "hold"), scene.tool("a", "mirror"));
        let ids: Vec<_> =
            (0..40).map(|n| (n, scene.begin(&hold, &format!(r#"{{"n":{n}}}"#)))).collect();
        for n in 0..100 {
            let arguments = format!(r#"{{"m":{n}}}"#);
            assert_eq!(scene.call(&mirror, &arguments).result(), arguments.as_bytes());
        }
        room.open_gate("go");
        for (n, id) in ids {
            let expected = format!(r#"{{"n":{n}}}"#);
            assert_eq!(scene.answer(&id, LIMIT).result(), expected.as_bytes());
        }
    });
}

#[test]
fn fr_009_a_server_that_goes_harms_nobody_and_its_tools_leave() {
    each(|front, upstream| {
        let room = Room::threaded();
        let a = room.fake("a").tool("never", say::never()).tool("echo", say::echo());
        let b = room.fake("b").tool("echo", say::echo());
        room.config([("a", a.over(upstream)), ("b", b.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let id = scene.begin(&scene.tool("a", "never"), "{}");
        let there = || ledger::calls(&room.ledger("a")).len() == 1;
        process::wait_until("the call is open", LIMIT, there);
        // It must not come back: this is about what is left without it.
        std::fs::write(room.path("a.script.json"), "gone").expect("the room can be written");
        let [pid] = ledger::started(&room.ledger("a"))[..] else { panic!("one process") };
        process::kill(pid, rustix::process::Signal::KILL);
        assert_own_error(&scene.answer(&id, SOON), &["may have run"]);
        scene.assert_echo("b", "echo", "{}");
        let left = [scene.tool("b", "echo")];
        scene.wait_list("its tools leave", LIMIT, |names| names == left);
        scene.call_within(&scene.tool("a", "echo"), "{}", SOON).error();
        scene.process().wait_stderr(&["a"], LIMIT);
        scene.assert_echo("b", "echo", "{}");
    });
}

#[test]
fn fr_012_a_late_server_joins_with_list_changed() {
    each(|front, upstream| {
        let room = Room::threaded();
        let wait = say::steps([say::gate(&room, "go"), say::usual()]);
        let late = room.fake("late").on("initialize", wait).tool("echo", say::echo());
        let ok = room.fake("ok").tool("echo", say::echo());
        room.config([("late", late.over(upstream)), ("ok", ok.over(upstream))]);
        let scene = room.open(front, &["--start-timeout", "1"]);
        scene.wait_list("the first", LIMIT, |names| names == [scene.tool("ok", "echo")]);
        room.open_gate("go");
        let changed = "notifications/tools/list_changed";
        scene.wait_for("list_changed", LIMIT, |line| line.is_notification(changed));
        scene.assert_echo("late", "echo", "{}");
    });
}
