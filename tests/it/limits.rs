//! Limits of a config: what a server, a tool, a caller or an address may have, and what becomes of a call beyond it.

use std::net::Ipv4Addr;

use kit::http::Connection;
use kit::line::Line;
use kit::mcp::{self, Speak};
use kit::process::wait_until;
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::streamable::Streamable;
use kit::{LIMIT, ledger, say, scan};
use serde_json::{Value, json};

const LIMITED: i64 = -31016;

/// So slow that nothing comes back while a test runs, however slow that is.
const HARDLY: f64 = 0.001;

fn with(mut entry: Value, limits: &Value) -> Value {
    entry["limits"] = limits.clone();
    entry
}

fn echo(room: &Room, limits: &Value) -> Value {
    with(room.fake("a").tool("echo", say::echo()).tool("other", say::echo()).entry(), limits)
}

/// Writes the config with these limits of callers and addresses.
fn config_with(room: &Room, entry: &Value, limits: &Value) {
    let config = json!({ "mcpServers": { "a": entry }, "limits": limits });
    room.write("mcp.json", config.to_string());
}

/// Asserts that the call was refused at this limit of this scope, and says so.
#[track_caller]
fn assert_limited(answer: &Line, who: &str, scope: &str, limit: &str) {
    assert_eq!(answer.code(), LIMITED, "{answer}");
    let message = answer.message();
    assert!(message.starts_with(&format!("{who} is limited to ")), "{message}");
    assert!(message.contains("; the call did not run, come again "), "{message}");
    let data = scan::get(answer.error(), "data").unwrap_or_else(|| panic!("no data: {answer}"));
    let text = |key| scan::get(data, key).and_then(scan::text).unwrap_or_default();
    assert_eq!((&*text("scope"), &*text("limit")), (scope, limit), "{answer}");
    assert_eq!(scan::get(data, "mayRetry"), Some(&b"true"[..]), "{answer}");
    let again = scan::get(data, "retryAfterMs").map(String::from_utf8_lossy).unwrap_or_default();
    assert!(again.parse::<u64>().is_ok_and(|ms| ms > 0), "{answer}");
}

#[test]
fn limits_of_a_server_hold_over_every_front_and_an_edit_changes_them_at_once() {
    let fronts = [Front::Stdio, Front::Http, Front::Sse, Front::ModernStdio, Front::ModernHttp];
    each_of(fronts, |front| {
        let room = Room::new();
        let entry = echo(&room, &json!({ "callsPerSecond": HARDLY, "burst": 2 }));
        room.config([("a", entry)]);
        let scene = room.open_ready(front, &[]);
        let tool = scene.tool("a", "echo");
        for _ in 0..2 {
            scene.call(&tool, "{}").result();
        }
        let refused = scene.call(&tool, "{}");
        assert_limited(&refused, "server `a`", "server", "calls_per_second");
        let message = refused.message();
        assert!(message.contains("limited to 0.001 calls a second (2 at once);"), "{message}");
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 2, "what is refused does not run");
        // What was used stays used: three at once leave one more, and the server is not started anew.
        room.config([("a", echo(&room, &json!({ "callsPerSecond": HARDLY, "burst": 3 })))]);
        wait_until("the edit is read", LIMIT, || scene.call(&tool, "{}").try_result().is_some());
        assert_limited(&scene.call(&tool, "{}"), "server `a`", "server", "calls_per_second");
        room.config([("a", echo(&room, &json!({ "callsPerSecond": 0 })))]);
        wait_until("there is no limit", LIMIT, || scene.call(&tool, "{}").try_result().is_some());
        for _ in 0..20 {
            scene.call(&tool, "{}").result();
        }
        assert_eq!(ledger::started(&room.ledger("a")).len(), 1);
    });
}

