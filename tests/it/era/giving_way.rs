//! Calls that nobody comes again for give way when others need what they hold.

use kit::line::Line;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::room::Room;
use kit::{LIMIT, say, scan};
use serde_json::json;

use super::{ABLE, QUESTIONS};

/// As many processes of servers that are not shared as there may be.
const PROCESSES: usize = 64;

const RESULT: &str = QUESTIONS[1].2;

fn call(n: usize) -> String {
    format!(r#"{{"name":"a.ask","arguments":{{"n":{n}}}}}"#)
}

/// Calls as somebody who shows this.
#[track_caller]
fn send(client: &Modern, shows: Option<&str>, params: &str) -> Line {
    let id = client.fresh_id();
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
    let headers: Vec<_> = shows.map(|shown| ("Authorization", shown)).into_iter().collect();
    let id = client.start_with(&message, &headers);
    client.answer(&id, LIMIT)
}

#[track_caller]
fn come_again(client: &Modern, shows: Option<&str>, asked: &Line, n: usize) -> Line {
    send(client, shows, &asked.round().answered(&call(n), |_| RESULT.into()))
}

#[track_caller]
fn assert_heard(answer: &Line) {
    let heard = scan::path(answer.result(), &["heard", "result"]).map(String::from_utf8_lossy);
    assert_eq!(heard.as_deref(), Some(RESULT), "{answer}");
}

#[test]
fn processes_whose_calls_nobody_comes_again_for_are_no_end_of_the_line() {
    let room = Room::new();
    let (method, params, _) = QUESTIONS[1];
    let ask = say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)]);
    let entry = |name: &str| {
        let fake = room.fake(name).tool("ask", ask.clone()).tool("echo", say::echo());
        let mut entry = fake.entry();
        entry["share"] = json!("per-session");
        entry
    };
    room.config([("a", entry("a")), ("b", entry("b"))]);
    let serve = room.serve(&[]);
    let client = serve.modern(ABLE);
    client.list();
    // Whoever is known has been waiting longest, and holds only one.
    let known = Some("Bearer one");
    let first = send(&client, known, &call(0));
    let asked: Vec<_> = (1..PROCESSES).map(|n| send(&client, None, &call(n))).collect();
    for (n, asked) in asked.iter().enumerate() {
        assert_eq!(asked.result_type().as_deref(), Some("input_required"), "{n}: {asked}");
    }
    let more = send(&client, None, &call(PROCESSES));
    assert_heard(&come_again(&client, None, &more, PROCESSES));
    let expired = come_again(&client, None, &asked[0], 1);
    assert!(expired.message().contains("it has expired"), "{expired}");
    // Its process is free now, and gives way to another server's; then those that wait do again.
    let session = serve.http();
    session.assert_echo("b", "echo", "{}");
    serve.http().assert_echo("b", "echo", "{}");
    let expired = come_again(&client, None, &asked[1], 2);
    assert!(expired.message().contains("it has expired"), "{expired}");
    session.assert_echo("b", "echo", "{}");
    for (shows, asked, n) in [(known, &first, 0), (None, &asked[2], 3)] {
        assert_heard(&come_again(&client, shows, asked, n));
    }
}
