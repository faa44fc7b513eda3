//! Results that ask become questions to a session; the request is made again with its answers.

use std::collections::HashSet;
use std::time::Duration;

use kit::mcp::Speak;
use kit::modern::stamp::VERSION;
use kit::room::Room;
use kit::scene::{Scene, each_legacy_to_modern};
use kit::{LIMIT, SOON, ledger, say, scan};
use serde_json::Value;

use super::{ABLE, QUESTIONS};

const STATE: &str = r#""2:caf\u00e9 \/ ==""#;

/// Asks these questions first, and then tells what it has heard.
fn asks(questions: &[(&str, &str, &str)]) -> Value {
    let heard = say::steps([say::result(r#"{"state":@STATE@,"heard":@RESPONSES@,"args":@ARGS@}"#)]);
    say::modern::rounds([
        say::steps([say::modern::input_required(questions, Some(STATE))]),
        say::steps([say::text("without its state")]),
        heard,
    ])
}

fn open(room: &Room, front: kit::scene::Front) -> Scene {
    let scene = room.open_with(front, &[], ABLE);
    scene.list();
    scene
}

#[test]
fn what_a_result_asks_is_asked_of_the_session_and_the_answer_goes_back_byte_for_byte() {
    each_legacy_to_modern(|front, upstream| {
        for (method, params, result) in QUESTIONS {
            let room = Room::new();
            let ask = asks(&[("__main__:k\u{e9}y", method, params)]);
            room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
            let scene = open(&room, front);
            let id = scene.begin(&scene.tool("a", "ask"), r#"{ "n":1.0 }"#);
            let question = scene.question(method, LIMIT);
            let asked = scan::get(&question.0, "params").map(String::from_utf8_lossy);
            assert_eq!(asked.as_deref(), Some(params), "{method}");
            scene.reply(&question, &format!(r#""result":{result}"#));
            let answer = scene.answer(&id, LIMIT);
            let expected = format!(
                "{{\"state\":{STATE},\"heard\":{{\"__main__:k\u{e9}y\":{result}}},\"args\":{{ \"n\":1.0 }}}}"
            );
            assert_eq!(String::from_utf8_lossy(&answer.payload()), expected, "{method}");
            let calls = ledger::calls(&room.ledger("a"));
            assert_eq!(calls.len(), 2);
            let ids: Vec<_> = calls.iter().map(|call| scan::get(call, "id")).collect();
            assert_ne!(ids[0], ids[1], "a request of its own");
            for call in &calls {
                assert!(scan::path(call, &["params", "_meta", VERSION]).is_some());
            }
            scene.assert_only_protocol();
        }
    });
}

#[test]
fn prompts_and_resources_may_ask_as_well() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let (method, params, result) = QUESTIONS[1];
        let ask = || asks(&[("k", method, params)]);
        let a = room.fake("a").prompt("p", "P").get("p", ask()).resource("x://1", "1");
        room.config([("a", a.read("x://1", ask()).over(upstream))]);
        let scene = open(&room, front);
        for (asked, request) in
            [("prompts/get", r#"{"name":"p"}"#), ("resources/read", r#"{"uri":"x://1"}"#)]
        {
            let id = scene.start(asked, request);
            let question = scene.question(method, LIMIT);
            scene.reply(&question, &format!(r#""result":{result}"#));
            let answer = scene.answer(&id, LIMIT);
            let heard = scan::path(answer.result(), &["heard", "k"]).map(String::from_utf8_lossy);
            assert_eq!(heard.as_deref(), Some(result), "{asked}: {answer}");
        }
    });
}

#[test]
fn several_questions_are_asked_at_once_and_answered_in_any_order() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let keys = ["one", "two", "three"];
        let all: Vec<_> = keys
            .iter()
            .zip(QUESTIONS)
            .map(|(key, (method, params, _))| (*key, method, params))
            .collect();
        room.config([("a", room.fake("a").tool("ask", asks(&all)).over(upstream))]);
        let scene = open(&room, front);
        let id = scene.begin(&scene.tool("a", "ask"), "{}");
        let questions = QUESTIONS.map(|(method, ..)| scene.question(method, LIMIT));
        for (question, (.., result)) in questions.iter().zip(QUESTIONS).rev() {
            assert_eq!(ledger::calls(&room.ledger("a")).len(), 1, "not before all are answered");
            scene.reply(question, &format!(r#""result":{result}"#));
        }
        let answer = scene.answer(&id, LIMIT);
        for (key, (.., result)) in keys.iter().zip(QUESTIONS) {
            let heard = scan::path(answer.result(), &["heard", key]).map(String::from_utf8_lossy);
            assert_eq!(heard.as_deref(), Some(result), "{key}: {answer}");
        }
    });
}

#[test]
fn a_server_may_ask_in_several_rounds_or_only_want_to_be_called_again() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let (method, params, result) = QUESTIONS[1];
        let round = |state: &str, asks: bool| {
            let questions = if asks { &[("k", method, params)][..] } else { &[] };
            say::steps([say::modern::input_required(questions, Some(state))])
        };
        let ask = say::modern::rounds([
            round("\"1:a\"", true),
            round("\"2:b\"", false),
            round("\"3:c\"", true),
            say::steps([say::result(r#"{"state":@STATE@}"#)]),
        ]);
        room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
        let scene = open(&room, front);
        let id = scene.begin(&scene.tool("a", "ask"), "{}");
        for _ in 0..2 {
            let question = scene.question(method, LIMIT);
            scene.reply(&question, &format!(r#""result":{result}"#));
        }
        let answer = scene.answer(&id, LIMIT);
        assert_eq!(answer.payload(), br#"{"state":"3:c"}"#, "{answer}");
        let calls = ledger::calls(&room.ledger("a"));
        let said = |call: &Vec<u8>, key: &str| {
            scan::path(call, &["params", key]).map(|raw| String::from_utf8_lossy(raw).into_owned())
        };
        let states: Vec<_> = calls.iter().map(|call| said(call, "requestState")).collect();
        let expected = [None, Some("\"1:a\""), Some("\"2:b\""), Some("\"3:c\"")];
        assert_eq!(states.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
        assert_eq!(said(&calls[2], "inputResponses"), None, "nothing was asked: nothing is said");
    });
}

#[test]
fn answers_without_a_state_are_sent_without_one() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let (method, params, result) = QUESTIONS[2];
        let ask = say::modern::rounds([
            say::steps([say::modern::input_required(&[("k", method, params)], None)]),
            say::steps([say::result(r#"{"state":@STATE@,"heard":@RESPONSES@}"#)]),
        ]);
        room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
        let scene = open(&room, front);
        let id = scene.begin(&scene.tool("a", "ask"), "{}");
        let question = scene.question(method, LIMIT);
        scene.reply(&question, &format!(r#""result":{result}"#));
        let answer = scene.answer(&id, LIMIT);
        let expected = format!(r#"{{"state":null,"heard":{{"k":{result}}}}}"#);
        assert_eq!(String::from_utf8_lossy(&answer.payload()), expected);
    });
}

#[test]
fn a_server_that_asks_for_ever_is_given_up() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let ask = say::steps([say::modern::input_required(&[], Some("\"0:again\""))]);
        let a = room.fake("a").tool("ask", ask).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = open(&room, front);
        let answer = scene.call(&scene.tool("a", "ask"), "{}");
        assert!(answer.message().contains('a'), "{answer}");
        let calls = ledger::calls(&room.ledger("a")).len();
        assert!((90..=110).contains(&calls), "{calls} calls: a wizard may have many pages");
        scene.assert_echo("a", "echo", "{}");
    });
}

#[test]
fn a_result_that_asks_for_nothing_is_an_error() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let ask = say::steps([say::result(r#"{"resultType":"input_required"}"#)]);
        let odd = say::steps([say::result(
            r#"{"resultType":"input_required","inputRequests":{"k":{"method":"vendor/odd"}}}"#,
        )]);
        let a = room.fake("a").tool("ask", ask).tool("odd", odd).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = open(&room, front);
        scene.call_within(&scene.tool("a", "ask"), "{}", SOON).error();
        let id = scene.begin(&scene.tool("a", "odd"), "{}");
        // The client may be asked, who then knows no such method; or nobody is.
        let first = scene.wait_for("a question or the answer", LIMIT, |line| line.id().is_some());
        if first.method().is_some() {
            scene.reply(&first, r#""error":{"code":-32601,"message":"unknown"}"#);
            assert_ne!(scene.answer(&id, SOON).code(), -32601, "the call's method is known");
        } else {
            first.error();
        }
        scene.assert_echo("a", "echo", "{}");
    });
}

#[test]
fn a_url_elicitation_gets_the_id_the_older_era_wants() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let params = r#"{ "mode":"url","message":"Visit","url":"https:\/\/example.org" }"#;
        let ask = asks(&[("k", "elicitation/create", params)]);
        room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
        let scene = open(&room, front);
        let mut ids = HashSet::new();
        for _ in 0..2 {
            let id = scene.begin(&scene.tool("a", "ask"), "{}");
            let question = scene.question("elicitation/create", LIMIT);
            let asked = scan::get(&question.0, "params").expect("params");
            let own = scan::get(asked, "elicitationId").and_then(scan::text).unwrap_or_default();
            assert!(!own.is_empty() && ids.insert(own), "each has its own: {question}");
            let url = scan::get(asked, "url");
            assert_eq!(url, Some(&br#""https:\/\/example.org""#[..]), "{question}");
            scene.reply(&question, r#""result":{"action":"accept"}"#);
            scene.answer(&id, LIMIT).result();
        }
    });
}

#[test]
fn a_session_that_refuses_to_answer_ends_the_call() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let (method, params, _) = QUESTIONS[1];
        let a =
            room.fake("a").tool("ask", asks(&[("k", method, params)])).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = open(&room, front);
        let id = scene.begin(&scene.tool("a", "ask"), "{}");
        let question = scene.question(method, LIMIT);
        scene.reply(&question, r#""error":{"code":-1,"message":"User rejected"}"#);
        let answer = scene.answer(&id, SOON);
        assert!(answer.message().contains("User rejected"), "{answer}");
        assert_eq!(answer.code(), -1, "{answer}");
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 1, "it is not made again");
        scene.assert_echo("a", "echo", "{}");
    });
}

#[test]
fn a_call_cancelled_while_its_client_is_asked_is_not_made_again() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let (method, params, result) = QUESTIONS[1];
        let a =
            room.fake("a").tool("ask", asks(&[("k", method, params)])).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = open(&room, front);
        let id = scene.begin(&scene.tool("a", "ask"), "{}");
        let question = scene.question(method, LIMIT);
        scene.cancel(&id);
        let withdrawn = scene.notification("notifications/cancelled", LIMIT);
        let reason = scan::path(&withdrawn.0, &["params", "reason"]).and_then(scan::text);
        assert_eq!(reason.as_deref(), Some("the call was cancelled"), "{withdrawn}");
        scene.assert_echo("a", "echo", "{}");
        scene.reply(&question, &format!(r#""result":{result}"#));
        scene.assert_echo("a", "echo", "{}");
        let ask = |call: &&Vec<u8>| scan::path(call, &["params", "name"]) == Some(b"\"ask\"");
        assert_eq!(ledger::calls(&room.ledger("a")).iter().filter(ask).count(), 1);
        let late = scene.try_wait_for(Duration::ZERO, |line| line.is_answer_to(&id));
        assert_eq!(late, None, "a cancelled call has no answer");
    });
}

#[test]
fn progress_of_every_round_comes_under_the_sessions_token() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let (method, params, result) = QUESTIONS[1];
        let ask = say::modern::rounds([
            say::steps([
                say::progress(1),
                say::modern::input_required(&[("k", method, params)], None),
            ]),
            say::steps([say::progress(2), say::text("done")]),
        ]);
        room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
        let scene = open(&room, front);
        let tool = scene.tool("a", "ask");
        let params =
            format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":"t"}}}}"#);
        let id = scene.start("tools/call", &params);
        let question = scene.question(method, LIMIT);
        scene.reply(&question, &format!(r#""result":{result}"#));
        scene.answer(&id, LIMIT).result();
        for _ in 0..3 {
            let line = scene.notification("notifications/progress", SOON);
            let token = scan::path(&line.0, &["params", "progressToken"]);
            assert_eq!(token, Some(&b"\"t\""[..]), "{line}");
        }
    });
}
