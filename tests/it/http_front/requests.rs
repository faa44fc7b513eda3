//! What a single HTTP request gets: statuses, content types, methods, paths, framing.

use std::time::Duration;

use kit::http::{Ask, Connection};
use kit::mcp::{self, Speak};
use kit::{LIMIT, scan};

use super::room;

const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

#[test]
fn an_answer_that_comes_first_is_json_and_the_connection_stays() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    let mut connection = client.connection();
    for number in 0..50 {
        let body = mcp::call(&number.to_string(), "a.mirror", r#"{"x":1.0}"#);
        let response = connection.ask(&client.dress(Ask::post("/mcp", body)));
        assert_eq!(response.status(), 200);
        let kind = response.head.header("content-type").unwrap_or_default().to_owned();
        assert!(kind.starts_with("application/json"), "{kind}");
        assert_eq!(scan::get(&response.body, "result"), Some(&br#"{"x":1.0}"#[..]));
        assert_eq!(scan::get(&response.body, "id"), Some(number.to_string().as_bytes()));
    }
}

#[test]
fn what_has_no_answer_is_accepted_with_202_and_no_body() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    let mut connection = client.connection();
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","id":"nobody asked","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}"#,
    ] {
        let response = connection.ask(&client.dress(Ask::post("/mcp", body)));
        assert_eq!((response.status(), response.body.len()), (202, 0), "{body}");
    }
}

#[test]
fn wrong_methods_types_and_paths_get_their_statuses() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    let ping = || client.dress(Ask::post("/mcp", PING));
    for (what, ask, expected) in [
        ("PUT", client.dress(Ask::new("PUT", "/mcp").body(PING)), 405),
        ("PATCH", client.dress(Ask::new("PATCH", "/mcp").body(PING)), 405),
        ("POST to the stream", Ask::post("/sse", PING), 405),
        ("GET of messages", Ask::get("/messages?sessionId=x"), 405),
        ("no such path", Ask::get("/nowhere"), 404),
        ("a path below", Ask::post("/mcp/x", PING), 404),
        ("a type it does not take", ping().header("Content-Type", "text/plain"), 415),
        ("no type", ping().without("Content-Type"), 415),
        ("a form", ping().header("Content-Type", "application/x-www-form-urlencoded"), 415),
        ("an encoded body", ping().header("Content-Encoding", "gzip"), 415),
        ("one that is encoded twice", ping().header("Content-Encoding", "identity, br"), 415),
        (
            "an encoded body in chunks",
            ping().header("Content-Encoding", "zstd").header("Transfer-Encoding", "chunked"),
            415,
        ),
        (
            "an encoded message of the old transport",
            Ask::post("/messages?sessionId=x", PING).header("Content-Encoding", "gzip"),
            415,
        ),
        ("nothing it can answer with", ping().header("Accept", "text/html"), 406),
        (
            "no stream wanted",
            client.dress(Ask::get("/mcp").header("Accept", "application/json")),
            406,
        ),
        ("a version nobody speaks", ping().header("MCP-Protocol-Version", "1999-01-01"), 400),
        ("no JSON", client.dress(Ask::post("/mcp", "{")), 400),
        ("an empty body", client.dress(Ask::post("/mcp", "")), 400),
        ("no session", Ask::post("/mcp", PING), 400),
        ("an unknown session", Ask::post("/mcp", PING).header("Mcp-Session-Id", "x"), 404),
        ("a stream of no session", Ask::get("/mcp").header("Accept", "text/event-stream"), 400),
        ("messages of nobody", Ask::post("/messages?sessionId=x", PING), 404),
        ("messages without a session", Ask::post("/messages", PING), 400),
        ("DELETE without a session", Ask::new("DELETE", "/mcp"), 400),
        (
            "DELETE of an unknown session",
            Ask::new("DELETE", "/mcp").header("Mcp-Session-Id", "x"),
            404,
        ),
    ] {
        let response = Connection::open(serve.address()).ask(&ask);
        assert_eq!(response.status(), expected, "{what}: {}", response.text());
        if expected == 405 {
            assert!(response.head.header("allow").is_some(), "{what}: {}", response.head.raw);
        }
        if what.contains("encoded") {
            assert!(response.text().contains("send the body plain"), "{what}: {}", response.text());
            assert_eq!(response.head.header("accept-encoding"), Some("identity"), "{what}");
        }
    }
    client.assert_echo("a", "echo", "{}");
}

