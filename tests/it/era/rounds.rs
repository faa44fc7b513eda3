//! Questions of servers of the older era become results that ask, and answers find their way back.

use std::time::Duration;

use kit::config::Upstream;
use kit::line::Line;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, Scene, Talk, each_modern_to_legacy, each_of};
use kit::serve::Serve;
use kit::{LIMIT, SOON, ledger, process, say, scan};
use serde_json::Value;

use super::{ABLE, QUESTIONS, answer_to};

const ELICIT: (&str, &str, &str) = QUESTIONS[1];

fn heard() -> Value {
    say::result(r#"{"heard":@ANSWER@}"#)
}

/// The params of a call of this tool.
fn call_of(scene: &Scene, tool: &str) -> String {
    format!(r#"{{"name":"{}","arguments":{{"n":1.0}}}}"#, scene.tool("a", tool))
}

/// The raw result the server has heard.
#[track_caller]
fn heard_by_the_server(answer: &Line) -> String {
    assert_eq!(answer.result_type().as_deref(), Some("complete"), "{answer}");
    let heard = scan::path(answer.result(), &["heard", "result"]);
    String::from_utf8_lossy(heard.unwrap_or_else(|| panic!("heard nothing: {answer}"))).into_owned()
}

#[test]
fn a_question_becomes_a_result_and_its_answer_reaches_the_server_byte_for_byte() {
    each_modern_to_legacy(|front, upstream| {
        for (method, params, result) in QUESTIONS {
            let room = Room::new();
            let ask = say::steps([say::ask(method, params), heard()]);
            room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
            let scene = room.open_with(front, &[], ABLE);
            scene.list();
            let call = call_of(&scene, "ask");
            let round = scene.ask("tools/call", &call).round();
            let question = round.only();
            assert_eq!(question.method, method);
            assert_eq!(question.params.as_deref(), Some(params), "{method}");
            assert!(round.state.is_some(), "{round:?}");
            let answer = scene.ask("tools/call", &round.again(&call, &[(&question.key, result)]));
            assert_eq!(heard_by_the_server(&answer), result, "{method}");
            assert_eq!(ledger::calls(&room.ledger("a")).len(), 1, "it was called once");
            let asked = scene.try_wait_for(Duration::ZERO, |line| line.method().is_some());
            assert_eq!(asked, None, "no request to a client of this era");
            scene.assert_only_protocol();
        }
    });
}

#[test]
fn prompts_and_resources_may_ask_as_well() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let (method, params, result) = ELICIT;
        let ask = || say::steps([say::ask(method, params), heard()]);
        let a = room.fake("a").prompt("p", "P").get("p", ask()).resource("x://1", "1");
        room.config([("a", a.read("x://1", ask()).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        for (asked, request) in [
            ("prompts/get", r#"{"name":"p","arguments":{"topic":"x"}}"#),
            ("prompts/get", r#"{"name":"p"}"#),
            ("resources/read", r#"{"uri":"x://1"}"#),
        ] {
            let round = scene.ask(asked, request).round();
            let answer = scene.ask(asked, &round.answered(request, |_| result.into()));
            assert_eq!(heard_by_the_server(&answer), result, "{asked}");
        }
    });
}

#[test]
fn several_questions_at_once_are_all_answered() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let all = QUESTIONS.map(|(method, params, _)| (method, params));
        let ask = say::steps([say::modern::ask_all(&all), heard()]);
        room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = call_of(&scene, "ask");
        let mut answer = scene.ask("tools/call", &call);
        let (mut asked, mut rounds) = (Vec::new(), 0);
        while answer.result_type().as_deref() == Some("input_required") {
            let round = answer.round();
            asked.extend(round.questions.iter().map(|question| question.method.clone()));
            answer =
                scene.ask("tools/call", &round.answered(&call, |q| answer_to(&q.method).into()));
            rounds += 1;
        }
        asked.sort();
        assert_eq!(asked, ["elicitation/create", "roots/list", "sampling/createMessage"]);
        assert!(rounds <= 3, "{rounds} rounds");
        let heard = scan::get(answer.result(), "heard").and_then(scan::elements).expect("three");
        for (line, (method, _, result)) in heard.iter().zip(QUESTIONS) {
            let got = scan::get(line, "result").map(String::from_utf8_lossy);
            assert_eq!(got.as_deref(), Some(result), "{method}");
        }
    });
}

#[test]
fn questions_that_come_together_are_asked_together() {
    let room = Room::new();
    let all = QUESTIONS.map(|(method, params, _)| (method, params));
    let ask = say::steps([say::modern::ask_all(&all), heard()]);
    room.config([("a", room.fake("a").tool("ask", ask).entry())]);
    each_of(Front::MODERN, |front| {
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let round = scene.ask("tools/call", &call_of(&scene, "ask")).round();
        assert_eq!(round.questions.len(), 3, "{round:?}");
        let mut keys: Vec<_> = round.questions.iter().map(|question| &question.key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 3, "{round:?}");
    });
}

#[test]
fn of_several_questions_those_without_an_answer_are_asked_again() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let all = QUESTIONS.map(|(method, params, _)| (method, params));
        let ask = say::steps([say::modern::ask_all(&all), heard()]);
        room.config([("a", room.fake("a").tool("ask", ask).entry())]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = call_of(&scene, "ask");
        let mut answer = scene.ask("tools/call", &call);
        let (mut rounds, mut last) = (0, usize::MAX);
        while answer.result_type().as_deref() == Some("input_required") {
            let round = answer.round();
            assert!(round.questions.len() <= last, "{round:?}");
            last = round.questions.len();
            // One at a time, whatever was asked for.
            let first = &round.questions[0];
            let answers = [(first.key.as_str(), answer_to(&first.method))];
            answer = scene.ask("tools/call", &round.again(&call, &answers));
            rounds += 1;
        }
        assert_eq!(rounds, 3, "{answer}");
        let heard = scan::get(answer.result(), "heard").and_then(scan::elements).expect("three");
        for (line, (method, _, result)) in heard.iter().zip(QUESTIONS) {
            let got = scan::get(line, "result").map(String::from_utf8_lossy);
            assert_eq!(got.as_deref(), Some(result), "{method}");
        }
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 1);
    });
}

