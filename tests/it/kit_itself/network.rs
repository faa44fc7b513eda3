//! The kit over the network: the scripted server's two transports and the kit's two clients.

use std::time::Duration;

use kit::config::{Fake, Upstream};
use kit::http::{Ask, Connection};
use kit::legacy_sse::LegacySse;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Talk, each_of};
use kit::service::{Service, Wire};
use kit::streamable::Streamable;
use kit::{LIMIT, SOON, ledger, process, say, scan};
use serde_json::json;

/// The server over the network and a client that talks to it directly.
fn meet(fake: Fake<'_>, wire: Wire) -> (Service, Talk) {
    let service = fake.listen(wire);
    let client = match wire {
        Wire::Http => {
            let client = Streamable::new(service.address(), "/mcp");
            client.initialize("2025-11-25").result();
            assert_eq!(client.listen(), 200);
            Talk::Http(client)
        }
        Wire::Sse => {
            let client = LegacySse::open(service.address(), "/sse");
            client.initialize("2025-11-25").result();
            Talk::Sse(Box::new(client))
        }
    };
    (service, client)
}

const WIRES: [Wire; 2] = [Wire::Http, Wire::Sse];

#[test]
fn echo_and_ledger_keep_every_byte_over_the_network() {
    for reply in ["json", "sse"] {
        each_of(WIRES, |wire| {
            let room = Room::new();
            let fake = room.fake("a").tool("mirror", say::mirror());
            let (_service, client) = meet(fake.http(json!({ "reply": reply })), wire);
            for arguments in [r#"{ "x":1.0, "x":"@ID@ \ud800" }"#, r#"{"y":"é"}"#] {
                assert_eq!(client.call("mirror", arguments).result(), arguments.as_bytes());
                let calls = ledger::calls(&room.ledger("a"));
                let arrived = scan::path(&calls[calls.len() - 1], &["params", "arguments"]);
                assert_eq!(arrived, Some(arguments.as_bytes()));
            }
            let head = &ledger::heads_of(&room.ledger("a"), "tools/call")[0];
            assert_eq!(head.method(), "POST");
            assert!(head.header("content-length").is_some(), "{head:?}");
            client.assert_only_protocol();
        });
    }
}

