//! Whose pages may talk to us: `Host` and `Origin` on every path, in every disguise.

use kit::http::{Ask, Connection};
use kit::mcp::{self, Speak};
use kit::{foreign, ledger};

use super::room;

/// Every way in.
fn ways() -> Vec<(&'static str, Ask)> {
    let initialize = mcp::initialize("1", "2025-11-25");
    vec![
        ("POST /mcp", Ask::post("/mcp", initialize.clone())),
        ("GET /mcp", Ask::get("/mcp").header("Accept", "text/event-stream")),
        ("DELETE /mcp", Ask::new("DELETE", "/mcp").header("Mcp-Session-Id", "x")),
        ("GET /sse", Ask::get("/sse").header("Accept", "text/event-stream")),
        ("POST /messages", Ask::post("/messages?sessionId=x", initialize)),
    ]
}

#[test]
fn foreign_hosts_are_refused_on_every_way_in() {
    let room = room();
    let serve = room.serve(&[]);
    let port = serve.address().port();
    for host in foreign::hosts(port) {
        for (way, ask) in ways() {
            let response = Connection::open(serve.address()).ask(&ask.header("Host", &host));
            let status = response.status();
            assert!(matches!(status, 400 | 403 | 421), "{way}, Host {host:?}: {status}");
        }
    }
    serve.http().assert_echo("a", "echo", "{}");
}

#[test]
fn foreign_origins_are_forbidden_on_every_way_in() {
    let room = room();
    let serve = room.serve(&[]);
    let port = serve.address().port();
    for origin in foreign::origins(port) {
        for (way, ask) in ways() {
            let response = Connection::open(serve.address()).ask(&ask.header("Origin", &origin));
            assert_eq!(response.status(), 403, "{way}, Origin {origin:?}");
        }
    }
    let twice = Ask::post("/mcp", mcp::initialize("1", "2025-11-25"))
        .header("Origin", &format!("http://localhost:{port}"))
        .another("Origin", "http://evil.example");
    let status = Connection::open(serve.address()).ask(&twice).status();
    assert!(matches!(status, 400 | 403), "two origins: {status}");
    assert!(ledger::calls(&room.ledger("a")).is_empty());
    serve.http().assert_echo("a", "echo", "{}");
}

#[test]
fn our_own_names_and_origins_are_taken() {
    let room = room();
    let serve = room.serve(&[]);
    let port = serve.address().port();
    for host in
        [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("LocalHost:{port}")]
    {
        let ask = Ask::post("/mcp", mcp::initialize("1", "2025-11-25")).header("Host", &host);
        assert_eq!(Connection::open(serve.address()).ask(&ask).status(), 200, "{host}");
        for scheme_and_host in [format!("http://{host}"), format!("http://127.0.0.1:{port}")] {
            let ask = ask.clone().header("Origin", &scheme_and_host);
            let response = Connection::open(serve.address()).ask(&ask);
            assert_eq!(response.status(), 200, "{host} {scheme_and_host}");
        }
    }
}

#[test]
fn trust_2_another_port_of_this_machine_is_another_origin() {
    let room = room();
    let serve = room.serve(&[]);
    let port = serve.address().port();
    let other = if port == 6274 { 6275 } else { 6274 };
    for origin in [
        format!("http://localhost:{other}"),
        format!("http://127.0.0.1:{other}"),
        format!("https://localhost:{other}"),
        "http://localhost".to_owned(),
        "http://127.0.0.1".to_owned(),
        format!("http://127.0.0.2:{port}"),
        format!("http://[::1]:{port}"),
    ] {
        for (way, ask) in ways() {
            let answer = Connection::open(serve.address()).ask(&ask.header("Origin", &origin));
            assert_eq!(answer.status(), 403, "{way}, Origin {origin}");
            assert!(!answer.head.raw.to_ascii_lowercase().contains("access-control-"), "{way}");
            let flag = format!("--allow-origin {origin}");
            assert!(answer.text().contains(&flag), "it says what to do: {}", answer.text());
        }
        let preflight = Ask::new("OPTIONS", "/mcp").header("Access-Control-Request-Method", "POST");
        let answer = Connection::open(serve.address()).ask(&preflight.header("Origin", &origin));
        assert_eq!(answer.status(), 403, "{origin}");
    }
    assert!(ledger::calls(&room.ledger("a")).is_empty());
    let inspector = "http://localhost:6274";
    let serve = room.serve(&["--allow-origin", inspector]);
    let ask = Ask::post("/mcp", mcp::initialize("1", "2025-11-25")).header("Origin", inspector);
    let answer = Connection::open(serve.address()).ask(&ask);
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.head.header("access-control-allow-origin"), Some(inspector));
}

