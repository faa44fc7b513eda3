//! What else travels between a client and its children: progress, list changes, questions.

use std::time::Duration;

use kit::room::Room;
use kit::{LIMIT, SOON, ledger, say, scan};

const PROGRESS: &str = "notifications/progress";
const LIST_CHANGED: &str = "notifications/tools/list_changed";

#[test]
fn progress_comes_back_under_the_clients_own_token() {
    let room = Room::new();
    let work = say::steps([say::progress(5), say::text("done")]);
    let a = room.fake("a").tool("work", work.clone()).entry();
    room.config([("a", a), ("b", room.fake("b").tool("work", work).entry())]);
    let client = room.start_ready(&[]);
    for token in ["\"t\"", "7", "\"7\"", "\"caf\\u00e9\"", "0", "-5", "123456789012345678901234"] {
        for server in ["a", "b"] {
            let id = client.fresh_id();
            let params = format!(
                r#"{{"_meta":{{"x":1.0,"progressToken":{token} ,"y":[]}},"name":"{server}:work","arguments":{{}}}}"#
            );
            client.send_line(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#
            ));
            for step in 1..=5 {
                let line = client.wait_for("progress", SOON, |line| line.is_notification(PROGRESS));
                let expected = format!(
                    r#"{{"progressToken":{token},"progress":{step}.0,"total": 5,"message":"\u0073tep"}}"#
                );
                let params = scan::get(&line.0, "params").unwrap_or_default();
                assert_eq!(String::from_utf8_lossy(params), expected);
            }
            client.answer(id.as_bytes(), SOON).result();
        }
    }
    let call = &ledger::calls(&room.ledger("a"))[0];
    let meta = scan::path(call, &["params", "_meta"]).expect("_meta arrives");
    assert_eq!(scan::get(meta, "x"), Some(&b"1.0"[..]));
    assert_eq!(scan::get(meta, "y"), Some(&b"[]"[..]));
}

#[test]
fn two_open_calls_with_the_same_token_on_two_children_are_not_mixed_up() {
    let room = Room::new();
    let work = || say::steps([say::gate(&room, "go"), say::progress(1), say::text("done")]);
    room.config([
        ("a", room.fake("a").tool("work", work()).entry()),
        ("b", room.fake("b").tool("work", work()).entry()),
    ]);
    let client = room.start_ready(&[]);
    let ids: Vec<String> = [("a", "\"one\""), ("b", "\"two\"")]
        .map(|(server, token)| {
            let id = client.fresh_id();
            client.send_line(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{server}:work","arguments":{{}},"_meta":{{"progressToken":{token}}}}}}}"#
            ));
            id
        })
        .to_vec();
    room.open_gate("go");
    let mut tokens: Vec<String> = (0..2)
        .map(|_| client.wait_for("progress", LIMIT, |line| line.is_notification(PROGRESS)))
        .map(|line| {
            let token = scan::path(&line.0, &["params", "progressToken"]).unwrap_or_default();
            String::from_utf8_lossy(token).into_owned()
        })
        .collect();
    tokens.sort();
    assert_eq!(tokens, ["\"one\"", "\"two\""]);
    for id in ids {
        client.answer(id.as_bytes(), LIMIT).result();
    }
}

#[test]
fn progress_nobody_asked_for_is_dropped() {
    let room = Room::new();
    let stray = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":424242,"progress":1}}"#;
    let a = room.fake("a").tool("stray", say::steps([say::line(stray), say::text("done")]));
    room.config([("a", a.entry())]);
    let client = room.start_ready(&[]);
    client.call("a:stray", "{}").result();
    client.call("a:stray", "{}").result();
    assert_eq!(client.try_wait_for(Duration::ZERO, |line| line.is_notification(PROGRESS)), None);
}