#[test]
fn large_answers_and_many_at_once_arrive() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let huge = say::steps([say::huge(3 << 20, say::Place::Last)]);
        let fake = room.fake("a").tool("mirror", say::mirror()).tool("huge", huge);
        let (_service, client) = meet(fake, wire);
        assert!(client.call("huge", "{}").result().len() > 3 << 20);
        let ids: Vec<_> =
            (0..200).map(|n| (n, client.begin("mirror", &format!(r#"{{"n":{n}}}"#)))).collect();
        for (n, id) in ids {
            let answer = client.answer(&id, LIMIT);
            assert_eq!(answer.result(), format!(r#"{{"n":{n}}}"#).as_bytes());
        }
        client.assert_only_protocol();
    });
}

#[test]
fn everything_but_tools_is_there_over_every_transport() {
    each_of(Upstream::ALL, |upstream| {
        let room = Room::new();
        let pages = json!([
            { "at": null, "items": [say::resource("x://1", "One")], "next": "n" },
            { "at": "n", "items": [say::resource("x://2", "Two")] },
        ]);
        let fake = room
            .fake("a")
            .list("resources", pages)
            .read("*", say::content())
            .template("x://t/{id}", "T")
            .prompt("p", "a prompt")
            .completions()
            .logging()
            .instructions("be kind")
            .tool("touch", say::steps([say::updated("x://1"), say::text("done")]));
        let client = match upstream {
            Upstream::Stdio => Talk::Stdio(super::direct(&fake.entry())),
            Upstream::Http => {
                let (service, client) = meet(fake, Wire::Http);
                room.keep(service);
                client
            }
            _ => {
                let (service, client) = meet(fake, Wire::Sse);
                room.keep(service);
                client
            }
        };
        let uris = client.list_of("resources/list", "resources", "uri");
        assert_eq!(uris.len(), 2);
        let templates = client.list_of("resources/templates/list", "resourceTemplates", "name");
        assert_eq!(templates.len(), 1);
        let prompts = client.list_of("prompts/list", "prompts", "name");
        assert_eq!(prompts.len(), 1);
        let read = client.ask("resources/read", r#"{"uri":"x://t/7"}"#);
        assert!(String::from_utf8_lossy(read.result()).contains(r#""uri":"x://t/7""#), "{read}");
        client.ask("prompts/get", r#"{"name":"p","arguments":{}}"#).result();
        client.ask("completion/complete", "{}").result();
        client.ask("logging/setLevel", r#"{"level":"debug"}"#).result();
        client.call("touch", "{}").result();
        client.ask("resources/subscribe", r#"{"uri":"x://1"}"#).result();
        client.call("touch", "{}").result();
        let updated = "notifications/resources/updated";
        client.notification(updated, LIMIT);
        assert_eq!(client.try_wait_for(Duration::ZERO, |l| l.is_notification(updated)), None);
        assert_eq!(client.ask("no/such", "{}").code(), -32601);
    });
}

#[test]
fn questions_progress_and_cancellation_go_both_ways() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let question = say::ask("roots/list", "{}");
        let ask = say::steps([say::progress(2), question, say::result(r#"{"heard":@ANSWER@}"#)]);
        let stop =
            say::steps([say::until_cancelled(), say::push(r#"{"jsonrpc":"2.0","method":"x"}"#)]);
        let (_service, client) = meet(room.fake("a").tool("ask", ask).tool("stop", stop), wire);
        let id = client
            .start("tools/call", r#"{"name":"ask","arguments":{},"_meta":{"progressToken":5}}"#);
        client.notification("notifications/progress", LIMIT);
        let question = client.question("roots/list", LIMIT);
        client.reply(&question, r#""result":{ "roots":[1.0] }"#);
        let answer = client.answer(&id, LIMIT);
        let heard = scan::path(answer.result(), &["heard", "result"]);
        assert_eq!(heard, Some(&br#"{ "roots":[1.0] }"#[..]));
        let id = client.begin("stop", "{}");
        let there = || ledger::calls(&room.ledger("a")).len() == 2;
        process::wait_until("the call is there", LIMIT, there);
        client.cancel(&id);
        client.notification("x", LIMIT);
    });
}

#[test]
fn sessions_are_opened_checked_forgotten_and_ended() {
    let room = Room::new();
    let forget = say::steps([say::net::forget_sessions(), say::text("forgotten")]);
    let (service, client) =
        meet(room.fake("a").tool("echo", say::echo()).tool("forget", forget), Wire::Http);
    let Talk::Http(client) = client else { unreachable!("asked for") };
    let mut plain = Connection::open(service.address());
    let ping = Ask::post("/mcp", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(plain.ask(&ping).status(), 400, "no session");
    assert_eq!(plain.ask(&ping.clone().header("Mcp-Session-Id", "x")).status(), 404);
    assert_eq!(plain.ask(&client.dress(ping.clone())).status(), 200);
    client.call("forget", "{}").result();
    assert_eq!(plain.ask(&client.dress(ping)).status(), 404);
    let again = Streamable::new(service.address(), "/mcp");
    again.initialize("2025-11-25").result();
    assert_ne!(again.session(), client.session());
    assert_eq!(again.delete(), 200);
    assert_eq!(again.delete(), 404);
}

#[test]
fn a_dropped_stream_is_resumed_where_it_stopped() {
    let room = Room::new();
    let drop = say::steps([
        say::net::drop_stream(Some(10)),
        say::gate(&room, "go"),
        say::result(r#"{"late":true}"#),
    ]);
    let fake = room.fake("a").tool("drop", drop).http(json!({ "events": true, "prime": true }));
    let (_service, client) = meet(fake, Wire::Http);
    let Talk::Http(client) = client else { unreachable!("asked for") };
    let mut connection = client.connection();
    connection.begin(&client.dress(Ask::post("/mcp", kit::mcp::call("7", "drop", "{}"))));
    assert!(connection.head(LIMIT).is_stream());
    let prime = connection.event(LIMIT).expect("a first event");
    assert!(prime.id.is_some() && prime.data.is_empty());
    let retry = connection.event(LIMIT).expect("a second event");
    assert_eq!(retry.retry, Some(10));
    assert_eq!(connection.event(SOON), None);
    assert!(connection.is_free(), "the response ended as it should");
    let resume = Ask::get("/mcp").header("Last-Event-ID", &retry.id.expect("an id"));
    connection.begin(&client.dress(resume));
    assert!(connection.head(LIMIT).is_stream());
    room.open_gate("go");
    let answer = connection.message(LIMIT).expect("the answer");
    assert_eq!(scan::path(&answer.data, &["result", "late"]), Some(&b"true"[..]));
}

#[test]
fn faults_of_http_are_committed_as_written() {
    let room = Room::new();
    let call = r#"{"jsonrpc":"2.0","id":@ID@,"result":{}}"#;
    let fake = room
        .fake("a")
        .tool("moved", say::steps([say::net::http(302, &[("Location", "http://x/")], "")]))
        .tool("typed", say::steps([say::net::typed("text/html")]))
        .tool("short", {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{";
            say::steps([say::net::raw(head), say::net::hang_up()])
        })
        .tool("pieces", say::steps([say::pieces(1, call)]))
        .tool("gone", say::steps([say::net::hang_up()]))
        .tool("end", say::steps([say::net::end()]))
        .tool("once", say::first(1, &say::steps([say::net::http(503, &[], "")]), &say::mirror()));
    let (_service, client) = meet(fake, Wire::Http);
    let Talk::Http(client) = client else { unreachable!("asked for") };
    let ask = |tool: &str| client.dress(Ask::post("/mcp", kit::mcp::call("7", tool, "{}")));
    let mut connection = client.connection();
    let moved = connection.ask(&ask("moved"));
    assert_eq!((moved.status(), moved.head.header("location")), (302, Some("http://x/")));
    assert_eq!(connection.ask(&ask("typed")).head.header("content-type"), Some("text/html"));
    assert_eq!(connection.ask(&ask("once")).status(), 503);
    assert_eq!(connection.ask(&ask("once")).status(), 200);
    let pieces = connection.ask(&ask("pieces"));
    assert_eq!(pieces.text(), "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n");
    assert_eq!(connection.ask(&ask("end")).text(), "");
    connection.begin(&ask("short"));
    connection.head(LIMIT);
    assert_eq!(connection.body(LIMIT), b"{");
    let mut connection = client.connection();
    connection.begin(&ask("gone"));
    assert!(connection.is_closed_within(LIMIT));
    assert_eq!(connection.unread(), "");
}

#[test]
fn keep_alive_can_end_with_or_without_a_word() {
    for (close, said) in [("announced", true), ("silent", false)] {
        let room = Room::new();
        let fake = room.fake("a").tool("echo", say::echo()).http(json!({ "close_each": close }));
        let service = fake.listen(Wire::Http);
        let mut connection = Connection::open(service.address());
        let response = connection.ask(&Ask::post("/mcp", kit::mcp::initialize("1", "2025-11-25")));
        assert_eq!(response.head.header("connection").is_some(), said);
        assert!(connection.is_closed_within(LIMIT));
    }
}

#[test]
fn a_killed_network_server_comes_back_at_its_address() {
    let room = Room::new();
    let mut service = room.fake("a").tool("echo", say::echo()).listen(Wire::Sse);
    let before = service.address();
    assert!(process::is_alive(service.pid()));
    service.restart();
    assert_eq!(service.address(), before);
    let client = LegacySse::open(before, "/sse");
    client.initialize("2024-11-05").result();
    assert_eq!(ledger::started(&room.ledger("a")).len(), 2);
    service.kill();
    assert!(client.has_ended(LIMIT));
}

/// A server that refuses and closes does not read what comes after: a client that writes the next
/// request there waits for an answer in vain.
#[test]
fn a_connection_is_not_used_again_after_an_answer_that_closes_it() {
    /// The client puts a connection aside a moment after its answer: one of these meets it there.
    const TIMES: usize = 50;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let refusing = std::thread::spawn(move || {
        let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"too large"}}"#;
        let head = "HTTP/1.1 413 Content Too Large\r\nContent-Type: application/json\r\n";
        let answer =
            format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let accept = |_| {
            let (stream, _) = listener.accept().expect("a client");
            std::io::Write::write_all(&mut &stream, answer.as_bytes()).expect("it reads");
            stream // stays open, and nothing is read from it
        };
        (0..TIMES).map(accept).collect::<Vec<_>>()
    });
    let client = Streamable::new(address, "/mcp");
    for _ in 0..TIMES {
        assert_eq!(client.post("{}").status, 413);
        assert!(client.inbox().take(LIMIT, |_| true).is_some(), "the answer was read");
    }
    drop(refusing.join());
}
