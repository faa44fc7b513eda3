//! CO-9, K20: questions of servers — sampling, elicitation, roots — to the client they are meant for.

use std::time::Duration;

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each, each_front, each_of};
use kit::{LIMIT, SOON, ledger, process, say, scan};

const ABLE: &str = r#"{"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}"#;

/// Method, params as the server writes them, and the client's answer as it writes it.
const QUESTIONS: [(&str, &str, &str); 3] = [
    (
        "sampling/createMessage",
        r#"{ "messages":[{"role":"user","content":{"type":"text","text":"\u0068i"}}],"maxTokens":1e2,"x":1.0 }"#,
        r#""result":{ "role":"assistant","content":{"type":"text","text":"\/"},"model":"m","n":1.10 }"#,
    ),
    (
        "elicitation/create",
        r#"{ "message":"who?","requestedSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1E2}}} }"#,
        r#""result":{"action":"accept","content":{ "n":-0.0 }}"#,
    ),
    (
        "roots/list",
        r#"{"_meta":{"a":1.0}}"#,
        r#""error":{ "code":-1,"message":"User rejected","data":[1e400] }"#,
    ),
];

#[test]
fn co_9_k20_a_question_reaches_the_caller_and_its_answer_the_server_byte_for_byte() {
    each(|front, upstream| {
        for (method, params, member) in QUESTIONS {
            let room = Room::new();
            let ask = say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)]);
            room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
            let scene = room.open_with(front, &[], ABLE);
            scene.list();
            let id = scene.begin(&scene.tool("a", "ask"), "{}");
            let question = scene.question(method, LIMIT);
            let asked = scan::get(&question.0, "params").map(String::from_utf8_lossy);
            assert_eq!(asked.as_deref(), Some(params), "{method}");
            scene.reply(&question, member);
            let answer = scene.answer(&id, LIMIT);
            let heard = scan::get(answer.result(), "heard").expect("an answer");
            let heard = String::from_utf8_lossy(heard).into_owned();
            assert!(heard.contains(member), "{method}: {member} became {heard}");
            scene.assert_only_protocol();
        }
    });
}

#[test]
fn co_9_k20_what_the_client_cannot_do_is_refused_without_asking_it() {
    each_front(|front| {
        for (method, params, _) in QUESTIONS {
            let room = Room::new();
            let ask = say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)]);
            room.config([("a", room.fake("a").tool("ask", ask).entry())]);
            let scene = room.open_ready(front, &[]);
            let answer = scene.call_within(&scene.tool("a", "ask"), "{}", SOON);
            let heard = scan::get(answer.result(), "heard").expect("an answer");
            assert!(scan::path(heard, &["error", "code"]).is_some(), "{method}: {answer}");
            let asked = scene.try_wait_for(Duration::ZERO, |line| line.method().is_some());
            assert_eq!(asked, None, "{method}");
        }
    });
}

