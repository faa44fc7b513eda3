//! Calls, streams and pages over TLS, with every kind of client.

use std::io::{Read, Write};

use kit::http::{Ask, Connection};
use kit::legacy_sse::LegacySse;
use kit::mcp::{self, Speak};
use kit::modern::Modern;
use kit::process::wait_until;
use kit::tunnel::{Trust, Tunnel};
use kit::{LIMIT, scan};

use super::{BOTH, Encrypted, TLS12, TLS13};

#[test]
fn clients_of_both_eras_call_over_both_versions_of_tls() {
    let front = Encrypted::start(&[]);
    for version in [&TLS12, &TLS13] {
        let tunnel = Tunnel::to(front.address(), Trust::of(&front.authority, &[version]));
        let client = front.client(&tunnel);
        assert_eq!(client.listen(), 200, "the GET stream");
        assert_eq!(client.list().len(), 3);
        for _ in 0..20 {
            client.assert_echo("a", "echo", r#"{ "n":1.0 }"#);
        }
        let old = LegacySse::open(tunnel.address(), "/sse");
        old.initialize_with("2025-11-25", "{}").result();
        old.assert_echo("a", "echo", "{}");
        Modern::http(tunnel.address(), "{}").assert_echo("a", "echo", "{}");
        assert!(tunnel.failures().is_empty(), "{:?}", tunnel.failures());
    }
}

#[test]
fn large_messages_pass_unchanged_in_both_directions() {
    let front = Encrypted::start(&[]);
    let tunnel = front.tunnel();
    let client = front.client(&tunnel);
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(3 << 20));
    for _ in 0..3 {
        client.assert_echo("a", "echo", &large);
    }
}

#[test]
fn requests_that_come_in_one_record_are_answered_in_their_order() {
    let front = Encrypted::start(&[]);
    let tunnel = front.tunnel();
    let client = front.client(&tunnel);
    let host = tunnel.address().to_string();
    let ask = |id: &str, tool: &str| {
        client.dress(Ask::post("/mcp", mcp::call(id, tool, r#"{"n":1}"#))).bytes(&host)
    };
    // The first waits, so the others wait behind it in the reader, and nothing more comes.
    let all = [ask("1", "a.wait"), ask("2", "a.echo"), ask("3", "a.echo")].concat();
    let mut connection = client.connection();
    connection.send(&all);
    wait_until("the first call is open", LIMIT, || {
        !kit::ledger::calls(&front.room.ledger("a")).is_empty()
    });
    front.room.open_gate("go");
    for id in ["1", "2", "3"] {
        let response = connection.response(LIMIT);
        assert_eq!(scan::get(&response.body, "id"), Some(id.as_bytes()), "{}", response.text());
    }
}

#[test]
fn a_client_that_says_goodbye_after_its_request_still_gets_the_answer() {
    let front = Encrypted::start(&[]);
    for version in BOTH {
        let trust = Trust::of(&front.authority, &[version]);
        let (mut stream, mut tls) = trust.connect(front.address()).expect("a handshake");
        let ask = Ask::get("/healthz").bytes(&front.address().to_string());
        tls.writer().write_all(&ask).expect("in memory");
        tls.send_close_notify();
        while tls.wants_write() {
            tls.write_tls(&mut stream).expect("it is there");
        }
        let mut answer = Vec::new();
        // An end without a goodbye is one as well.
        drop(rustls_read(&mut tls, &mut stream, &mut answer));
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

fn rustls_read(
    tls: &mut rustls::ClientConnection,
    stream: &mut std::net::TcpStream,
    answer: &mut Vec<u8>,
) -> std::io::Result<usize> {
    rustls::Stream::new(tls, stream).read_to_end(answer)
}

#[test]
fn whoever_does_not_speak_tls_is_told_so() {
    let front = Encrypted::start(&[]);
    let mut connection = Connection::open(front.address());
    let response = connection.ask(&Ask::get("/healthz"));
    assert_eq!(response.status(), 400);
    assert!(response.text().contains("https://"), "{}", response.text());
    assert!(connection.is_closed_within(LIMIT));
    front.client(&front.tunnel()).assert_echo("a", "echo", "{}");
}

#[test]
fn only_pages_that_came_over_tls_are_its_own() {
    let front = Encrypted::start(&[]);
    let tunnel = front.tunnel();
    for (scheme, status) in [("https", 200), ("http", 403)] {
        let origin = format!("{scheme}://{}", tunnel.address());
        let ask = Ask::get("/healthz").header("Origin", &origin);
        assert_eq!(Connection::open(tunnel.address()).ask(&ask).status(), status, "{origin}");
    }
}

#[test]
fn the_dashboard_sets_cookies_for_tls_only() {
    use kit::platform::ADMIN;
    let room = kit::room::Room::new();
    let authority = kit::certificates::Authority::new();
    let files = authority.server().files(&room, "front");
    let serve = kit::serve::Serve::start(room.platform_command(&super::shown(&files)));
    let tunnel = Tunnel::to(serve.address(), Trust::of(&authority, &BOTH));
    let admin = kit::rest::Rest::new(tunnel.address(), Some(ADMIN));
    admin.get("/api/v1/keys").is(200);
    let body = format!("token={ADMIN}");
    let ask = Ask::new("POST", "/sign-in")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Origin", &format!("https://{}", tunnel.address()))
        .body(body);
    let answer = Connection::open(tunnel.address()).ask(&ask);
    let cookie = answer.head.header("set-cookie").unwrap_or_default().to_owned();
    assert!(cookie.starts_with("__Host-") && cookie.contains("; Secure"), "{}", answer.head.raw);
}