#[test]
fn what_is_acceptable_is_accepted() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    let ping = || client.dress(Ask::post("/mcp", PING));
    for (what, ask) in [
        ("a charset", ping().header("Content-Type", "application/json; charset=utf-8")),
        ("capitals", ping().header("Content-Type", "Application/JSON")),
        ("a body that is not encoded", ping().header("Content-Encoding", "Identity")),
        ("anything", ping().header("Accept", "*/*")),
        ("qualities", ping().header("Accept", "application/json;q=0.5, text/event-stream;q=0.9")),
        (
            "two headers",
            ping().header("Accept", "application/json").another("Accept", "text/event-stream"),
        ),
        ("no version", ping().without("MCP-Protocol-Version")),
        ("a session in lower case", {
            let session = client.session().unwrap_or_default();
            ping().without("Mcp-Session-Id").header("mcp-session-id", &session)
        }),
        ("space around", client.dress(Ask::post("/mcp", format!("\r\n \t{PING}\n ")))),
    ] {
        let response = Connection::open(serve.address()).ask(&ask);
        assert_eq!(response.status(), 200, "{what}: {}", response.text());
        assert_eq!(scan::get(&response.body, "result"), Some(&b"{}"[..]), "{what}");
    }
}

/// As `date` writes it, of the last seconds: a response may be a second older than its date, and the
/// test slower.
fn recent_dates() -> Vec<String> {
    let date = |ago: u64| {
        let mut command = std::process::Command::new("date");
        command.env("LC_ALL", "C").args(["-u", "-d", &format!("{ago} seconds ago")]);
        let said = command.arg("+%a, %d %b %Y %H:%M:%S GMT").output().expect("there is `date`");
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    };
    (0..=LIMIT.as_secs()).map(date).collect()
}

