//! Sessions of the network fronts: opened, told apart, ended.

use std::collections::HashSet;
use std::time::Duration;

use kit::config::Upstream;
use kit::http::{Ask, Connection};
use kit::legacy_sse::LegacySse;
use kit::line::Line;
use kit::mcp::{self, Speak};
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::{LIMIT, ledger, process, say, scan};

use super::room;

#[test]
fn session_ids_are_visible_long_and_never_the_same() {
    let room = room();
    let serve = room.serve(&[]);
    let mut seen = HashSet::new();
    for _ in 0..50 {
        let client = serve.streamable();
        client.initialize("2025-11-25").result();
        let id = client.session().expect("a session id");
        assert!(id.len() >= 16 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
        assert!(seen.insert(id));
    }
}

#[test]
fn a_deleted_session_is_gone_and_its_streams_end() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let mut stream = client.connection();
    stream.begin(&client.dress(Ask::post("/mcp", mcp::call("7", "a.wait", "{}"))));
    let status = client.delete();
    assert!(matches!(status, 200 | 202 | 204), "{status}");
    let ping = client.dress(Ask::post("/mcp", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
    assert_eq!(client.connection().ask(&ping).status(), 404);
    assert_eq!(client.delete(), 404);
    assert_eq!(client.listen(), 404);
    let ended = stream.try_response(LIMIT).is_some() || stream.is_closed_within(LIMIT);
    assert!(ended, "an open call of a deleted session is settled");
    serve.http().assert_echo("a", "echo", "{}");
}

#[test]
fn deleting_a_session_answers_its_open_calls_wherever_they_are() {
    for upstream in Upstream::ALL {
        let room = Room::new();
        let wait = || say::steps([say::progress(1), say::gate(&room, "go"), say::text("late")]);
        let a = room.fake("a").tool("wait", wait()).over(upstream);
        let mut narrow = room.fake("narrow").tool("wait", wait()).over(upstream);
        narrow["maxConcurrency"] = 1.into();
        room.config([("a", a), ("narrow", narrow)]);
        let serve = room.serve(&[]);
        let client = serve.http();
        client.list();
        let begin = |id: &str, tool: &str, meta: &str| {
            let mut connection = client.connection();
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"{meta}}}}}"#
            );
            connection.begin(&client.dress(Ask::post("/mcp", body)));
            connection
        };
        let token = r#","_meta":{"progressToken":"t"}"#;
        let mut plain = begin("101", "a.wait", "");
        let mut streaming = begin("102", "a.wait", token);
        let mut first = begin("103", "narrow.wait", "");
        let calls = |server| ledger::calls(&room.ledger(server)).len();
        process::wait_until("both are with it", LIMIT, || calls("a") == 2 && calls("narrow") == 1);
        assert!(streaming.head(LIMIT).is_stream());
        streaming.message(LIMIT).expect("progress");
        let mut waiting = begin("104", "narrow.wait", "");
        client.ask("ping", "{}").result(); // it came later, and so the call is there, too
        assert_eq!(client.delete(), 204);
        let error = |body: Vec<u8>, id: &str, ran: &str| {
            let answer = Line(body);
            assert_eq!(answer.id(), Some(id.as_bytes()), "{upstream:?}: {answer}");
            assert_eq!(answer.code(), -31009, "{upstream:?}: {answer}");
            let message = answer.message();
            assert!(message.contains("ended its session") && message.contains(ran), "{message}");
        };
        error(plain.response(LIMIT).body, "101", "may have run");
        error(streaming.message(LIMIT).expect("the answer").data, "102", "may have run");
        assert_eq!(streaming.event(LIMIT), None, "its stream ends");
        error(first.response(LIMIT).body, "103", "may have run");
        error(waiting.response(LIMIT).body, "104", "did not run");
        let told = || ledger::with_method(&room.ledger("a"), "notifications/cancelled").len();
        process::wait_until("the server is told", LIMIT, || told() == 2);
        assert_eq!(calls("narrow"), 1, "what waited did not run");
        room.open_gate("go");
    }
}

#[test]
fn k19_equal_ids_and_tokens_of_many_sessions_do_not_cross() {
    let room = room();
    let serve = room.serve(&[]);
    let fronts = Front::NETWORK.iter().cycle().take(20);
    let clients: Vec<_> = fronts.map(|front| serve.talk(*front, "{}")).collect();
    let ids = ["0", "1", "\"1\"", "1.0", "\"x\""];
    for (number, client) in clients.iter().enumerate() {
        for id in ids {
            let arguments = format!(r#"{{"client":{number},"id":{id}}}"#);
            client.send_line(mcp::call(id, "a.wait", &arguments));
        }
    }
    let all = clients.len() * ids.len();
    let there = || ledger::calls(&room.ledger("a")).len() == all;
    process::wait_until("every call is open", LIMIT, there);
    room.open_gate("go");
    for (number, client) in clients.iter().enumerate() {
        for id in ids {
            let answer = client.answer(id.as_bytes(), LIMIT);
            let expected = format!(r#"{{"client":{number},"id":{id}}}"#);
            assert_eq!(answer.result(), expected.as_bytes(), "crossed");
        }
        let more = client.try_wait_for(Duration::ZERO, |line| line.id().is_some());
        assert_eq!(more, None, "an answer too many");
    }
    let calls = ledger::calls(&room.ledger("a"));
    let own: HashSet<_> = calls.iter().filter_map(|call| scan::get(call, "id")).collect();
    assert_eq!(own.len(), all, "our own ids are never the same");
}

#[test]
fn k19_an_id_that_is_in_use_is_refused_and_the_first_call_is_not_disturbed() {
    each_of(Front::NETWORK, |front| {
        let room = room();
        let serve = room.serve(&[]);
        let client = serve.talk(front, "{}");
        client.list();
        client.send_line(mcp::call("7", "a.wait", r#"{"which":"first"}"#));
        let there = || ledger::calls(&room.ledger("a")).len() == 1;
        process::wait_until("the first is open", LIMIT, there);
        client.send_line(mcp::call("7", "a.mirror", r#"{"which":"second"}"#));
        assert_eq!(client.answer(b"7", LIMIT).code(), -32600);
        room.open_gate("go");
        assert_eq!(client.answer(b"7", LIMIT).result(), br#"{"which":"first"}"#);
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 1);
    });
}

#[test]
fn k18_a_client_can_cancel_only_what_is_its_own() {
    each_of(Front::NETWORK, |front| {
        let room = room();
        let serve = room.serve(&[]);
        let (owner, other) = (serve.talk(front, "{}"), serve.talk(front, "{}"));
        owner.list();
        owner.send_line(mcp::call("7", "a.wait", r#"{"n":1}"#));
        let there = || ledger::calls(&room.ledger("a")).len() == 1;
        process::wait_until("the call is open", LIMIT, there);
        let own = ledger::calls(&room.ledger("a"));
        let own = scan::get(&own[0], "id").expect("an id").to_vec();
        other.cancel(b"7");
        other.cancel(&own);
        other.assert_echo("a", "echo", "{}");
        let cancels = ledger::with_method(&room.ledger("a"), "notifications/cancelled");
        assert!(cancels.is_empty(), "nobody cancels another's call");
        room.open_gate("go");
        assert_eq!(owner.answer(b"7", LIMIT).result(), br#"{"n":1}"#);
    });
}

#[test]
fn one_session_is_not_reached_through_the_other_front() {
    let room = room();
    let serve = room.serve(&[]);
    let (http, sse) = (serve.http(), serve.sse());
    let query = sse.target().split("sessionId=").nth(1).unwrap_or_default().to_owned();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let session = http.session().unwrap_or_default();
    let through_messages = Ask::post(&format!("/messages?sessionId={session}"), ping);
    assert_eq!(Connection::open(serve.address()).ask(&through_messages).status(), 404);
    let through_mcp = Ask::post("/mcp", ping).header("Mcp-Session-Id", &query);
    assert_eq!(Connection::open(serve.address()).ask(&through_mcp).status(), 404);
}

#[test]
fn a_legacy_session_ends_with_its_stream() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.sse();
    client.assert_echo("a", "echo", "{}");
    let target = client.target().to_owned();
    client.close();
    let gone = || {
        let ask = Ask::post(&target, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        Connection::open(serve.address()).ask(&ask).status() == 404
    };
    process::wait_until("the session is gone", LIMIT, gone);
}

#[test]
fn the_endpoint_of_a_legacy_session_is_on_the_same_origin() {
    let room = room();
    let serve = room.serve(&[]);
    let client = LegacySse::open(serve.address(), "/sse");
    let endpoint = client.endpoint();
    let own = format!("http://{}/messages?", serve.address());
    assert!(endpoint.starts_with("/messages?") || endpoint.starts_with(&own), "{endpoint}");
}

#[test]
fn requests_before_the_handshake_are_settled() {
    let room = room();
    let serve = room.serve(&[]);
    let client = LegacySse::open(serve.address(), "/sse");
    client.send_line(mcp::call("1", "a.echo", "{}"));
    client.answer(b"1", LIMIT);
    client.initialize("2025-11-25").result();
    client.assert_echo("a", "echo", "{}");
    let http = serve.streamable();
    http.initialize("2025-11-25").result();
    let again = http.request(mcp::initialize("\"again\"", "2025-11-25"));
    assert!(again.try_error().is_some() || again.try_result().is_some(), "{again}");
    http.assert_echo("a", "echo", "{}");
}

#[test]
fn subscriptions_of_many_sessions_are_kept_apart() {
    let room = kit::room::Room::new();
    let touch = say::steps([say::updated("x://a"), say::text("done")]);
    let a = room.fake("a").resource("x://a", "A").tool("touch", touch);
    room.config([("a", a.entry())]);
    let serve = room.serve(&[]);
    let clients: Vec<_> =
        Front::NETWORK.iter().cycle().take(6).map(|front| serve.talk(*front, "{}")).collect();
    clients[0].list();
    let params = r#"{"uri":"x://a"}"#;
    for client in &clients[..4] {
        client.ask("resources/subscribe", params).result();
    }
    let subscribed = || ledger::with_method(&room.ledger("a"), "resources/subscribe").len();
    assert_eq!(subscribed(), 4, "each gets the server's own answer");
    let updated = "notifications/resources/updated";
    let touch_and_count = |expected: [bool; 6]| {
        clients[5].call("a.touch", "{}").result();
        let told = |client: &kit::scene::Talk, limit| {
            client.try_wait_for(limit, |line| line.is_notification(updated)).is_some()
        };
        // A second for those who are to hear nothing.
        let limit = |wanted| if wanted { LIMIT } else { Duration::from_secs(1) };
        let first: Vec<bool> = clients
            .iter()
            .zip(expected)
            .map(|(client, wanted)| told(client, limit(wanted)))
            .collect();
        assert_eq!(first, expected);
        assert!(!clients.iter().any(|client| told(client, Duration::ZERO)), "told twice");
    };
    touch_and_count([true, true, true, true, false, false]);
    clients[0].ask("resources/unsubscribe", params).result();
    clients[1].ask("resources/unsubscribe", params).result();
    touch_and_count([false, false, true, true, false, false]);
    let unsubscribed = || ledger::with_method(&room.ledger("a"), "resources/unsubscribe").len();
    assert_eq!(unsubscribed(), 0, "others still listen");
    clients[2].ask("resources/unsubscribe", params).result();
    drop(clients.into_iter().nth(3));
    process::wait_until("nobody listens any more", LIMIT, || unsubscribed() == 1);
}