#[test]
fn co_9_k20_questions_of_an_unknown_kind_are_settled_and_pings_answered() {
    each(|front, upstream| {
        let room = Room::new();
        let ask =
            |method| say::steps([say::ask(method, "{}"), say::result(r#"{"heard":@ANSWER@}"#)]);
        let a = room.fake("a").tool("odd", ask("vendor/question")).tool("ping", ask("ping"));
        room.config([("a", a.over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        let id = scene.begin(&scene.tool("a", "odd"), "{}");
        // The caller may be asked, who then knows no such method; or nobody is.
        let first = scene.wait_for("a question or the answer", LIMIT, |line| line.id().is_some());
        let answer = match first.method() {
            None => first,
            Some(method) => {
                assert_eq!(method, "vendor/question");
                scene.reply(&first, r#""error":{"code":-32601,"message":"unknown"}"#);
                scene.answer(&id, LIMIT)
            }
        };
        let code = scan::path(answer.result(), &["heard", "error", "code"]);
        assert_eq!(code, Some(&b"-32601"[..]), "{answer}");
        let answer = scene.call_within(&scene.tool("a", "ping"), "{}", SOON);
        assert_eq!(scan::path(answer.result(), &["heard", "result"]), Some(&b"{}"[..]), "{answer}");
    });
}

#[test]
fn co_9_k20_of_many_clients_only_the_caller_is_asked() {
    each_of(Front::NETWORK, |front| {
        let room = Room::new();
        let (method, params, member) = QUESTIONS[1];
        let ask = say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)]);
        let a = room.fake("a").tool("ask", ask).tool("echo", say::echo()).entry();
        room.config([("a", a)]);
        let serve = room.serve(&[]);
        let clients: Vec<_> = (0..4).map(|_| serve.talk(front, ABLE)).collect();
        for client in &clients {
            client.assert_echo("a", "echo", "{}");
        }
        for (number, caller) in clients.iter().enumerate() {
            let id = caller.begin("a.ask", "{}");
            let question = caller.question(method, LIMIT);
            caller.reply(&question, member);
            caller.answer(&id, LIMIT).result();
            for (other, client) in clients.iter().enumerate() {
                let asked = client.try_wait_for(Duration::ZERO, |line| line.method().is_some());
                assert_eq!(asked, None, "client {number} called, client {other} was asked");
            }
        }
    });
}

#[test]
fn co_9_k20_when_two_clients_have_calls_open_on_a_shared_child_it_gets_a_clear_error() {
    each_of(Front::NETWORK, |front| {
        let room = Room::new();
        let (method, params, _) = QUESTIONS[1];
        let ask = say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)]);
        let wait = say::steps([say::gate(&room, "go"), say::text("fine")]);
        let a = room.fake("a").tool("ask", ask).tool("wait", wait).entry();
        room.config([("a", a)]);
        let serve = room.serve(&[]);
        let (one, two) = (serve.talk(front, ABLE), serve.talk(front, ABLE));
        one.list();
        let waiting = one.begin("a.wait", "{}");
        let there = || ledger::calls(&room.ledger("a")).len() == 1;
        process::wait_until("the first call is open", LIMIT, there);
        let answer = two.call_within("a.ask", "{}", SOON);
        let error = scan::path(answer.result(), &["heard", "error"]).expect("an error");
        let error = String::from_utf8_lossy(error).into_owned();
        assert!(error.contains("session") || error.contains("share"), "it says why: {error}");
        room.open_gate("go");
        one.answer(&waiting, LIMIT).result();
        for client in [&one, &two] {
            let asked = client.try_wait_for(Duration::ZERO, |line| line.method().is_some());
            assert_eq!(asked, None, "nobody was asked");
        }
    });
}

#[test]
fn co_9_k20_until_the_server_knows_a_call_was_cancelled_nobody_else_is_asked_for_it() {
    for upstream in [Upstream::Stdio, Upstream::Sse] {
        each_of(Front::NETWORK, |front| {
            let room = Room::new();
            let (method, params, member) = QUESTIONS[1];
            let heard = || say::result(r#"{"heard":@ANSWER@}"#);
            let late = say::steps([say::gate(&room, "late"), say::ask(method, params), heard()]);
            let soon = say::steps([say::ask(method, params), heard()]);
            let wait = say::steps([say::gate(&room, "go"), say::text("fine")]);
            let read_so_far = say::steps([say::gate(&room, "read"), say::usual()]);
            let a = room.fake("a").tool("late", late).tool("soon", soon).tool("wait", wait);
            room.config([("a", a.on("ping", read_so_far).over(upstream))]);
            let serve = room.serve(&[]);
            let (one, two) = (serve.talk(front, ABLE), serve.talk(front, ABLE));
            one.list();
            let cancelled = one.begin("a.late", "{}");
            let waiting = two.begin("a.wait", "{}");
            let there = || ledger::calls(&room.ledger("a")).len() == 2;
            process::wait_until("both calls are open", LIMIT, there);
            one.cancel(&cancelled);
            let told = || ledger::with_method(&room.ledger("a"), "ping").len() == 1;
            process::wait_until("the server is asked how far it has read", LIMIT, told);
            room.open_gate("late");
            let refused = || {
                let all = ledger::received(&room.ledger("a"));
                all.iter().any(|line| scan::get(line, "error").is_some())
            };
            process::wait_until("the server is refused", LIMIT, refused);
            room.open_gate("read");
            room.open_gate("go");
            two.answer(&waiting, LIMIT).result();
            let asked = two.try_wait_for(Duration::ZERO, |line| line.method().is_some());
            assert_eq!(asked, None, "the other was not asked");
            // Its answer to the ping may still be on its way: then it is refused once more.
            process::wait_until("the other can be asked again", LIMIT, || {
                let id = two.begin("a.soon", "{}");
                let next = two.wait_for("a question or an answer", LIMIT, |line| {
                    line.method().is_some() || line.is_answer_to(&id)
                });
                if next.method().is_none() {
                    return false;
                }
                two.reply(&next, member);
                two.answer(&id, LIMIT).result();
                true
            });
        });
    }
}

#[test]
fn co_9_k20_over_http_a_question_belongs_to_the_call_on_whose_stream_it_comes() {
    let room = Room::new();
    let (method, params, member) = QUESTIONS[1];
    let ask = say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)]);
    let wait = say::steps([say::gate(&room, "go"), say::text("fine")]);
    let a = room.fake("a").tool("ask", ask).tool("wait", wait);
    room.config([("a", a.over(Upstream::Http))]);
    let serve = room.serve(&[]);
    let (one, two) = (serve.http_with(ABLE), serve.http_with(ABLE));
    one.list();
    let waiting = one.begin("a.wait", "{}");
    let there = || ledger::calls(&room.ledger("a")).len() == 1;
    process::wait_until("the first call is open", LIMIT, there);
    let id = two.begin("a.ask", "{}");
    let question = two.question(method, LIMIT);
    two.reply(&question, member);
    let answer = two.answer(&id, LIMIT);
    assert!(String::from_utf8_lossy(answer.result()).contains(member), "{answer}");
    room.open_gate("go");
    one.answer(&waiting, LIMIT).result();
    assert_eq!(one.try_wait_for(Duration::ZERO, |line| line.method().is_some()), None);
}