#[test]
fn trust_2_the_public_url_is_an_origin_whatever_host_the_proxy_sends() {
    let room = room();
    let flags = ["--public-url", "https://gate.example:8443/", "--token", "correct-horse-battery"];
    let serve = room.serve(&flags);
    for (origin, expected) in [
        ("https://gate.example:8443", 200),
        ("https://gate.example", 403),
        ("http://gate.example:8443", 403),
    ] {
        let ask = Ask::post("/mcp", mcp::initialize("1", "2025-11-25")).header("Origin", origin);
        let ask = ask.header("Authorization", "Bearer correct-horse-battery");
        let status = Connection::open(serve.address()).ask(&ask).status();
        assert_eq!(status, expected, "{origin}");
    }
}

#[test]
fn only_the_scheme_of_the_public_url_is_trusted() {
    let room = room();
    let flags = ["--public-url", "https://gate.example", "--token", "correct-horse-battery"];
    let serve = room.serve(&flags);
    for (host, origin, expected) in [
        ("gate.example", "https://gate.example", 200),
        ("gate.example", "http://gate.example", 403),
        ("gate.example:443", "http://gate.example:443", 403),
        ("gate.example", "http://gate.example:443", 403),
    ] {
        let ask = Ask::post("/mcp", mcp::initialize("1", "2025-11-25"));
        let ask = ask.header("Host", host).header("Origin", origin);
        let ask = ask.header("Authorization", "Bearer correct-horse-battery");
        let answer = Connection::open(serve.address()).ask(&ask);
        assert_eq!(answer.status(), expected, "{host}, {origin}");
        let allowed = answer.head.header("access-control-allow-origin");
        assert_eq!(allowed, (expected == 200).then_some(origin), "{host}, {origin}");
    }
    // What this machine serves itself has the same rules as ever.
    let here = serve.address().to_string();
    let ask = Ask::post("/mcp", mcp::initialize("1", "2025-11-25"));
    let ask = ask.header("Origin", &format!("http://{here}"));
    let ask = ask.header("Authorization", "Bearer correct-horse-battery");
    assert_eq!(Connection::open(serve.address()).ask(&ask).status(), 200);
}

#[test]
fn more_hosts_and_origins_can_be_allowed() {
    let room = room();
    let names = ["--allow-host", "gate.example", "--allow-origin", "https://app.example"];
    let serve = room.serve(&[&names[..], &["--token", "correct-horse-battery"]].concat());
    let ask = |host: &str, origin: &str| {
        let ask = Ask::post("/mcp", mcp::initialize("1", "2025-11-25"));
        let ask = ask.header("Host", host).header("Origin", origin);
        let ask = ask.header("Authorization", "Bearer correct-horse-battery");
        Connection::open(serve.address()).ask(&ask).status()
    };
    assert_eq!(ask("gate.example", "https://app.example"), 200);
    assert_eq!(ask("gate.example", "https://evil.example"), 403);
    assert_eq!(ask("gate.example", "http://app.example"), 403, "another scheme");
    assert_eq!(ask("gate.example", "https://app.example:8443"), 403, "another port");
    assert_ne!(ask("evil.example", "https://app.example"), 200);
}

#[test]
fn a_missing_or_doubled_host_is_a_bad_request() {
    let room = room();
    let serve = room.serve(&[]);
    let heads = [
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        "GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n",
        "GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "nonsense\r\n\r\n",
        "\u{16}\u{3}\u{1}\r\n\r\n",
    ];
    // All at once: each connection stays for a moment after its refusal.
    let mut sent = heads.map(|head| {
        let mut connection = Connection::open(serve.address());
        connection.send(head.as_bytes());
        (head, connection)
    });
    for (head, connection) in &mut sent {
        let status = connection.try_response(kit::LIMIT).map(|response| response.status());
        assert!(status.is_none_or(|status| matches!(status, 400 | 505)), "{head:?}: {status:?}");
    }
    for (head, connection) in &mut sent {
        assert!(connection.is_closed_within(kit::LIMIT), "{head:?}");
    }
    serve.http().assert_echo("a", "echo", "{}");
}
