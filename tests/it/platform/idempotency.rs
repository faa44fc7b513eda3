//! Idempotency keys: a call that is made again under its key is not run again, at whatever replica, whatever became of
//! the first.

use std::time::Duration;

use kit::http::{Ask, Connection};
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::platform::Platform;
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, ledger, process, say};
use rustix::process::Signal;

use super::echoing;
use super::replicas::{ABLE, ANSWER, ASKED, Cluster, config};

const REPLAYED: &str = "idempotent-replayed";

/// A call over REST.
fn ask(tool: &str, arguments: &str, key: &str) -> Ask {
    Platform::call_ask(tool, arguments).header("Idempotency-Key", key)
}

/// The params of a call over MCP.
fn params(tool: &str, arguments: &str, key: &str) -> String {
    format!(
        r#"{{"name":"{tool}","arguments":{arguments},"_meta":{{"trunkline/idempotencyKey":"{key}"}}}}"#
    )
}

fn ran(room: &Room, server: &str) -> usize {
    ledger::calls(&room.ledger(server)).len()
}

fn modern(platform: &Platform, key: &str) -> Modern {
    let bearer = format!("Bearer {key}");
    let headers = [("Authorization", &bearer[..])];
    Modern::http_with(platform.serve().address(), ABLE, &headers)
}

fn wait_for_calls(room: &Room, count: usize) {
    process::wait_until("the call runs", 2 * LIMIT, || ran(room, "a") == count);
}