#[test]
fn co_9_k20_a_question_nobody_is_there_for_gets_a_clean_error() {
    each(|front, upstream| {
        let room = Room::new();
        let (method, params, _) = QUESTIONS[1];
        let heard = say::push(
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":@ANSWER@}}"#,
        );
        let meanwhile = say::steps([say::gate(&room, "go"), say::push_ask(method, params), heard]);
        let a = room.fake("a").logging().tool("echo", say::echo()).meanwhile(meanwhile);
        room.config([("a", a.over(upstream))]);
        let scene = room.open_with(front, &[], ABLE);
        scene.list();
        room.open_gate("go");
        if front == Front::Stdio {
            // There is only ever one client: whatever a server asks, it asks that one.
            scene.client.question(method, LIMIT);
            return;
        }
        let message = scene.notification("notifications/message", LIMIT);
        let error = scan::path(&message.0, &["params", "data", "error", "code"]);
        assert!(error.is_some(), "{message}");
        let asked = scene.try_wait_for(Duration::ZERO, |line| line.id().is_some());
        assert_eq!(asked, None, "no call was open");
    });
}

#[test]
fn co_9_k20_only_the_one_who_was_asked_can_answer() {
    let room = Room::new();
    let (method, params, member) = QUESTIONS[1];
    let ask = say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)]);
    room.config([("a", room.fake("a").tool("ask", ask).tool("echo", say::echo()).entry())]);
    let serve = room.serve(&[]);
    let (asked, thief) = (serve.http_with(ABLE), serve.http_with(ABLE));
    asked.assert_echo("a", "echo", "{}");
    let id = asked.begin("a.ask", "{}");
    let question = asked.question(method, LIMIT);
    thief.reply(&question, r#""result":{"action":"accept","content":{"stolen":true}}"#);
    thief.assert_echo("a", "echo", "{}");
    asked.reply(&question, member);
    let answer = asked.answer(&id, LIMIT);
    let text = String::from_utf8_lossy(answer.result()).into_owned();
    assert!(text.contains(member) && !text.contains("stolen"), "{text}");
}

#[test]
fn co_9_k20_a_caller_that_goes_away_leaves_the_server_with_an_error_and_not_in_doubt() {
    each_of(Front::NETWORK, |front| {
        let room = Room::new();
        let (method, params, _) = QUESTIONS[1];
        let ask = say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)]);
        room.config([("a", room.fake("a").tool("ask", ask).tool("echo", say::echo()).entry())]);
        let serve = room.serve(&[]);
        let client = serve.talk(front, ABLE);
        client.list();
        client.begin("a.ask", "{}");
        client.question(method, LIMIT);
        if let kit::scene::Talk::Http(http) = &client {
            assert!(http.delete() < 300);
        }
        drop(client);
        let heard = || {
            let lines = ledger::received(&room.ledger("a"));
            lines.iter().any(|line| {
                scan::get(line, "method").is_none() && scan::get(line, "error").is_some()
            })
        };
        process::wait_until("the server hears an error", LIMIT, heard);
        serve.talk(front, "{}").assert_echo("a", "echo", "{}");
    });
}

#[test]
fn co_9_changed_roots_are_told_to_servers_that_asked_or_may_ask() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let scene = room.open_with(Front::Stdio, &[], ABLE);
    scene.list();
    scene.notify("notifications/roots/list_changed", "{}");
    let told =
        || !ledger::with_method(&room.ledger("a"), "notifications/roots/list_changed").is_empty();
    process::wait_until("the server is told", LIMIT, told);
}
