//! The state a client carries for a call that waits: it opens nothing but that call.

use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::{LIMIT, ledger, say, scan};

use super::{ABLE, QUESTIONS};

const RESULT: &str = QUESTIONS[1].2;

/// Two tools, a prompt and a resource that ask the same.
fn house() -> Room {
    let room = Room::new();
    let (method, params, _) = QUESTIONS[1];
    let ask = || say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)]);
    let a = room.fake("a").tool("ask", ask()).tool("other", ask()).tool("echo", say::echo());
    let a = a.prompt("ask", "P").get("ask", ask()).resource("x://1", "1").read("x://1", ask());
    room.config([("a", a.entry())]);
    room
}

#[test]
fn a_state_that_was_changed_or_is_used_for_something_else_is_refused_and_the_call_unharmed() {
    each_of(Front::MODERN, |front| {
        let room = house();
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let tool = |name: &str| scene.tool("a", name);
        let call =
            |name: &str, n: &str| format!(r#"{{"name":"{}","arguments":{{"n":{n}}}}}"#, tool(name));
        let right = call("ask", "1.0");
        let round = scene.ask("tools/call", &right).round();
        let key = round.only().key.clone();
        let state = round.state.clone().expect("a state");
        let with = |params: &str, state: &str| {
            kit::modern::round::again(params, &[(&key, RESULT)], Some(state))
        };
        let turned = |at: usize| {
            let mut bytes = state.clone().into_bytes();
            bytes[at] = if bytes[at] == b'a' { b'b' } else { b'a' };
            String::from_utf8(bytes).expect("a state is text")
        };
        let last = state.len() - 2;
        let get = r#"{"name":"ask","arguments":{"n":1.0}}"#;
        let cases = [
            ("its first character", "tools/call", with(&right, &turned(1))),
            ("one in the middle", "tools/call", with(&right, &turned(last / 2))),
            ("its last character", "tools/call", with(&right, &turned(last))),
            (
                "something behind it",
                "tools/call",
                with(&right, &format!("{}-TAMPERED\"", &state[..=last])),
            ),
            ("half of it", "tools/call", with(&right, &format!("{}\"", &state[..last / 2]))),
            ("nothing in it", "tools/call", with(&right, "\"\"")),
            ("anything", "tools/call", with(&right, "\"garbage\"")),
            ("a number", "tools/call", with(&right, "7")),
            ("an object", "tools/call", with(&right, "{}")),
            ("another tool", "tools/call", with(&call("other", "1.0"), &state)),
            ("other arguments", "tools/call", with(&call("ask", "2.0"), &state)),
            (
                "no arguments",
                "tools/call",
                with(&format!(r#"{{"name":"{}"}}"#, tool("ask")), &state),
            ),
            ("another method", "prompts/get", with(get, &state)),
            ("yet another method", "resources/read", with(r#"{"uri":"x://1"}"#, &state)),
        ];
        for (what, method, params) in cases {
            let answer = scene.ask(method, &params);
            assert_eq!(answer.code(), -32602, "{what}: {answer}");
        }
        scene.assert_echo("a", "echo", "{}");
        let answers = |room: &Room| {
            let all = ledger::received(&room.ledger("a"));
            all.iter().filter(|line| scan::get(line, "method").is_none()).count()
        };
        assert_eq!(answers(&room), 0, "the server has heard nothing");
        let answer = scene.ask("tools/call", &with(&right, &state));
        let heard = scan::path(answer.result(), &["heard", "result"]).map(String::from_utf8_lossy);
        assert_eq!(heard.as_deref(), Some(RESULT), "{answer}");
        let answer = scene.ask("tools/call", &with(&right, &state));
        assert_eq!(answer.code(), -32602, "a second time: {answer}");
        assert_eq!(answers(&room), 1);
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 2, "one ask and one echo");
    });
}

#[test]
fn a_state_of_another_process_is_refused() {
    let (one, two) = (house(), house());
    each_of(Front::MODERN, |front| {
        let scene = one.open_with(front, &[], ABLE);
        let other = two.open_with(front, &[], ABLE);
        scene.list();
        other.list();
        let call = format!(r#"{{"name":"{}","arguments":{{}}}}"#, scene.tool("a", "ask"));
        let round = scene.ask("tools/call", &call).round();
        other.ask("tools/call", &call).round();
        let again = round.answered(&call, |_| RESULT.into());
        assert_eq!(other.ask("tools/call", &again).code(), -32602);
        scene.ask("tools/call", &again).result();
    });
}

#[test]
fn a_state_says_nothing_about_the_call() {
    let room = house();
    let scene = room.open_with(Front::ModernHttp, &[], ABLE);
    scene.list();
    let call = r#"{"name":"a.ask","arguments":{"password":"hunter2"}}"#;
    let state = scene.ask("tools/call", call).round().state.expect("a state");
    for word in ["hunter2", "password", "a.ask", "ask-1"] {
        assert!(!state.contains(word), "{state}");
    }
    let other = room.open_with(Front::ModernHttp, &[], ABLE);
    let again = other.ask("tools/call", call).round().state.expect("a state");
    assert_ne!(state, again, "two calls have two states");
}

#[test]
fn a_state_two_come_with_at_once_serves_one() {
    each_of(Front::MODERN, |front| {
        let room = house();
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = format!(r#"{{"name":"{}","arguments":{{}}}}"#, scene.tool("a", "ask"));
        let round = scene.ask("tools/call", &call).round();
        let again = round.answered(&call, |_| RESULT.into());
        let ids = [(); 4].map(|()| scene.start("tools/call", &again));
        let answers = ids.map(|id| scene.answer(&id, LIMIT));
        let served = answers.iter().filter(|answer| answer.try_result().is_some()).count();
        assert_eq!(served, 1, "{answers:?}");
        let answered = ledger::received(&room.ledger("a"));
        let answered = answered.iter().filter(|line| scan::get(line, "method").is_none());
        assert_eq!(answered.count(), 1, "the server has heard one answer");
    });
}

/// The state of a server of the stateless era is its own: what it gets back is what it wrote. Its
/// client carries it sealed.
#[test]
fn the_state_of_a_server_of_this_era_goes_back_as_it_came() {
    kit::scene::each_modern(|front, upstream| {
        let room = Room::new();
        let state = r#""2:caf\u00e9 \/ == {}""#;
        let ask = say::modern::rounds([
            say::steps([say::modern::input_required(&[("k", "roots/list", "")], Some(state))]),
            say::steps([say::text("without its state")]),
            say::steps([say::result(r#"{"state":@STATE@,"heard":@RESPONSES@,"args":@ARGS@}"#)]),
        ]);
        room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = format!(r#"{{"name":"{}","arguments":{{ "n":1.0}}}}"#, scene.tool("a", "ask"));
        let round = scene.ask("tools/call", &call).round();
        assert_ne!(round.state.as_deref(), Some(state), "it is sealed");
        assert_eq!(round.only().key, "k");
        let answers = r#"{ "roots":[ ] }"#;
        let answer = scene.ask("tools/call", &round.again(&call, &[("k", answers)]));
        let expected =
            format!(r#"{{"state":{state},"heard":{{"k":{answers}}},"args":{{ "n":1.0}}}}"#);
        assert_eq!(String::from_utf8_lossy(&answer.payload()), expected);
    });
}

/// However long it is: it is moved, not copied, from some length on.
#[test]
fn a_long_state_of_a_server_goes_back_as_it_came() {
    kit::scene::each_modern(|front, upstream| {
        let room = Room::new();
        let ask = |length: usize| {
            let state = format!("\"2:{}\"", "s".repeat(length));
            let asked = [("k", "roots/list", "")];
            say::modern::rounds([
                say::steps([say::modern::input_required(&asked, Some(&state))]),
                say::steps([say::text("without its state")]),
                say::steps([say::result(r#"{"state":@STATE@}"#)]),
            ])
        };
        // Over HTTP a request may be four megabytes long, the sealed state in it included.
        let lengths = [300_000, 1_500_000, 10_000_000];
        let lengths = &lengths[..if front.is_stdio() { 3 } else { 2 }];
        let a = lengths
            .iter()
            .fold(room.fake("a"), |a, length| a.tool(&format!("ask-{length}"), ask(*length)));
        room.config([("a", a.tool("echo", say::echo()).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        for length in lengths {
            let name = scene.tool("a", &format!("ask-{length}"));
            let call = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
            let ask = |params: &str| scene.answer(&scene.start("tools/call", params), LIMIT * 4);
            let round = ask(&call).round();
            let answer = ask(&round.again(&call, &[("k", r#"{"roots":[]}"#)]));
            let state = scan::get(answer.result(), "state").expect("the state");
            assert_eq!(state.len(), length + 4, "{front:?} {upstream:?}");
            assert!(state.starts_with(b"\"2:s") && state.ends_with(b"s\""));
        }
        scene.assert_echo("a", "echo", "{}");
    });
}

#[test]
fn the_state_of_a_server_opens_nothing_at_another_nor_for_another_request() {
    kit::scene::each_modern(|front, upstream| {
        let room = Room::new();
        let ask = || {
            say::modern::rounds([
                say::steps([say::modern::input_required(
                    &[("k", "roots/list", "")],
                    Some("\"2:s\""),
                )]),
                say::steps([say::text("without its state")]),
                say::steps([say::text("with its state")]),
            ])
        };
        let a = room.fake("a").tool("ask", ask()).tool("other", ask()).over(upstream);
        let b = room.fake("b").tool("ask", ask()).over(upstream);
        room.config([("a", a), ("b", b)]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = |server: &str, tool: &str, n: u8| {
            format!(r#"{{"name":"{}","arguments":{{"n":{n}}}}}"#, scene.tool(server, tool))
        };
        let right = call("a", "ask", 1);
        let round = scene.ask("tools/call", &right).round();
        let answers = [("k", r#"{"roots":[]}"#)];
        for wrong in [call("b", "ask", 1), call("a", "other", 1), call("a", "ask", 2)] {
            let answer = scene.ask("tools/call", &round.again(&wrong, &answers));
            assert_eq!(answer.code(), -32602, "{wrong}: {answer}");
        }
        assert_eq!(ledger::calls(&room.ledger("b")).len(), 0, "it was not even asked");
        let bare = kit::modern::round::again(&right, &answers, Some("\"2:s\""));
        assert_eq!(
            scene.ask("tools/call", &bare).code(),
            -32602,
            "the state as the server wrote it"
        );
        let answer = scene.ask("tools/call", &round.again(&right, &answers));
        assert!(answer.to_string().contains("with its state"), "{answer}");
    });
}

/// A client that keeps its requests as values writes them anew: in another order, with other space.
#[test]
fn a_request_that_is_spelt_in_another_way_is_the_same() {
    each_of(Front::MODERN, |front| {
        let room = house();
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let name = scene.tool("a", "ask");
        let call = format!(
            r#"{{"name":"{name}","arguments":{{"a":{{"x":"\u00e9/","y":[1,{{"p":1,"q":2}}]}},"b":2}}}}"#
        );
        let round = scene.ask("tools/call", &call).round();
        let anew = format!(
            r#"{{ "arguments":{{"b":2,"a":{{"y":[1, {{"q":2,"p":1}}],"x":"é\/"}}}}, "name":"{name}" }}"#
        );
        let answer = scene.ask("tools/call", &round.answered(&anew, |_| RESULT.into()));
        let heard = scan::path(answer.result(), &["heard", "result"]).map(String::from_utf8_lossy);
        assert_eq!(heard.as_deref(), Some(RESULT), "{answer}");
    });
}

#[test]
fn answers_that_are_no_object_are_refused() {
    let check = |front: Front, entry: &dyn Fn(&Room) -> serde_json::Value| {
        let room = Room::new();
        room.config([("a", entry(&room))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = format!(r#"{{"name":"{}","arguments":{{}}}}"#, scene.tool("a", "ask"));
        let round = scene.ask("tools/call", &call).round();
        let state = round.state.as_deref().expect("a state");
        for answers in ["7", "null", "[]", "\"x\"", "true"] {
            for state in [format!(r#","requestState":{state}"#), String::new()] {
                let open = &call[..call.len() - 1];
                let again = format!(r#"{open},"inputResponses":{answers}{state}}}"#);
                let answer = scene.ask("tools/call", &again);
                assert_eq!(answer.code(), -32602, "{again}: {answer}");
            }
        }
        let answer = scene.ask("tools/call", &round.answered(&call, |_| RESULT.into()));
        assert!(answer.to_string().contains("done"), "{answer}");
    };
    let (method, params, _) = QUESTIONS[1];
    each_of(Front::MODERN, |front| {
        check(front, &|room| {
            let ask = say::steps([say::ask(method, params), say::text("done")]);
            room.fake("a").tool("ask", ask).entry()
        });
        check(front, &|room| {
            let ask = say::modern::rounds([
                say::steps([say::modern::input_required(
                    &[("k", method, params)],
                    Some("\"2:s\""),
                )]),
                say::steps([say::text("without its state")]),
                say::steps([say::text("done")]),
            ]);
            room.fake("a").tool("ask", ask).over(kit::config::Upstream::ModernStdio)
        });
    });
}