#[test]
fn a_server_may_ask_again_and_again_with_a_new_state_each_time() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let question = |n| format!(r#"{{"message":"{n}","requestedSchema":{{"type":"object"}}}}"#);
        let ask = |n| say::ask("elicitation/create", &question(n));
        let steps = say::steps([ask(1), ask(2), ask(3), heard()]);
        room.config([("a", room.fake("a").tool("ask", steps).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = call_of(&scene, "ask");
        let mut states = Vec::new();
        let mut answer = scene.ask("tools/call", &call);
        for n in 1..=3 {
            let round = answer.round();
            assert_eq!(round.only().params.as_deref(), Some(&*question(n)));
            states.push(round.state.clone().expect("a state"));
            let said = format!(r#"{{"action":"accept","content":{{"n":{n}.0}}}}"#);
            answer = scene.ask("tools/call", &round.answered(&call, |_| said.clone()));
        }
        assert_eq!(heard_by_the_server(&answer), r#"{"action":"accept","content":{"n":3.0}}"#);
        states.dedup();
        assert_eq!(states.len(), 3, "each round has a state of its own");
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 1);
    });
}

#[test]
fn what_is_not_answered_is_asked_again_and_what_is_no_answer_is_refused() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let (method, params, result) = ELICIT;
        let ask = say::steps([say::ask(method, params), heard()]);
        room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = call_of(&scene, "ask");
        let mut round = scene.ask("tools/call", &call).round();
        // Nothing, and something nobody has asked for.
        for answers in [&[][..], &[("nobody asked", result)]] {
            let next = scene.ask("tools/call", &round.again(&call, answers)).round();
            assert_eq!(next.only().params.as_deref(), Some(params));
            round = next;
        }
        let key = round.only().key.clone();
        for broken in ["12345", "null", "\"yes\"", "[]", "true"] {
            let answer = scene.ask("tools/call", &round.again(&call, &[(&key, broken)]));
            match answer.try_error() {
                Some(_) => assert_eq!(answer.code(), -32602, "{answer}"),
                None => round = answer.round(),
            }
        }
        let key = round.only().key.clone();
        let more = [("more", "7"), (key.as_str(), result), ("than asked", "{}")];
        let answer = scene.ask("tools/call", &round.again(&call, &more));
        assert_eq!(heard_by_the_server(&answer), result, "the call was unharmed");
        let answers = ledger::received(&room.ledger("a"));
        let answers = answers.iter().filter(|line| scan::get(line, "method").is_none());
        assert_eq!(answers.count(), 1, "the server has heard one answer");
    });
}