#[test]
fn limits_a_refused_call_is_a_429_in_the_stateless_era_and_passes_when_it_was_told_to_come() {
    let room = Room::new();
    room.config([("a", echo(&room, &json!({ "callsPerSecond": 1, "burst": 1 })))]);
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let modern = scene.modern();
    let ask = |id: &str| modern.dress(mcp::call(id, "a.echo", "{}"));
    // One of two that come together is too many, however slow the machine is between them.
    let mut connection = modern.connect();
    let refused =
        (1..).map(|id| connection.ask(&ask(&id.to_string()))).find(|it| it.status() != 200);
    let refused = refused.expect("one is refused");
    assert_eq!(refused.status(), 429, "{}", refused.text());
    assert_eq!(refused.head.header("retry-after"), Some("1"), "{}", refused.head.raw);
    assert!(refused.text().contains("\"retryAfterMs\":"), "{}", refused.text());
    wait_until("it passes", LIMIT, || connection.ask(&ask("100")).status() == 200);
}

#[test]
fn limits_in_a_session_a_refusal_is_an_ordinary_answer() {
    let room = Room::new();
    room.config([("a", echo(&room, &json!({ "callsPerSecond": HARDLY, "burst": 1 })))]);
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    client.call("a.echo", "{}").result();
    assert_limited(&client.call("a.echo", "{}"), "server `a`", "server", "calls_per_second");
    // Clients of that era take another status for the loss of the session.
    assert_eq!(client.heads().last().map(|head| head.status), Some(200));
}

#[test]
fn limits_of_tools_are_their_own_and_hold_behind_custom_tools() {
    let room = Room::new();
    let once = json!({ "callsPerSecond": HARDLY, "burst": 1 });
    let entry = echo(&room, &json!({ "tools": { "ech*": once, "o?her": once } }));
    let custom =
        json!({ "both": { "description": "x", "subtools": { "a": { "tools": ["echo"] } } } });
    room.config_with([("a", entry)], custom);
    let scene = room.open_ready(Front::Stdio, &[]);
    scene.call("both", r#"{"server":"a","tool":"echo","args":{}}"#).result();
    let refused = scene.call("a:echo", "{}");
    assert_limited(&refused, "tool `echo` of server `a`", "tool", "calls_per_second");
    let refused = scene.call("both", r#"{"server":"a","tool":"echo","args":{}}"#);
    assert_limited(&refused, "tool `echo` of server `a`", "tool", "calls_per_second");
    for _ in 0..3 {
        scene.call("a:other", "{}").result(); // `?` is no wildcard
    }
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 4);
}

#[test]
fn limits_of_result_bytes_are_paid_by_the_next_calls() {
    let room = Room::new();
    let large = json!([say::text(&"x".repeat(3_000))]);
    let fake = room.fake("a").tool("large", large).tool("echo", say::echo());
    room.config([("a", with(fake.entry(), &json!({ "resultBytesPerMinute": 1_000 })))]);
    let scene = room.open_ready(Front::Stdio, &[]);
    scene.call("a:echo", "{}").result();
    scene.call("a:large", "{}").result();
    let refused = scene.call("a:echo", "{}");
    assert_limited(&refused, "server `a`", "server", "result_bytes_per_minute");
    let message = refused.message();
    assert!(message.contains("limited to 1000 bytes of results a minute;"), "{message}");
}

#[test]
fn limits_of_callers_are_those_of_each_session_where_nobody_is_known() {
    let room = Room::new();
    let per_caller = json!({ "callsPerSecond": HARDLY, "burst": 2 });
    config_with(&room, &echo(&room, &json!({})), &json!({ "perCaller": per_caller }));
    let serve = room.serve(&[]);
    let (one, other) = (serve.http(), serve.http());
    one.list();
    for client in [&one, &other] {
        for _ in 0..2 {
            client.call("a.echo", "{}").result();
        }
        assert_limited(&client.call("a.echo", "{}"), "this client", "caller", "calls_per_second");
    }
    // An edit holds for sessions that are open.
    config_with(&room, &echo(&room, &json!({})), &json!({}));
    wait_until("no limit", LIMIT, || one.call("a.echo", "{}").try_result().is_some());
    other.call("a.echo", "{}").result();
}

#[test]
fn limits_of_addresses_hold_for_all_sessions_of_one() {
    let room = Room::new();
    let per_address = json!({ "callsPerSecond": HARDLY, "burst": 1 });
    config_with(&room, &echo(&room, &json!({})), &json!({ "perAddress": per_address }));
    let serve = room.serve(&[]);
    let (one, other) = (serve.http(), serve.http());
    one.list();
    one.call("a.echo", "{}").result();
    let refused = other.call("a.echo", "{}");
    assert_limited(&refused, "address 127.0.0.1", "address", "calls_per_second");
    let sse = serve.sse();
    let refused = sse.call("a.echo", "{}");
    assert_limited(&refused, "address 127.0.0.1", "address", "calls_per_second");
    let modern = serve.modern("{}");
    let ask = modern.dress(mcp::call("1", "a.echo", "{}"));
    assert_eq!(modern.post(&ask).status(), 429);
    let elsewhere = Connection::open_from(Ipv4Addr::new(127, 0, 0, 9), serve.address()).ask(&ask);
    assert_eq!(elsewhere.status(), 200, "{}", elsewhere.text());
}

/// A batch (revision 2025-03-26) is as many calls as it has.
#[test]
fn limits_of_addresses_count_the_calls_of_a_batch() {
    let room = Room::new();
    let per_address = json!({ "callsPerSecond": HARDLY, "burst": 1 });
    config_with(&room, &echo(&room, &json!({})), &json!({ "perAddress": per_address }));
    let serve = room.serve(&[]);
    let client = serve.streamable();
    client.initialize("2025-03-26");
    client.list();
    let call = |id: &str| {
        let params = r#"{"name":"a.echo","arguments":{}}"#;
        format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{params}}}"#)
    };
    client.post(format!("[{},{}]", call("x"), call("y")));
    client.answer(b"\"x\"", LIMIT).result();
    let refused = client.answer(b"\"y\"", LIMIT);
    assert_limited(&refused, "address 127.0.0.1", "address", "calls_per_second");
}