#[test]
fn a_call_that_is_made_again_under_its_key_runs_once_at_whatever_replica() {
    let room = Room::new();
    room.config([("a", echoing(&room, "a").entry())]);
    let cluster = Cluster::start(&room, 3, &["--config", &config(&room)]);
    cluster.wait_tool("a.echo");
    let key = cluster.key.as_str();
    let (mut over_rest, mut in_sessions, mut stateless) = (Vec::new(), Vec::new(), Vec::new());
    for replica in cluster.replicas.iter().chain(&cluster.replicas) {
        let answer = replica.rest(Some(key)).send(&ask("a.echo", r#"{"n":1.0}"#, "one"));
        answer.is(200);
        let is_again = answer.header(REPLAYED) == Some("true");
        assert_eq!(is_again, !over_rest.is_empty(), "{answer}");
        over_rest.push(answer.response.body);
        let session = replica.mcp(key).ask("tools/call", &params("a.echo", r#"{"n":2}"#, "two"));
        in_sessions.push(session.result().to_vec());
        let each = modern(replica, key).ask("tools/call", &params("a.echo", r#"{"n":3}"#, "three"));
        stateless.push(each.result().to_vec());
    }
    for mut answers in [over_rest, in_sessions, stateless] {
        answers.dedup();
        assert_eq!(answers.len(), 1, "every answer is the first, to the byte");
    }
    assert_eq!(ran(&room, "a"), 3);
}

#[test]
fn a_key_stands_for_one_call_of_one_tool_of_one_caller() {
    let room = Room::new();
    let server = echoing(&room, "a").tool("other", say::echo());
    room.config([("a", server.entry())]);
    let cluster = Cluster::start(&room, 2, &["--config", &config(&room)]);
    cluster.wait_tool("a.other");
    let key = cluster.key.as_str();
    let [one, other] = [0, 1].map(|at| cluster.replicas[at].rest(Some(key)));
    one.send(&ask("a.echo", r#"{"n":1,"t":"A"}"#, "k")).is(200);
    // Equal arguments, spelt otherwise; and the key as a structured header has it.
    other.send(&ask("a.echo", r#"{ "t":"\u0041", "n":1 }"#, "\"k\"")).is(200);
    assert_eq!(ran(&room, "a"), 1);
    other.send(&ask("a.echo", r#"{"n":2}"#, "k")).problem(422, "idempotency-key-reused");
    let session = cluster.replicas[1].mcp(key);
    let over_mcp = session.ask("tools/call", &params("a.echo", r#"{"n":1,"t":"A"}"#, "k"));
    assert_eq!(over_mcp.code(), -32602, "its answer over REST is another: {over_mcp}");
    assert!(over_mcp.message().contains("idempotency key"), "{over_mcp}");
    assert_eq!(ran(&room, "a"), 1);
    other.send(&ask("a.other", r#"{"n":2}"#, "k")).is(200);
    let somebody = cluster.replicas[1].key("caller");
    let theirs = cluster.replicas[1].rest(Some(&somebody));
    let answer = theirs.send(&ask("a.echo", r#"{"n":1,"t":"A"}"#, "k"));
    assert_eq!((answer.status(), answer.header(REPLAYED)), (200, None), "{answer}");
    assert_eq!(ran(&room, "a"), 3);
    // What is no key is no call.
    let long = "x".repeat(256);
    one.send(&ask("a.echo", "{}", &long)).problem(400, "bad-header");
    one.send(&ask("a.echo", "{}", "a").another("Idempotency-Key", "b")).problem(400, "bad-header");
    let number = r#"{"name":"a.echo","arguments":{},"_meta":{"trunkline/idempotencyKey":7}}"#;
    assert_eq!(session.ask("tools/call", number).code(), -32602);
    assert_eq!(ran(&room, "a"), 3);
}

#[test]
fn a_call_that_still_runs_is_not_begun_again_and_has_one_answer() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::text("waited")]);
    room.config([("a", room.fake("a").tool("wait", wait).entry())]);
    let cluster = Cluster::start(&room, 2, &["--config", &config(&room)]);
    cluster.wait_tool("a.wait");
    let key = cluster.key.as_str();
    let [one, other] = [&cluster.replicas[0], &cluster.replicas[1]];
    let wanted = ask("a.wait", "{}", "k");
    let mut first = one.rest(Some(key)).begin(&wanted);
    wait_for_calls(&room, 1);
    let (in_session, again) = (one.mcp(key), other.mcp(key));
    let id = in_session.start("tools/call", &params("a.wait", "{}", "m"));
    wait_for_calls(&room, 2);
    for replica in [one, other] {
        let answer = replica.rest(Some(key)).send(&wanted);
        answer.problem(409, "idempotency-key-in-use");
        assert_eq!(answer.header("retry-after"), Some("1"), "{answer}");
    }
    let told = again.ask("tools/call", &params("a.wait", "{}", "m"));
    assert_eq!(told.code(), -31018, "{told}");
    assert!(told.to_string().contains(r#""retryAfterMs":1000"#), "{told}");
    room.open_gate("go");
    let answered = first.response(LIMIT);
    assert_eq!(answered.status(), 200, "{}", answered.text());
    let answer = other.rest(Some(key)).send(&wanted);
    assert_eq!((answer.status(), &answer.response.body), (200, &answered.body), "{answer}");
    let first = in_session.answer(&id, LIMIT);
    let again = again.ask("tools/call", &params("a.wait", "{}", "m"));
    assert_eq!(again.result(), first.result());
    assert_eq!(ran(&room, "a"), 2);
}

#[test]
fn of_a_call_whose_replica_was_killed_its_client_hears_that_it_may_have_run() {
    let room = Room::hurried();
    let wait = say::steps([say::gate(&room, "go"), say::text("waited")]);
    let service = echoing(&room, "a").tool("wait", wait).listen(Wire::Http);
    let mut cluster = Cluster::start(&room, 2, &[]);
    cluster.replicas[0].connected("a", &service);
    cluster.wait_tool("a.wait");
    let holder = cluster.replicas.remove(0);
    let (other, key) = (&cluster.replicas[0], cluster.key.as_str());
    let done = ask("a.echo", r#"{"n":1}"#, "done");
    let body = holder.rest(Some(key)).send(&done).response.body;
    // Once it is found there, it is written.
    let found = || other.rest(Some(key)).send(&done).response.body == body;
    process::wait_until("the answer is kept", 2 * LIMIT, found);
    let wanted = ask("a.wait", "{}", "k");
    let _over_rest = holder.rest(Some(key)).begin(&wanted);
    wait_for_calls(&room, 2);
    let session = holder.mcp(key);
    session.start("tools/call", &params("a.wait", "{}", "m"));
    wait_for_calls(&room, 3);
    holder.serve().process().signal(Signal::KILL);
    holder.serve().process().wait_exit(LIMIT);
    process::wait_until("it is known that its replica has gone", 3 * LIMIT, || {
        let answer = other.rest(Some(key)).send(&wanted);
        assert_eq!(answer.status(), 409, "{answer}");
        answer.json()["type"] == "urn:trunkline:problem:outcome-unknown"
    });
    let answer = other.rest(Some(key)).send(&wanted);
    let problem = answer.problem(409, "outcome-unknown");
    assert!(problem["detail"].to_string().contains("may have run"), "{answer}");
    assert_eq!(answer.header("retry-after"), None, "{answer}");
    let told = other.mcp(key).ask("tools/call", &params("a.wait", "{}", "m"));
    assert_eq!(told.code(), -31019, "{told}");
    room.open_gate("go");
    // What had ended before has its answer.
    assert_eq!(other.rest(Some(key)).send(&done).response.body, body);
    assert_eq!(ran(&room, "a"), 3, "nothing ran again");
}

#[test]
fn a_call_with_a_key_goes_on_when_its_client_has_left_and_its_answer_is_kept() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::text("waited")]);
    room.config([("a", room.fake("a").tool("wait", wait).entry())]);
    let cluster = Cluster::start(&room, 2, &["--config", &config(&room)]);
    cluster.wait_tool("a.wait");
    let key = cluster.key.as_str();
    let [one, other] = [&cluster.replicas[0], &cluster.replicas[1]];
    let wanted = ask("a.wait", "{}", "k");
    one.rest(Some(key)).begin(&wanted).close();
    wait_for_calls(&room, 1);
    let client = modern(one, key);
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}}"#,
        params("a.wait", "{}", "m")
    );
    let mut connection = Connection::open(one.serve().address());
    connection.begin(&client.dress(&call));
    wait_for_calls(&room, 2);
    connection.close();
    room.open_gate("go");
    process::wait_until("its answer is there", 2 * LIMIT, || {
        other.rest(Some(key)).send(&wanted).status() == 200
    });
    process::wait_until("the other's answer is there", 2 * LIMIT, || {
        let again = modern(other, key).ask("tools/call", &params("a.wait", "{}", "m"));
        again.try_result().is_some_and(|result| String::from_utf8_lossy(result).contains("waited"))
    });
    assert_eq!(ran(&room, "a"), 2);
    let cancelled = ledger::with_method(&room.ledger("a"), "notifications/cancelled");
    assert!(cancelled.is_empty(), "nobody cancelled it");
}

#[test]
fn the_end_of_a_platform_waits_for_calls_with_a_key_whose_clients_have_left() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::text("waited")]);
    let service = room.fake("a").tool("wait", wait).listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let key = platform.key("caller");
    let call = params("a.wait", "{}", "k");
    let asked = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{call}}}"#);
    let mut connection = Connection::open(platform.serve().address());
    connection.begin(&modern(&platform, &key).dress(&asked));
    wait_for_calls(&room, 1);
    connection.close();
    platform.serve().process().signal(Signal::TERM);
    let address = platform.serve().address();
    process::wait_until("nobody is let in", LIMIT, || Connection::try_open(address).is_err());
    assert!(!platform.serve().process().ends_within(Duration::from_secs(1)), "it waits");
    room.open_gate("go");
    platform.serve().process().wait_exit(LIMIT);
    let platform = room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    let again = modern(&platform, &key).ask("tools/call", &call);
    assert!(again.to_string().contains("waited"), "{again}");
    assert_eq!(ran(&room, "a"), 1);
}

#[test]
fn what_a_server_asks_is_asked_again_until_it_is_answered() {
    let room = Room::new();
    let rounds = say::modern::rounds([
        say::steps([say::modern::input_required(
            &[("k", "elicitation/create", ASKED)],
            Some(r#""2:mine""#),
        )]),
        say::steps([say::text("without its state")]),
        say::steps([say::result(r#"{"content":[],"resultType":"complete"}"#)]),
    ]);
    let server = room.fake("a").modern().tool("ask", rounds);
    room.config([("a", server.entry())]);
    let cluster = Cluster::start(&room, 2, &["--config", &config(&room)]);
    cluster.wait_tool("a.ask");
    let clients = [0, 1].map(|at| modern(&cluster.replicas[at], &cluster.key));
    let call = params("a.ask", "{}", "k");
    let asked = clients[0].ask("tools/call", &call);
    let round = asked.round();
    let again = clients[1].ask("tools/call", &call);
    assert_eq!(again.result(), asked.result(), "the same question");
    assert_eq!(ran(&room, "a"), 1);
    let answered = round.answered(&call, |_| ANSWER.to_owned());
    let done = clients[1].ask("tools/call", &answered);
    assert!(done.to_string().contains("complete"), "{done}");
    for client in &clients {
        for call in [&call, &answered] {
            assert_eq!(client.ask("tools/call", call).result(), done.result());
        }
    }
    assert_eq!(ran(&room, "a"), 2, "two rounds, each once");
}

#[test]
fn an_answer_to_an_earlier_question_that_comes_late_is_not_told_again() {
    let room = Room::new();
    let question = |state| {
        say::steps([say::modern::input_required(
            &[("k", "elicitation/create", ASKED)],
            Some(state),
        )])
    };
    let rounds = say::modern::rounds([
        question(r#""1:one""#),
        question(r#""2:two""#),
        question(r#""3:three""#),
        say::steps([say::result(r#"{"content":[],"resultType":"complete"}"#)]),
    ]);
    let server = room.fake("a").modern().tool("ask", rounds);
    room.config([("a", server.entry())]);
    let cluster = Cluster::start(&room, 2, &["--config", &config(&room)]);
    cluster.wait_tool("a.ask");
    let serve = room.serve(&[]);
    let bare = || Modern::http_with(serve.address(), ABLE, &[]);
    let platform = [0, 1].map(|at| modern(&cluster.replicas[at], &cluster.key));
    // In the store of a platform, and in memory without one.
    for (clients, before) in [(platform, 0), ([bare(), bare()], 4)] {
        let call = params("a.ask", "{}", "k");
        let first = clients[0].ask("tools/call", &call).round();
        let told = first.answered(&call, |_| ANSWER.to_owned());
        let second = clients[1].ask("tools/call", &told).round();
        let then = second.answered(&call, |_| ANSWER.to_owned());
        let asked = clients[0].ask("tools/call", &then);
        let last = asked.round().answered(&call, |_| ANSWER.to_owned());
        assert_eq!(ran(&room, "a"), before + 3);
        for late in [&told, &then, &call] {
            let answer = clients[1].ask("tools/call", late);
            assert_eq!(answer.result(), asked.result(), "what is open is asked again");
        }
        let done = clients[1].ask("tools/call", &last);
        assert!(done.to_string().contains("complete"), "{done}");
        for late in [&told, &then, &last, &call] {
            assert_eq!(clients[0].ask("tools/call", late).result(), done.result());
        }
        assert_eq!(ran(&room, "a"), before + 4, "four rounds, each once");
    }
}

#[test]
fn an_answer_that_is_too_large_is_not_kept_and_its_call_is_not_run_again() {
    let room = Room::new();
    let text = "x".repeat(300 * 1024);
    let large = say::steps([say::text(&text)]);
    room.config([("a", room.fake("a").tool("large", large).entry())]);
    let platform = room.platform(&["--config", &config(&room)]);
    let key = platform.key("caller");
    process::wait_until("the tool is there", LIMIT, || platform.tool_names(&key) == ["a.large"]);
    let rest = platform.rest(Some(&key));
    assert!(rest.send(&ask("a.large", "{}", "k")).is(200).to_string().len() > text.len());
    rest.send(&ask("a.large", "{}", "k")).problem(409, "answer-not-kept");
    let session = platform.mcp(&key);
    session.ask("tools/call", &params("a.large", "{}", "m")).result();
    let again = session.ask("tools/call", &params("a.large", "{}", "m"));
    assert_eq!(again.code(), -31020, "{again}");
    assert_eq!(ran(&room, "a"), 2);
}

#[test]
fn a_call_that_did_not_run_may_be_made_again_under_its_key() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let key = platform.key("caller");
    let rest = platform.rest(Some(&key));
    let session = platform.mcp(&key);
    platform.act(&id, "disconnect");
    platform.wait_status(&id, "DISCONNECTED");
    rest.send(&ask("a.echo", "{}", "k")).problem(503, "server-unavailable");
    platform.act(&id, "connect");
    platform.wait_status(&id, "CONNECTED");
    let answer = rest.send(&ask("a.echo", "{}", "k"));
    assert_eq!((answer.status(), answer.header(REPLAYED)), (200, None), "{answer}");
    session.ask("tools/call", &params("a.echo", r#"{"n":1}"#, "m")).result();
    assert_eq!(ran(&room, "a"), 2);
}

#[test]
fn keys_outlive_a_platform_that_is_killed_and_are_kept_in_memory_without_one() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::text("waited")]);
    let service = echoing(&room, "a").tool("wait", wait).listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let key = platform.key("caller");
    let done = ask("a.echo", r#"{"n":1}"#, "done");
    let body = platform.rest(Some(&key)).send(&done).response.body;
    // The second answer comes from the store.
    assert_eq!(platform.rest(Some(&key)).send(&done).header(REPLAYED), Some("true"));
    let _open = platform.rest(Some(&key)).begin(&ask("a.wait", "{}", "k"));
    wait_for_calls(&room, 2);
    platform.serve().process().signal(Signal::KILL);
    platform.serve().process().wait_exit(LIMIT);
    let platform = room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    let rest = platform.rest(Some(&key));
    assert_eq!(rest.send(&done).response.body, body);
    rest.send(&ask("a.wait", "{}", "k")).problem(409, "outcome-unknown");
    room.open_gate("go");
    assert_eq!(ran(&room, "a"), 2);
    drop(platform);

    room.config([("b", echoing(&room, "b").entry())]);
    let serve = room.serve(&[]);
    let answers = [serve.streamable(), serve.streamable()].map(|client| {
        client.initialize("2025-11-25").result();
        client.ask("tools/call", &params("b.echo", "{}", "k")).result().to_vec()
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(ran(&room, "b"), 1);
    // A call without a key is another each time.
    let client = serve.http();
    client.assert_echo("b", "echo", "{}");
    client.assert_echo("b", "echo", "{}");
    assert_eq!(ran(&room, "b"), 3);
}