#[test]
fn declining_is_an_answer() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let ask = say::steps([say::ask(ELICIT.0, ELICIT.1), heard()]);
        room.config([("a", room.fake("a").tool("ask", ask).entry())]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = call_of(&scene, "ask");
        for said in [r#"{"action":"decline"}"#, r#"{ "action" : "cancel" }"#] {
            let round = scene.ask("tools/call", &call).round();
            let answer = scene.ask("tools/call", &round.answered(&call, |_| said.into()));
            assert_eq!(heard_by_the_server(&answer), said);
        }
    });
}

#[test]
fn progress_before_and_after_a_question_comes_with_the_request_that_is_open() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let (method, params, result) = ELICIT;
        let ask =
            say::steps([say::progress(1), say::ask(method, params), say::progress(2), heard()]);
        room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let tool = scene.tool("a", "ask");
        let with = |token: &str| {
            format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":{token}}}}}"#)
        };
        let of = |token: &str, limit| {
            let line = scene.notification("notifications/progress", limit);
            let said = scan::path(&line.0, &["params", "progressToken"]);
            assert_eq!(said, Some(token.as_bytes()), "{line}");
        };
        let id = scene.start("tools/call", &with("\"first\""));
        of("\"first\"", LIMIT);
        let round = scene.answer(&id, LIMIT).round();
        let again = round.answered(&with("\"second\""), |_| result.into());
        let id = scene.start("tools/call", &again);
        of("\"second\"", LIMIT);
        of("\"second\"", LIMIT);
        assert_eq!(heard_by_the_server(&scene.answer(&id, LIMIT)), result);
    });
}

#[test]
fn a_call_that_is_cancelled_after_its_answers_is_cancelled_at_the_server() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let (method, params, result) = ELICIT;
        let ask = say::steps([say::ask(method, params), say::until_cancelled()]);
        let a = room.fake("a").tool("ask", ask).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = call_of(&scene, "ask");
        let round = scene.ask("tools/call", &call).round();
        let id = scene.start("tools/call", &round.answered(&call, |_| result.into()));
        let all = || ledger::received(&room.ledger("a"));
        let answered = || all().iter().any(|line| scan::get(line, "method").is_none());
        process::wait_until("the server has its answer", LIMIT, answered);
        scene.cancel(&id);
        let own = scan::get(&ledger::calls(&room.ledger("a"))[0], "id").map(<[u8]>::to_vec);
        let told = || {
            let all = ledger::with_method(&room.ledger("a"), "notifications/cancelled");
            all.iter().any(|line| scan::path(line, &["params", "requestId"]) == own.as_deref())
        };
        process::wait_until("the server is told", LIMIT, told);
        scene.assert_echo("a", "echo", "{}");
    });
}

