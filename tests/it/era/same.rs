//! Between a client and a server of the stateless era hardly a byte changes.

use std::time::Duration;

use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::each_modern;
use kit::{LIMIT, SOON, ledger, say, scan};

#[test]
fn everything_in_params_but_the_name_arrives_as_written() {
    each_modern(|front, upstream| {
        let room = Room::new();
        let a = room.fake("a").tool("mirror", say::mirror()).resource("x://1", "1");
        room.config([("a", a.prompt("p", "P").over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let meta = scene.modern().stamp().meta();
        let tool = scene.tool("a", "mirror");
        for (method, params) in [
            (
                "tools/call",
                format!(
                    "{{ \"_meta\" : {meta}\t,\"x-unknown\":[1e400,{{\"a\":1,\"a\":2}}], \"arguments\" : {{ \"n\":1.0 }} ,\"name\":\"{tool}\" }}"
                ),
            ),
            ("resources/read", format!(r#"{{"more":[1.10],"_meta":{meta}, "uri" : "x://1" }}"#)),
            (
                "prompts/get",
                format!(r#"{{"_meta":{meta},"name":"p","arguments":{{"topic":"\u0061"}}}}"#),
            ),
        ] {
            scene.ask(method, &params).result();
            let asked = ledger::with_method(&room.ledger("a"), method);
            let arrived = scan::get(asked.last().expect("asked"), "params");
            let arrived = arrived.map(|raw| String::from_utf8_lossy(raw).into_owned());
            assert_eq!(arrived.as_deref(), Some(&*params.replace(&tool, "mirror")), "{method}");
        }
    });
}

#[test]
fn progress_comes_back_under_the_clients_own_token() {
    each_modern(|front, upstream| {
        let room = Room::new();
        let work = say::steps([say::progress(3), say::text("done")]);
        room.config([("a", room.fake("a").tool("work", work).over(upstream))]);
        let scene = room.open_ready(front, &[]);
        for token in ["\"t\"", "7", "\"caf\\u00e9\""] {
            let tool = scene.tool("a", "work");
            let params = format!(
                r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":{token}}}}}"#
            );
            let id = scene.start("tools/call", &params);
            for step in 1..=3 {
                let line = scene.notification("notifications/progress", SOON);
                let expected = format!(
                    r#"{{"progressToken":{token},"progress":{step}.0,"total": 3,"message":"\u0073tep"}}"#
                );
                let params = scan::get(&line.0, "params").unwrap_or_default();
                assert_eq!(String::from_utf8_lossy(params), expected);
            }
            scene.answer(&id, SOON).result();
        }
    });
}

#[test]
fn a_server_sees_two_requests_for_two_rounds_and_its_questions_unchanged() {
    each_modern(|front, upstream| {
        let room = Room::new();
        let asked = r#"{"resultType":"input_required","inputRequests":{"__main__:k":{"method":"elicitation/create","params":{ "message":"\u0068i","requestedSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1E2}}} }}},"requestState":"s \/","_meta":{"x":1.0}}"#;
        let steps = say::modern::rounds([
            say::steps([say::result(asked)]),
            say::steps([say::text("fine")]),
        ]);
        room.config([("a", room.fake("a").tool("ask", steps).over(upstream))]);
        let scene = room.open_with(front, &[], super::ABLE);
        scene.list();
        let answer = scene.call(&scene.tool("a", "ask"), "{}");
        // But for the state, which is sealed on the way: it is this client's and this request's.
        let state = scan::get(answer.result(), "requestState").expect("a state");
        let state = String::from_utf8_lossy(state);
        assert_ne!(state, r#""s \/""#);
        let expected = asked.replace(r#""s \/""#, &state);
        assert_eq!(String::from_utf8_lossy(answer.result()), expected);
        let call = format!(r#"{{"name":"{}","arguments":{{}}}}"#, scene.tool("a", "ask"));
        let again =
            kit::modern::round::again(&call, &[("__main__:k", r#"{ "action":"decline" }"#)], None);
        let id = scene.start("tools/call", &again);
        scene.answer(&id, LIMIT).result();
        let stray = scene.try_wait_for(Duration::ZERO, |_| true);
        assert_eq!(stray, None);
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 2);
    });
}