/// One call may be open at the server `a`; `wait` and `later` wait for a gate, `die` ends the process.
fn one_at_a_time(room: &Room) {
    let wait = say::steps([say::gate(room, "go"), say::text("fine")]);
    let fake = room.fake("a").tool("wait", wait).tool("never", say::never());
    let later = say::steps([say::gate(room, "later"), say::text("late")]);
    let fake = fake.tool("later", later);
    let fake = fake.tool("die", say::steps([say::exit(3)])).tool("echo", say::echo());
    room.config([("a", with(fake.entry(), &json!({ "openCalls": 1 })))]);
}

/// Changes the entry of the server `a`.
fn edit(room: &Room, change: impl FnOnce(&mut Value)) {
    let text = std::fs::read(room.path("mcp.json")).expect("the config");
    let mut config: Value = serde_json::from_slice(&text).expect("JSON");
    change(&mut config["mcpServers"]["a"]);
    room.write("mcp.json", config.to_string());
}

fn open_call(room: &Room, client: &Streamable, tool: &str) -> Vec<u8> {
    let before = ledger::calls(&room.ledger("a")).len();
    let id = client.begin(tool, "{}");
    let there = || ledger::calls(&room.ledger("a")).len() > before;
    wait_until("the call is open", LIMIT, there);
    id
}