#[test]
fn calls_that_wait_for_their_clients_do_not_stop_others() {
    each_of([Upstream::Stdio, Upstream::Http], |upstream| {
        let room = Room::new();
        let (method, params, result) = ELICIT;
        let ask = say::steps([say::ask(method, params), heard()]);
        let a = room.fake("a").tool("ask", ask).tool("echo", say::echo());
        let mut entry = a.over(upstream);
        // On a pipe nothing says whose a question is, unless each call has a process to itself.
        entry["share"] = "per-session".into();
        room.config([("a", entry)]);
        let serve = room.serve(&[]);
        let client = serve.modern(ABLE);
        client.list();
        let call = |n: usize| format!(r#"{{"name":"a.ask","arguments":{{"n":{n}}}}}"#);
        // One after the other: none of those before has been answered.
        let rounds: Vec<_> = (0..5).map(|n| client.ask("tools/call", &call(n)).round()).collect();
        client.assert_echo("a", "echo", "{}");
        serve.modern("{}").assert_echo("a", "echo", "{}");
        serve.http().assert_echo("a", "echo", "{}");
        for (n, round) in rounds.iter().enumerate().rev() {
            let answer = client.ask("tools/call", &round.answered(&call(n), |_| result.into()));
            assert_eq!(heard_by_the_server(&answer), result, "{n}");
        }
    });
}

/// What a call says after it was parked is not taken for another's.
#[test]
fn what_a_parked_call_says_reaches_no_other_client() {
    let check = |other: fn(&Serve) -> Talk| {
        let room = Room::new();
        // It goes on without waiting for the answers.
        let ask = |id: u8| {
            let (method, params, _) = ELICIT;
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":"q-{id}","method":"{method}","params":{params}}}"#
            );
            say::push(&text)
        };
        let log = say::log("error", "\"secret\"");
        let ask = say::steps([ask(1), say::gate(&room, "late"), log, ask(2), say::never()]);
        let wait = say::steps([say::gate(&room, "go"), say::text("fine")]);
        let a = room.fake("a").logging().tool("ask", ask).tool("wait", wait);
        room.config([("a", a.entry())]);
        let serve = room.serve(&[]);
        let one = serve.modern(ABLE);
        one.list();
        one.ask("tools/call", r#"{"name":"a.ask","arguments":{}}"#).round();
        let two = other(&serve);
        let id = two.begin("a.wait", "{}");
        let there = || ledger::calls(&room.ledger("a")).len() == 2;
        process::wait_until("both calls are open", LIMIT, there);
        room.open_gate("late");
        let refused = || {
            let received = ledger::received(&room.ledger("a"));
            received.iter().any(|line| scan::get(line, "error").is_some())
        };
        process::wait_until("its second question is refused", LIMIT, refused);
        room.open_gate("go");
        two.answer(&id, LIMIT).result();
        let stray = two.try_wait_for(Duration::ZERO, |line| line.method().is_some());
        assert_eq!(stray, None, "nothing of it reached the other");
    };
    check(|serve| serve.talk(Front::Http, ABLE));
    check(|serve| serve.talk(Front::Sse, ABLE));
}

#[test]
fn a_server_that_dies_while_its_question_is_open_is_told_to_who_comes_again() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let ask = say::steps([say::ask(ELICIT.0, ELICIT.1), heard()]);
        let a = room.fake("a").tool("ask", ask).tool("echo", say::echo()).entry();
        room.config([("a", a)]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let call = call_of(&scene, "ask");
        let round = scene.ask("tools/call", &call).round();
        let [pid] = ledger::started(&room.ledger("a"))[..] else { panic!("one process") };
        process::kill(pid, rustix::process::Signal::KILL);
        process::wait_until("it is gone", LIMIT, || !process::is_alive(pid));
        let again = round.answered(&call, |_| ELICIT.2.into());
        let id = scene.start("tools/call", &again);
        let answer = scene.answer(&id, SOON);
        assert!(answer.message().contains("may have run"), "{answer}");
        assert_ne!(
            scan::path(answer.error(), &["data", "mayRetry"]),
            Some(&b"true"[..]),
            "{answer}"
        );
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 1, "it is not sent again");
    });
}

#[test]
fn a_url_that_has_to_be_visited_first_is_asked_for_and_the_call_made_again() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let error = r#"{"code":-32042,"message":"URL elicitation required","data":{"elicitations":[{"mode":"url","elicitationId":"e-1","url":"https:\/\/example.org\/a","message":"Visit"}]}}"#;
        let visit = say::first(1, &say::steps([say::error(error)]), &say::echo());
        let a = room.fake("a").tool("visit", visit.clone()).resource("x://1", "1");
        room.config([("a", a.read("x://1", visit).over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        for (method, call) in [
            ("tools/call", call_of(&scene, "visit")),
            ("resources/read", r#"{"uri":"x://1"}"#.to_owned()),
        ] {
            let round = scene.ask(method, &call).round();
            let question = round.only();
            assert_eq!(question.method, "elicitation/create");
            let params = question.params.as_deref().unwrap_or_default().as_bytes();
            let said = |key: &str| scan::get(params, key).and_then(scan::text);
            assert_eq!(said("mode").as_deref(), Some("url"));
            assert_eq!(said("url").as_deref(), Some("https://example.org/a"));
            assert_eq!(said("message").as_deref(), Some("Visit"));
            assert_eq!(said("elicitationId"), None, "this era has none");
            let again = round.answered(&call, |_| r#"{"action":"accept"}"#.into());
            let answer = scene.ask(method, &again);
            assert_eq!(answer.result_type().as_deref(), Some("complete"), "{answer}");
            assert_eq!(ledger::with_method(&room.ledger("a"), method).len(), 2);
        }
    });
}

#[test]
fn a_url_that_the_caller_cannot_visit_is_a_missing_capability() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let error = r#"{"code":-32042,"message":"URL elicitation required","data":{"elicitations":[{"mode":"url","elicitationId":"e-1","url":"https://example.org/a","message":"Visit"}]}}"#;
        let a = room.fake("a").tool("visit", say::steps([say::error(error)]));
        room.config([("a", a.entry())]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.call(&scene.tool("a", "visit"), "{}");
        assert_eq!(answer.code(), -32021, "no client of this era is sent -32042: {answer}");
    });
}
