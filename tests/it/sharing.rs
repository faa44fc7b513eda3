//! One child for many clients, or one for each: `share: shared | per-session`.

use std::collections::HashSet;
use std::time::Duration;

use kit::client::Client;
use kit::mcp::Speak;
use kit::room::Room;
use kit::say;
use kit::scene::{Front, Talk, each_of};
use kit::serve::Serve;
use kit::{LIMIT, ledger, process, scan};
use serde_json::json;

const ABLE: &str = r#"{"elicitation":{"form":{}},"sampling":{}}"#;

/// `a` is shared in this way; it echoes, waits at the gate `go`, asks, and reports progress.
fn house(share: Option<&str>) -> Room {
    let room = Room::threaded();
    let ask = say::steps([
        say::ask("elicitation/create", r#"{"message":"who?","requestedSchema":{"type":"object"}}"#),
        say::result(r#"{"heard":@ANSWER@}"#),
    ]);
    let wait = say::steps([say::gate(&room, "go"), say::progress(1), say::result("@ARGS@")]);
    let touch = say::steps([say::updated("x://a"), say::text("done")]);
    let a = room
        .fake("a")
        .tool("echo", say::echo())
        .tool("ask", ask)
        .tool("wait", wait)
        .tool("touch", touch)
        .resource("x://a", "A");
    let mut entry = a.entry();
    if let Some(share) = share {
        entry["share"] = json!(share);
    }
    room.config([("a", entry), ("b", room.fake("b").tool("echo", say::echo()).entry())]);
    room
}

fn clients(serve: &Serve, count: usize) -> Vec<Talk> {
    let fronts = Front::NETWORK.iter().cycle().take(count);
    fronts.map(|front| serve.talk(*front, ABLE)).collect()
}

/// The process that serves this client.
fn pid_of(client: &impl Speak) -> String {
    let answer = client.call(&client.tool("a", "echo"), "{}");
    let pid = scan::path(answer.result(), &["structuredContent", "pid"]).expect("a pid");
    String::from_utf8_lossy(pid).into_owned()
}

#[test]
fn shared_is_one_process_for_all() {
    for share in [None, Some("shared")] {
        let room = house(share);
        let serve = room.serve(&[]);
        let clients = clients(&serve, 6);
        let pids: HashSet<String> = clients.iter().map(pid_of).collect();
        assert_eq!(pids.len(), 1, "{share:?}");
    }
}

#[test]
fn per_session_is_a_process_for_each_that_ends_with_it() {
    let room = house(Some("per-session"));
    let serve = room.serve(&[]);
    let mut clients = clients(&serve, 4);
    let pids: Vec<String> = clients.iter().map(pid_of).collect();
    assert_eq!(pids.iter().collect::<HashSet<_>>().len(), 4, "{pids:?}");
    assert_eq!(pids, clients.iter().map(pid_of).collect::<Vec<_>>(), "the same each time");
    assert_eq!(ledger::started(&room.ledger("b")).len(), 1, "the other is shared");
    let gone = clients.remove(1);
    if let Talk::Http(client) = &gone {
        client.delete();
    }
    drop(gone);
    let pid: i32 = pids[1].parse().expect("a pid");
    process::wait_until("its process ends with it", LIMIT, || !process::is_alive(pid));
    for (client, pid) in clients.iter().zip([&pids[0], &pids[2], &pids[3]]) {
        assert_eq!(&pid_of(client), pid, "the others are not touched");
    }
    let deleted = clients.remove(0);
    if let Talk::Http(client) = &deleted {
        client.delete();
    }
    let pid: i32 = pids[0].parse().expect("a pid");
    process::wait_until("DELETE ends it, too", LIMIT, || !process::is_alive(pid));
}

#[test]
fn per_session_children_ask_their_own_client_whoever_else_is_busy() {
    let room = house(Some("per-session"));
    let serve = room.serve(&[]);
    let clients = clients(&serve, 4);
    let ids: Vec<_> = clients.iter().map(|client| client.begin("a.ask", "{}")).collect();
    for (number, client) in clients.iter().enumerate() {
        let question = client.question("elicitation/create", LIMIT);
        let content = format!(r#"{{"client":{number}}}"#);
        client.reply(&question, &format!(r#""result":{{"action":"accept","content":{content}}}"#));
    }
    for (number, (client, id)) in clients.iter().zip(&ids).enumerate() {
        let answer = client.answer(id, LIMIT);
        let heard = scan::path(answer.result(), &["heard", "result", "content", "client"]);
        assert_eq!(heard, Some(number.to_string().as_bytes()), "{answer}");
    }
}

#[test]
fn the_list_of_a_per_session_server_is_there_before_and_after_anybody_came() {
    let room = house(Some("per-session"));
    let serve = room.serve(&[]);
    let first = serve.http();
    assert!(first.list_names().contains(&"a.echo".to_owned()));
    pid_of(&first);
    first.delete();
    drop(first);
    let second = serve.http();
    assert!(second.list_names().contains(&"a.echo".to_owned()));
    pid_of(&second);
}

#[test]
fn tokens_subscriptions_and_cancellations_of_a_shared_child_do_not_cross() {
    let room = house(None);
    let serve = room.serve(&[]);
    let clients = clients(&serve, 6);
    clients[0].list();
    let call = |number: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a.wait","arguments":{{"n":{number}}},"_meta":{{"progressToken":"same"}}}}}}"#
        )
    };
    for (number, client) in clients.iter().enumerate() {
        client.send_line(call(number));
    }
    let there = || ledger::calls(&room.ledger("a")).len() == clients.len();
    process::wait_until("every call is open", LIMIT, there);
    let calls = ledger::calls(&room.ledger("a"));
    let tokens: HashSet<_> = calls
        .iter()
        .filter_map(|call| scan::path(call, &["params", "_meta", "progressToken"]))
        .collect();
    assert_eq!(tokens.len(), clients.len(), "the child sees a token for each");
    clients[2].cancel(b"1");
    let cancels = || ledger::with_method(&room.ledger("a"), "notifications/cancelled");
    process::wait_until("the child is told", LIMIT, || cancels().len() == 1);
    let cancelled = scan::path(&cancels()[0], &["params", "requestId"]).map(<[u8]>::to_vec);
    let owner = calls.iter().find(|call| scan::get(call, "id") == cancelled.as_deref());
    let number = owner.and_then(|call| scan::path(call, &["params", "arguments", "n"]));
    assert_eq!(number, Some(&b"2"[..]), "the right one");
    room.open_gate("go");
    for (number, client) in clients.iter().enumerate().filter(|(number, _)| *number != 2) {
        let expected = format!(r#"{{"n":{number}}}"#);
        assert_eq!(client.answer(b"1", LIMIT).result(), expected.as_bytes());
        let progress = client.notification("notifications/progress", LIMIT);
        let token = scan::path(&progress.0, &["params", "progressToken"]);
        assert_eq!(token, Some(&b"\"same\""[..]));
        let more = client.try_wait_for(Duration::ZERO, |line| line.method().is_some());
        assert_eq!(more, None, "only its own progress");
    }
}

/// As many processes of servers that are not shared as there may be.
const PROCESSES: usize = 64;
/// A session without a stream whose client has said nothing for so long may lose its process.
const ABANDONED: Duration = Duration::from_secs(30);

#[test]
fn sessions_whose_client_has_gone_give_their_processes_to_new_ones() {
    let room = house(Some("per-session"));
    let serve = room.serve(&[]);
    // The one that has been idle longest is still there: it listens.
    let present = serve.http();
    let present_pid = pid_of(&present);
    let session = || {
        let client = serve.streamable();
        client.initialize("2025-11-25").result();
        client
    };
    let gone: Vec<_> = (1..PROCESSES).map(|_| session()).collect();
    let pids: Vec<String> = gone.iter().map(pid_of).collect();
    gone.iter().for_each(|client| client.lose_connections());
    let new = session();
    let call = || new.call("a.echo", "{}");
    // Those who were heard of just now keep theirs; twice the time they do, for a busy machine.
    process::wait_until("a process becomes free", 2 * ABANDONED, || call().try_result().is_some());
    assert_eq!(pid_of(&new), pid_of(&new), "it has a process of its own");
    let oldest: i32 = pids[0].parse().expect("a pid");
    process::wait_until("the oldest has given way", LIMIT, || !process::is_alive(oldest));
    assert_eq!(pid_of(&present), present_pid, "who listens keeps its process");
    // Who comes back gets another.
    let again = pid_of(&gone[0]);
    assert!(!pids.contains(&again) && again != pid_of(&new), "{again}");
    assert_eq!(pid_of(&gone[0]), again);
}

#[test]
fn a_share_nobody_knows_is_a_config_error() {
    let room = house(Some("perhaps"));
    let end = Client::run(room.serve_command(&[]));
    assert_eq!(end.code, Some(2), "{end:?}");
    assert!(end.stderr.contains("$.mcpServers.a.share"), "{end:?}");
}

#[test]
fn over_stdio_both_ways_are_the_same() {
    each_of(["shared", "per-session"], |share| {
        let room = house(Some(share));
        let scene = room.open_with(Front::Stdio, &[], ABLE);
        let pid = pid_of(&scene.client);
        assert_eq!(pid_of(&scene.client), pid);
        let id = scene.begin("a:ask", "{}");
        let question = scene.question("elicitation/create", LIMIT);
        scene.reply(&question, r#""result":{"action":"decline"}"#);
        scene.answer(&id, LIMIT).result();
    });
}

#[test]
fn a_per_session_child_that_dies_is_replaced_for_its_session_only() {
    let room = house(Some("per-session"));
    let serve = room.serve(&[]);
    let clients = clients(&serve, 2);
    let before: Vec<String> = clients.iter().map(pid_of).collect();
    process::kill(before[0].parse().expect("a pid"), rustix::process::Signal::KILL);
    let back = || clients[0].call("a.echo", "{}").try_result().is_some();
    process::wait_until("it is back", LIMIT, back);
    assert_ne!(pid_of(&clients[0]), before[0]);
    assert_eq!(pid_of(&clients[1]), before[1]);
}

#[test]
fn k19_a_doubled_id_is_refused_while_a_process_of_its_own_starts() {
    let room = house(Some("per-session"));
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    for _ in 0..2 {
        client.send_line(kit::mcp::call("7", "a.wait", "{}"));
    }
    let refused = client.wait_for("a refusal", LIMIT, |line| line.try_error().is_some());
    assert_eq!(refused.code(), -32600, "{refused}");
    room.open_gate("go");
    let answered = |line: &kit::line::Line| line.is_answer_to(b"7") && line.try_result().is_some();
    client.wait_for("the first is answered all the same", LIMIT, answered);
}

#[test]
fn per_session_processes_end_when_their_server_leaves_the_config() {
    let room = house(Some("per-session"));
    let serve = room.serve(&[]);
    let clients = clients(&serve, 4);
    let pids: Vec<i32> = clients.iter().filter_map(|client| pid_of(client).parse().ok()).collect();
    room.config([("b", room.fake("b").tool("echo", say::echo()).entry())]);
    let gone = || !pids.iter().any(|pid| process::is_alive(*pid));
    process::wait_until("every process of it ends", LIMIT, gone);
    clients[0].assert_echo("b", "echo", "{}");
}