#[test]
fn every_response_has_its_date() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let call = |tool: &str| client.dress(Ask::post("/mcp", mcp::call("1", tool, "{}")));
    let stream = |path| Ask::get(path).header("Accept", "text/event-stream");
    for (what, ask) in [
        ("an answer", call("a.echo")),
        ("an error", call("a.unknown")),
        ("nothing to say", client.dress(Ask::post("/mcp", r#"{"jsonrpc":"2.0","method":"x"}"#))),
        ("a stream", client.dress(stream("/mcp"))),
        ("a stream of the old transport", stream("/sse")),
        ("a refusal", Ask::post("/mcp", PING)),
        ("no such path", Ask::get("/nowhere")),
        ("health", Ask::get("/healthz")),
        ("a page of another origin", call("a.echo").header("Origin", "http://evil.example")),
        ("no HTTP", Ask::new("G ET", "/")),
        ("the end", client.dress(Ask::new("DELETE", "/mcp"))),
    ] {
        let mut connection = Connection::open(serve.address());
        connection.begin(&ask);
        let head = connection.head(LIMIT);
        let date = head.header("date").unwrap_or_else(|| panic!("{what}: {}", head.raw));
        assert!(recent_dates().iter().any(|recent| recent == date), "{what}: {date}");
        assert_eq!(head.raw.matches("Date: ").count(), 1, "{what}: {}", head.raw);
    }
}

#[test]
fn bad_messages_get_json_rpc_errors() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    for (body, code) in [
        ("{", "-32700"),
        ("", "-32700"),
        ("nonsense", "-32700"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, "-32700"),
        ("7", "-32600"),
        ("[]", "-32600"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "-32600"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "-32600"),
    ] {
        let response = client.connection().ask(&client.dress(Ask::post("/mcp", body)));
        assert!(matches!(response.status(), 200 | 400), "{body}: {}", response.status());
        let found = scan::path(&response.body, &["error", "code"]);
        assert_eq!(found, Some(code.as_bytes()), "{body}: {}", response.text());
    }
    client.assert_echo("a", "echo", "{}");
}

#[test]
fn a_body_may_come_in_chunks_pieces_or_after_a_question() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    let host = serve.address().to_string();
    let body = mcp::call("7", "a.mirror", r#"{"x":1.0}"#);
    let chunked: String = body
        .as_bytes()
        .chunks(7)
        .map(|piece| format!("{:X};a=b\r\n{}\r\n", piece.len(), String::from_utf8_lossy(piece)))
        .collect();
    let ask = client.dress(Ask::post("/mcp", chunked + "0\r\nTrailer: x\r\n\r\n"));
    let chunked = ask.header("Transfer-Encoding", "chunked").bytes(&host);
    let plain = client.dress(Ask::post("/mcp", body.clone())).bytes(&host);
    for bytes in [&chunked, &plain] {
        for size in [1, 3, bytes.len()] {
            let mut connection = client.connection();
            for piece in bytes.chunks(size) {
                connection.send(piece);
            }
            let response = connection.response(LIMIT);
            assert_eq!(scan::get(&response.body, "result"), Some(&br#"{"x":1.0}"#[..]));
        }
    }
    let mut connection = client.connection();
    let ask = client.dress(Ask::post("/mcp", "").header("Expect", "100-continue"));
    let ask = ask.header("Content-Length", &body.len().to_string());
    connection.send(&ask.bytes(&host));
    // Whoever waits for the word gets it; whoever does not may send at once.
    connection.send(body.as_bytes());
    let response = connection.response(LIMIT);
    assert_eq!(scan::get(&response.body, "result"), Some(&br#"{"x":1.0}"#[..]));
}

#[test]
fn a_client_that_waits_for_100_continue_gets_it() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    let body = mcp::call("7", "a.mirror", "{}");
    let ask = client.dress(Ask::post("/mcp", "").header("Expect", "100-continue"));
    let ask = ask.header("Content-Length", &body.len().to_string());
    let mut connection = client.connection();
    connection.send(&ask.bytes(&serve.address().to_string()));
    assert!(connection.try_head(Duration::from_secs(2)).is_none(), "nothing final yet");
    connection.send(body.as_bytes());
    assert_eq!(connection.response(LIMIT).status(), 200);
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    let host = serve.address().to_string();
    let mut connection = client.connection();
    let asks: Vec<u8> = (0..10)
        .flat_map(|n| {
            let body = mcp::call(&n.to_string(), "a.mirror", &format!(r#"{{"n":{n}}}"#));
            client.dress(Ask::post("/mcp", body)).bytes(&host)
        })
        .collect();
    connection.send(&asks);
    for n in 0..10 {
        let response = connection.response(LIMIT);
        let expected = format!(r#"{{"n":{n}}}"#);
        assert_eq!(scan::get(&response.body, "result"), Some(expected.as_bytes()));
    }
}

#[test]
fn smuggled_requests_are_refused_and_never_run() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    let host = serve.address().to_string();
    let session = client.session().unwrap_or_default();
    let smuggled = mcp::call("666", "a.mirror", r#"{"smuggled":1}"#);
    let smuggled = String::from_utf8_lossy(&client.dress(Ask::post("/mcp", smuggled)).bytes(&host))
        .into_owned();
    let base = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: {session}\r\n"
    );
    let requests = [
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", smuggled.len() + 5),
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n".to_owned(),
        "Content-Length: 0\r\nContent-Length: 5\r\n".to_owned(),
        "Content-Length: 0, 5\r\n".to_owned(),
        "Content-Length: +5\r\n".to_owned(),
        "Content-Length: -1\r\n".to_owned(),
        "Content-Length: 0x5\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n".to_owned(),
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
        "Transfer-Encoding:\x0bchunked\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "X: y\r\n Transfer-Encoding: chunked\r\n".to_owned(),
        "Content-Length: 0\rTransfer-Encoding: chunked\r\n".to_owned(),
    ];
    // All at once: each connection stays for a moment after its refusal.
    let mut sent = requests.map(|headers| {
        let mut connection = client.connection();
        connection.send(format!("{base}{headers}\r\n0\r\n\r\n{smuggled}").as_bytes());
        (headers, connection)
    });
    for (headers, connection) in &mut sent {
        let response = connection.try_response(LIMIT);
        let status = response.map_or(0, |response| response.status());
        assert!((400..500).contains(&status), "{headers:?}: {status}");
    }
    for (headers, connection) in &mut sent {
        assert!(connection.is_closed_within(LIMIT), "{headers:?}: the rest is not read");
    }
    client.assert_echo("a", "echo", "{}");
    let calls = kit::ledger::calls(&room.ledger("a"));
    assert!(!calls.iter().any(|call| String::from_utf8_lossy(call).contains("smuggled")));
}

#[test]
fn k22_batches_belong_to_one_revision() {
    let batch = r#"[{"jsonrpc":"2.0","id":"p","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"a.mirror","arguments":{"n":1}}},{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}]"#;
    for (version, taken) in
        [("2024-11-05", false), ("2025-03-26", true), ("2025-06-18", false), ("2025-11-25", false)]
    {
        let room = room();
        let serve = room.serve(&[]);
        let client = serve.streamable();
        client.initialize(version);
        client.list();
        let head = client.post(batch);
        if taken {
            assert_eq!(head.status, 200);
            assert_eq!(client.answer(b"\"p\"", LIMIT).result(), b"{}");
            assert_eq!(client.answer(b"\"c\"", LIMIT).result(), br#"{"n":1}"#);
            assert_eq!(client.answer(b"\"i\"", LIMIT).code(), -32600);
            let only = r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#;
            assert_eq!(client.post(only).status, 202, "nothing to answer");
            let pings: Vec<String> =
                (0..101).map(|n| PING.replace("\"p\"", &n.to_string())).collect();
            let head = client.post(format!("[{}]", pings.join(",")));
            assert_eq!(head.status, 400, "at most 100 members");
        } else {
            assert_eq!(head.status, 400, "{version}");
            assert_eq!(client.answer(b"null", LIMIT).code(), -32600, "{version}");
        }
        client.assert_echo("a", "echo", "{}");
    }
}