#[test]
fn limits_an_open_call_counts_until_it_ends_in_whatever_way() {
    let room = Room::new();
    one_at_a_time(&room);
    let serve = room.serve(&["--call-timeout", "600"]);
    let client = serve.http();
    client.list();
    let echo = || client.call("a.echo", "{}");
    let full = || assert_limited(&echo(), "server `a`", "server", "open_calls");
    let free = |how: &str| wait_until(how, LIMIT, || echo().try_result().is_some());
    // Answered.
    let id = open_call(&room, &client, "a.wait");
    full();
    room.open_gate("go");
    client.answer(&id, LIMIT).result();
    echo().result();
    // Cancelled.
    let id = open_call(&room, &client, "a.never");
    full();
    client.cancel(&id);
    free("it was cancelled");
    // Its session was ended.
    let gone = serve.http();
    open_call(&room, &gone, "a.never");
    full();
    assert_eq!(gone.delete(), 204);
    free("its session was ended");
    // Its client has gone: a stateless request is cancelled with its connection.
    let modern = serve.modern("{}");
    let before = ledger::calls(&room.ledger("a")).len();
    let mut connection = modern.connect();
    connection.begin(&modern.dress(mcp::call("1", "a.never", "{}")));
    let there = || ledger::calls(&room.ledger("a")).len() > before;
    wait_until("the call is open", LIMIT, there);
    full();
    connection.close();
    free("its client has gone");
    // The stream of its client has gone.
    let sse = serve.sse();
    let before = ledger::calls(&room.ledger("a")).len();
    sse.begin("a.later", "{}");
    wait_until("the call is open", LIMIT, || ledger::calls(&room.ledger("a")).len() > before);
    full();
    sse.close();
    free("the stream of its client has gone"); // its server is told, and may go on with it
    // Its server dies, and comes back.
    client.call("a.die", "{}").error();
    free("its server has died");
}

/// A caller that abandons its calls has its places back at once; but their server may go on with them.
#[test]
fn limits_of_open_calls_are_no_way_around_by_abandoning_in_a_loop() {
    let room = Room::new();
    one_at_a_time(&room);
    let serve = room.serve(&["--call-timeout", "600"]);
    let client = serve.http();
    client.list();
    let refused = (0..50).find_map(|_| {
        let sse = serve.sse();
        let before = ledger::calls(&room.ledger("a")).len();
        let id = sse.begin("a.never", "{}");
        let mut refused = None;
        wait_until("it is with its server, or refused", LIMIT, || {
            refused = sse.try_wait_for(std::time::Duration::ZERO, |it| it.is_answer_to(&id));
            refused.is_some() || ledger::calls(&room.ledger("a")).len() > before
        });
        sse.close();
        // One that comes before the last one is noticed to be gone is refused as every call is.
        refused.filter(|answer| !answer.to_string().contains("\"open_calls\""))
    });
    let refused = refused.expect("one is refused");
    assert_limited(&refused, "server `a`", "server", "abandoned_calls");
    assert!(refused.message().contains("16 calls a minute"), "{refused}");
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 16, "no more than that run at the server");
}

#[test]
fn limits_a_call_that_comes_too_late_is_open_no_more() {
    let room = Room::new();
    one_at_a_time(&room);
    edit(&room, |entry| entry["callTimeout"] = json!(1));
    let scene = room.open_ready(Front::Stdio, &[]);
    let late = scene.call("a:never", "{}");
    assert_eq!(late.code(), -31002, "{late}");
    scene.call("a:echo", "{}").result();
}

#[test]
fn limits_waiting_calls_count_as_open() {
    let room = Room::new();
    one_at_a_time(&room);
    edit(&room, |entry| {
        entry["limits"] = json!({ "openCalls": 2 });
        entry["maxConcurrency"] = json!(1);
    });
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let first = open_call(&room, &client, "a.wait");
    // One is with the server, one of these waits for its turn, and the other is one too many.
    let both = [client.begin("a.echo", "{}"), client.begin("a.echo", "{}")];
    let is_one = |line: &Line| both.iter().any(|id| line.is_answer_to(id));
    let refused = client.wait_for("a refusal", LIMIT, is_one);
    assert_limited(&refused, "server `a`", "server", "open_calls");
    room.open_gate("go");
    client.answer(&first, LIMIT).result();
    client.wait_for("the other answer", LIMIT, is_one).result();
    client.call("a.echo", "{}").result();
}