#[test]
fn a_child_that_changes_its_tools_changes_the_list_and_says_so() {
    let room = Room::new();
    let definition = say::definition("fresh");
    let change = say::steps([
        say::change_tools(&[&definition]),
        say::line(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#),
        say::text("done"),
    ]);
    let a = room.fake("a").tool("change", change).tool("*", say::echo()).entry();
    room.config([("a", a), ("b", room.fake("b").tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&[]);
    client.call("a:change", "{}").result();
    client.wait_for("list_changed", LIMIT, |line| line.is_notification(LIST_CHANGED));
    client.wait_list("the new list", SOON, |names| names == ["a:fresh", "b:echo"]);
    client.assert_echo("a", "fresh", "{}");
    client.call("a:change", "{}").error();
}

#[test]
fn a_childs_ping_is_answered_without_troubling_the_client() {
    let room = Room::new();
    let ask = say::steps([say::ask("ping", "{}"), say::result(r#"{"heard":@ANSWER@}"#)]);
    room.config([("a", room.fake("a").tool("ask", ask).entry())]);
    let client = room.start_ready(&[]);
    let answer = client.call_within("a:ask", "{}", SOON);
    let heard = scan::get(answer.result(), "heard").expect("an answer");
    assert_eq!(scan::get(heard, "result"), Some(&b"{}"[..]), "{answer}");
}

#[test]
fn a_childs_question_the_client_cannot_take_is_answered_with_an_error() {
    for method in ["roots/list", "sampling/createMessage", "elicitation/create"] {
        let room = Room::new();
        let ask = say::steps([say::ask(method, "{}"), say::result(r#"{"heard":@ANSWER@}"#)]);
        room.config([("a", room.fake("a").tool("ask", ask).entry())]);
        let client = room.start_ready(&[]);
        let answer = client.call_within("a:ask", "{}", SOON);
        let heard = scan::get(answer.result(), "heard").expect("an answer");
        assert!(scan::path(heard, &["error", "code"]).is_some(), "{method}: {answer}");
        client.assert_only_protocol();
    }
}

#[test]
fn methods_may_be_spelled_with_escapes_on_either_side() {
    // PHP's json_encode writes every slash as \/ unless it is told otherwise.
    let room = Room::new();
    let definition = say::definition("fresh");
    let change = say::steps([
        say::line(
            r#"{"jsonrpc":"2.0","method":"notifications\/progress","params":{"progressToken":@TOKEN@,"progress":1}}"#,
        ),
        say::change_tools(&[&definition]),
        say::line(r#"{"jsonrpc":"2.0","method":"notifications\/tools\/list_changed"}"#),
        say::line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"a":"\/"}}"#),
    ]);
    room.config([("a", room.fake("a").tool("change", change).tool("*", say::echo()).entry())]);
    let client = room.start_ready(&[]);
    let request = r#"{"jsonrpc":"2.0","id":"php","method":"tools\/call","params":{"name":"a:change","arguments":{},"_meta":{"progressToken":"t"}}}"#;
    assert_eq!(client.request(request).result(), br#"{"a":"\/"}"#);
    client.wait_for("progress", SOON, |line| line.is_notification(PROGRESS));
    client.wait_for("list_changed", LIMIT, |line| line.is_notification(LIST_CHANGED));
    let request = r#"{"jsonrpc":"2.0","id":"list","method":"\u0074ools\u002flist"}"#;
    assert_eq!(kit::mcp::listed(&client.request(request)).len(), 1);
}

#[test]
fn requests_before_their_server_is_ready_are_each_settled_once() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::usual()]);
    let fail = say::steps([say::gate(&room, "go"), say::exit(3)]);
    let late = room.fake("late").on("initialize", wait).tool("echo", say::mirror()).entry();
    let doomed = room.fake("doomed").on("initialize", fail).tool("echo", say::mirror()).entry();
    room.config([("late", late), ("doomed", doomed)]);
    let client = room.start(&["--start-timeout", "20"]);
    let call = |id: &str, tool: &str| client.send_line(kit::mcp::call(id, tool, r#"{"x":1}"#));
    call("\"late\"", "late:echo");
    call("\"doomed\"", "doomed:echo");
    call("\"unknown tool\"", "late:nope");
    call("\"cancelled\"", "late:echo");
    call("\"late\"", "late:echo");
    client.send_line(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
    client.send_line(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"cancelled"}}"#,
    );
    let twice = client.answer(b"\"late\"", SOON);
    assert_eq!(twice.code(), -32600, "the id is in use: {twice}");
    room.open_gate("go");
    // A call may wait for its server or be refused at once, but an unknown tool is unknown.
    let late = client.answer(b"\"late\"", LIMIT);
    assert!(late.try_result().is_none_or(|result| result == br#"{"x":1}"#), "{late}");
    client.answer(b"\"doomed\"", LIMIT).error();
    assert_eq!(client.answer(b"\"unknown tool\"", LIMIT).code(), -32601);
    let list = client.answer(b"\"list\"", LIMIT);
    assert_eq!(kit::mcp::listed(&list).len(), 1, "{list}");
    client.call("late:echo", "{}").result();
    let rest: Vec<_> =
        std::iter::from_fn(|| client.try_wait_for(Duration::ZERO, |line| line.id().is_some()))
            .collect();
    assert!(rest.iter().all(|line| line.is_answer_to(b"\"cancelled\"")), "{rest:?}");
    assert!(rest.len() <= 1, "{rest:?}");
}
