//! What a client can do is said with each request; nobody is asked for more.

use std::time::Duration;

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::modern::stamp::{CAPABILITIES, INFO, LEVEL, VERSION};
use kit::room::Room;
use kit::scene::{Front, each_legacy_to_modern, each_modern, each_modern_to_legacy, each_of};
use kit::{LIMIT, SOON, ledger, say, scan};
use serde_json::Value;

use super::{ABLE, QUESTIONS, answer_to};

fn asks(method: &str, params: &str) -> Value {
    say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)])
}

#[test]
fn a_question_the_caller_cannot_answer_is_refused_to_the_server() {
    each_modern_to_legacy(|front, upstream| {
        for (method, params, _) in QUESTIONS {
            let room = Room::new();
            room.config([("a", room.fake("a").tool("ask", asks(method, params)).over(upstream))]);
            let scene = room.open_ready(front, &[]);
            let answer = scene.call_within(&scene.tool("a", "ask"), "{}", SOON);
            assert_eq!(answer.result_type().as_deref(), Some("complete"), "{answer}");
            let code = scan::path(answer.result(), &["heard", "error", "code"]);
            assert!(code.is_some(), "{method}: {answer}");
        }
    });
}

#[test]
fn a_server_that_fails_for_lack_of_an_answer_makes_a_missing_capability() {
    each_modern_to_legacy(|front, upstream| {
        for (method, params, _) in QUESTIONS {
            let room = Room::new();
            let fails = say::steps([
                say::ask(method, params),
                say::error(r#"{"code":-32603,"message":"I needed that"}"#),
            ]);
            room.config([("a", room.fake("a").tool("ask", fails).over(upstream))]);
            let scene = room.open_ready(front, &[]);
            let id = scene.begin(&scene.tool("a", "ask"), "{}");
            assert_missing(&scene.answer(&id, SOON), method);
            if front == Front::ModernHttp {
                assert_eq!(scene.modern().head_of(&id).status, 400);
            }
        }
    });
}

#[test]
fn a_result_that_asks_more_than_the_caller_can_is_not_passed_on() {
    each_modern(|front, upstream| {
        for (method, params, _) in QUESTIONS {
            let room = Room::new();
            let asks =
                say::steps([say::modern::input_required(&[("k", method, params)], Some("\"s\""))]);
            room.config([("a", room.fake("a").tool("ask", asks).over(upstream))]);
            let scene = room.open_ready(front, &[]);
            let id = scene.begin(&scene.tool("a", "ask"), "{}");
            assert_missing(&scene.answer(&id, SOON), method);
            if front == Front::ModernHttp {
                assert_eq!(scene.modern().head_of(&id).status, 400);
            }
        }
    });
}

/// -32021 with the capability that a question of this method needs.
#[track_caller]
fn assert_missing(answer: &kit::line::Line, method: &str) {
    assert_eq!(answer.code(), -32021, "{answer}");
    let needed = method.split('/').next().unwrap_or_default();
    let named = scan::path(answer.error(), &["data", "requiredCapabilities", needed]);
    assert!(named.is_some(), "{needed}: {answer}");
}

#[test]
fn a_session_that_cannot_be_asked_gets_a_clear_error() {
    each_legacy_to_modern(|front, upstream| {
        for (method, params, _) in QUESTIONS {
            let room = Room::new();
            let asks = say::steps([say::modern::input_required(&[("k", method, params)], None)]);
            let a = room.fake("a").tool("ask", asks).tool("echo", say::echo());
            room.config([("a", a.over(upstream))]);
            let scene = room.open_ready(front, &[]);
            let answer = scene.call_within(&scene.tool("a", "ask"), "{}", SOON);
            let needed = method.split('/').next().unwrap_or_default();
            assert!(answer.message().contains(needed), "{answer}");
            let asked = scene.try_wait_for(Duration::ZERO, |line| line.method().is_some());
            assert_eq!(asked, None, "{method}");
            scene.assert_echo("a", "echo", "{}");
        }
    });
}

/// Which capability it would need is not known: nobody has declared it.
#[test]
fn a_result_that_asks_for_what_is_not_known_is_refused() {
    let (method, params, _) = QUESTIONS[1];
    let odd = ("odd", "vendor/odd", "{}");
    let check = |front: Front, upstream| {
        for questions in [&[odd][..], &[("k", method, params), odd]] {
            let room = Room::new();
            let asks = say::steps([say::modern::input_required(questions, Some("\"s\""))]);
            let a = room.fake("a").tool("ask", asks).tool("echo", say::echo());
            room.config([("a", a.over(upstream))]);
            let scene = room.open_with(front, &[], ABLE);
            scene.list();
            let answer = scene.call_within(&scene.tool("a", "ask"), "{}", SOON);
            let message = answer.message();
            assert!(message.contains("`a`") && message.contains("asks for what"), "{answer}");
            assert_eq!(ledger::calls(&room.ledger("a")).len(), 1, "it is not made again");
            scene.assert_echo("a", "echo", "{}");
            let asked = scene.try_wait_for(Duration::ZERO, |line| line.method().is_some());
            assert_eq!(asked, None, "{questions:?}");
        }
    };
    each_legacy_to_modern(check);
    each_modern(check);
}

#[test]
fn a_question_that_is_not_known_is_refused_to_the_server() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let a = room.fake("a").tool("ask", asks("vendor/odd", r#"{"message":"who?"}"#));
        room.config([("a", a.over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let answer = scene.call_within(&scene.tool("a", "ask"), "{}", SOON);
        assert_eq!(answer.result_type().as_deref(), Some("complete"), "{answer}");
        let said = |key: &str| scan::path(answer.result(), &["heard", "error", key]);
        assert_eq!(said("code"), Some(&b"-32601"[..]), "{answer}");
        let told = said("message").and_then(scan::text).unwrap_or_default();
        assert!(told.contains("vendor/odd"), "{answer}");
    });
}

#[test]
fn two_requests_of_one_client_may_declare_different_things() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let (method, params, _) = QUESTIONS[1];
        room.config([("a", room.fake("a").tool("ask", asks(method, params)).entry())]);
        let mut scene = room.open_with(front, &[], ABLE);
        scene.list();
        let tool = scene.tool("a", "ask");
        let round = scene.modern().call_asks(&tool, "{}");
        let call = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
        let again = round.answered(&call, |question| answer_to(&question.method).into());
        scene.ask("tools/call", &again).result();
        scene.modern_mut().set_capabilities("{}");
        let answer = scene.call_within(&tool, "{}", SOON);
        let code = scan::path(answer.result(), &["heard", "error", "code"]);
        assert!(code.is_some(), "{answer}");
        scene.modern_mut().set_capabilities(ABLE);
        scene.modern().call_asks(&tool, r#"{"third":1}"#);
    });
}

#[test]
fn a_server_of_the_same_era_sees_meta_as_the_client_wrote_it() {
    each_modern(|front, upstream| {
        let room = Room::new();
        let told = say::steps([say::result(r#"{"meta":@META@}"#)]);
        room.config([("a", room.fake("a").tool("meta", told).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let tool = scene.tool("a", "meta");
        let own = format!(
            r#"{{ "traceparent":"00-a","x.y/z":[1.0], "{VERSION}" : "2026-07-28","{CAPABILITIES}":{{ "x":1e400 }},"{INFO}":{{"name":"me","version":"\u0031"}},"{LEVEL}":"info"}}"#
        );
        let params = format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{own}}}"#);
        let answer = scene.ask("tools/call", &params);
        let meta = scan::get(answer.result(), "meta").map(String::from_utf8_lossy);
        assert_eq!(meta.as_deref(), Some(&*own), "{answer}");
    });
}

#[test]
fn a_server_of_the_older_era_sees_nothing_of_the_newer() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let a = room.fake("a").tool("echo", say::echo()).resource("x://1", "1").prompt("p", "P");
        room.config([("a", a.over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let tool = scene.tool("a", "echo");
        let meta = r#""_meta":{"traceparent":"00-a","x.y/z":[1.0]}"#;
        for (method, params) in [
            ("tools/call", format!(r#"{{"name":"{tool}","arguments":{{"n":1.0}},{meta}}}"#)),
            ("tools/call", format!(r#"{{"name":"{tool}","arguments":{{"n":2.0}}}}"#)),
            ("resources/read", format!(r#"{{"uri":"x://1",{meta}}}"#)),
            ("prompts/get", format!(r#"{{"name":"p",{meta}}}"#)),
        ] {
            scene.ask(method, &params).result();
            let asked = ledger::with_method(&room.ledger("a"), method);
            let text = String::from_utf8_lossy(asked.last().expect("a request")).into_owned();
            assert!(!text.contains("io.modelcontextprotocol/"), "{text}");
            if params.contains(meta) {
                assert!(text.contains(meta), "the client's own stays: {text}");
            }
        }
        if upstream == Upstream::Http {
            for head in ledger::heads_of(&room.ledger("a"), "tools/call") {
                for name in ["mcp-method", "mcp-name"] {
                    assert_eq!(head.header(name), None, "{}", head.raw);
                }
                assert!(head.header("mcp-session-id").is_some(), "{}", head.raw);
            }
        }
    });
}

#[test]
fn a_sessions_requests_are_stamped_for_a_server_of_the_stateless_era() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        let told = say::steps([say::result(r#"{"meta":@META@}"#)]);
        room.config([("a", room.fake("a").tool("meta", told).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let tool = scene.tool("a", "meta");
        let own = r#""progressToken":"t","x.y/z":[1.0]"#;
        let params = format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{{{own}}}}}"#);
        let answer = scene.ask("tools/call", &params);
        let meta = scan::get(answer.result(), "meta").expect("a _meta");
        let said = |key: &str| scan::get(meta, key).map(String::from_utf8_lossy);
        assert_eq!(said(VERSION).as_deref(), Some("\"2026-07-28\""), "{answer}");
        assert_eq!(said(CAPABILITIES).as_deref(), Some(ABLE), "what the session has declared");
        let name = scan::path(meta, &[INFO, "name"]).and_then(scan::text);
        assert_eq!(name.as_deref(), Some("kit"), "{answer}");
        // In a session servers log as they like until they are told.
        assert_eq!(said(LEVEL).as_deref(), Some("\"info\""), "{answer}");
        assert_eq!(said("x.y/z").as_deref(), Some("[1.0]"), "{answer}");
        assert!(said("progressToken").is_some(), "{answer}");
        let unstamped = |line: &Vec<u8>| {
            scan::get(line, "id").is_some()
                && scan::path(line, &["params", "_meta", VERSION]).is_none()
        };
        let all = ledger::received(&room.ledger("a"));
        assert!(!all.iter().any(unstamped), "our own requests are stamped, too");
        assert!(all.iter().all(|line| scan::get(line, "method").is_some()));
        assert!(ledger::with_method(&room.ledger("a"), "initialize").is_empty());
        assert!(ledger::with_method(&room.ledger("a"), "notifications/initialized").is_empty());
    });
}

#[test]
fn of_many_clients_with_calls_open_each_is_asked_over_http_for_its_own() {
    let room = Room::new();
    let (method, params, _) = QUESTIONS[1];
    let a = room.fake("a").tool("ask", asks(method, params));
    room.config([("a", a.over(Upstream::Http))]);
    let serve = room.serve(&[]);
    let (able, unable) = (serve.modern(ABLE), serve.modern("{}"));
    able.list();
    let rounds: Vec<_> =
        (0..4).map(|n| (n, able.call_asks("a.ask", &format!(r#"{{"n":{n}}}"#)))).collect();
    let answer = unable.call_within("a.ask", "{}", SOON);
    assert!(scan::path(answer.result(), &["heard", "error"]).is_some(), "{answer}");
    for (n, round) in rounds {
        let call = format!(r#"{{"name":"a.ask","arguments":{{"n":{n}}}}}"#);
        let content = format!(r#"{{"action":"accept","content":{{"n":{n}}}}}"#);
        let id = able.start("tools/call", &round.answered(&call, |_| content.clone()));
        let answer = able.answer(&id, LIMIT);
        let heard = scan::path(answer.result(), &["heard", "result"]).map(String::from_utf8_lossy);
        assert_eq!(heard.as_deref(), Some(&*content), "{answer}");
    }
}
