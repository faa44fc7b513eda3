//! K31: slow heads, half-open peers, bodies and heads without end.

use std::time::Duration;

use kit::http::{Ask, Connection};
use kit::limit::Limit;
use kit::mcp::{self, Speak};
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::{LIMIT, ledger, process};

use super::{furnished, room};

#[test]
fn k31_a_head_over_the_limit_is_refused_and_the_connection_closed() {
    let room = room();
    let serve = room.serve(&[]);
    let host = serve.address().to_string();
    let long = "x".repeat(64 << 10);
    let many: String = (0..500).map(|n| format!("X-{n}: y\r\n")).collect();
    for head in [
        format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nX: {long}\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n{many}\r\n"),
        format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nX: {long}"),
    ] {
        let mut connection = Connection::open(serve.address());
        // The other side may close before everything is written.
        drop(connection.try_send(head.as_bytes()));
        if let Some(response) = connection.try_response(LIMIT) {
            assert!(matches!(response.status(), 400 | 414 | 431), "{}", response.status());
        }
        assert!(connection.is_closed_within(LIMIT));
    }
    serve.http().assert_echo("a", "echo", "{}");
}

#[test]
fn k31_a_body_over_the_limit_is_refused_before_it_is_read() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let pid = serve.process().pid().as_raw_nonzero().get();
    let before = process::peak_memory_kib(pid);
    let host = serve.address().to_string();
    let huge = client.dress(Ask::post("/mcp", "{")).header("Content-Length", "999999999999");
    let endless = client.dress(Ask::post("/mcp", "")).header("Transfer-Encoding", "chunked");
    for ask in [huge, endless] {
        let mut connection = client.connection();
        connection.send(&ask.bytes(&host));
        let chunk = [&b"100000\r\n"[..], &vec![b' '; 1 << 20], b"\r\n"].concat();
        for _ in 0..64 {
            if connection.try_send(&chunk).is_err() {
                break;
            }
        }
        if let Some(response) = connection.try_response(LIMIT) {
            assert_eq!(response.status(), 413);
        }
        assert!(connection.is_closed_within(LIMIT));
    }
    let grown = process::peak_memory_kib(pid).saturating_sub(before);
    assert!(grown < 32 << 10, "{grown} KiB more");
    client.assert_echo("a", "echo", "{}");
}

#[test]
fn k31_the_body_limit_is_4_mib_on_both_fronts() {
    each_of(Front::NETWORK, |front| {
        let room = room();
        let serve = room.serve(&[]);
        let client = serve.talk(front, "{}");
        client.list();
        let fits = format!(r#"{{"text":"{}"}}"#, "y".repeat((4 << 20) - 1_000));
        assert_eq!(client.call("a.mirror", &fits).result().len(), fits.len());
        let over =
            mcp::call("\"over\"", "a.mirror", &format!(r#"{{"t":"{}"}}"#, "y".repeat(4 << 20)));
        let status = match &client {
            kit::scene::Talk::Http(http) => http.post(over).status,
            kit::scene::Talk::Sse(sse) => sse.post(over),
            kit::scene::Talk::Stdio(_) | kit::scene::Talk::Modern(_) => {
                unreachable!("a network front of the older era")
            }
        };
        assert_eq!(status, 413);
        client.assert_echo("a", "echo", "{}");
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 2);
    });
}

#[test]
fn k31_a_longest_message_that_was_asked_for_holds_for_bodies_too_also_if_it_is_the_usual_one() {
    let room = room();
    for (limit, body) in [("64M", 5 << 20), ("6M", 5 << 20)] {
        let serve = room.serve(&["--max-message", limit]);
        let client = serve.http();
        client.list();
        let fits = format!(r#"{{"text":"{}"}}"#, "y".repeat(body));
        assert_eq!(client.call("a.mirror", &fits).result().len(), fits.len(), "{limit}");
    }
}

#[test]
fn k31_slow_heads_and_bodies_are_cut_off_and_hold_up_nobody() {
    let room = furnished(Room::hurried());
    let serve = room.serve(&[]);
    let client = serve.http();
    let host = serve.address().to_string();
    let body = client.dress(Ask::post("/mcp", "{")).header("Content-Length", "1000").bytes(&host);
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nX: ");
    let mut slow: Vec<Connection> = (0..100).map(|_| Connection::open(serve.address())).collect();
    for (number, connection) in slow.iter_mut().enumerate() {
        connection.send(if number % 2 == 0 { head.as_bytes() } else { &body });
    }
    client.assert_echo("a", "echo", "{}");
    // One byte now and then keeps none of them alive: the limit is on the whole.
    let drip = Limit::from(2 * LIMIT).begin();
    let mut open = slow.len();
    while open > 0 && !drip.is_over() {
        for connection in &mut slow {
            drop(connection.try_send(b"x"));
        }
        client.assert_echo("a", "echo", "{}");
        slow.retain_mut(|connection| !connection.is_closed_within(Duration::from_millis(5)));
        open = slow.len();
    }
    assert_eq!(open, 0, "still open after {drip}");
}

#[test]
fn k31_a_thousand_half_open_connections_hold_up_nobody() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let count = limit.map_or(400, |limit| (limit / 3).min(1_000));
    let idle: Vec<Connection> =
        (0..count).filter_map(|_| Connection::try_open(serve.address()).ok()).collect();
    for _ in 0..20 {
        client.assert_echo("a", "echo", "{}");
    }
    let fresh = serve.http();
    fresh.assert_echo("a", "echo", "{}");
    assert!(!idle.is_empty());
    drop(idle);
    serve.sse().assert_echo("a", "echo", "{}");
}

#[test]
fn k29_without_file_descriptors_accepting_pauses_and_recovers() {
    let room = room();
    let serve = room.serve(&[]);
    serve.http().list();
    let pid = serve.process().pid();
    let open = std::fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).expect("its files");
    let limit = open.count() as u64 + 20;
    let rlimit = rustix::process::Rlimit { current: Some(limit), maximum: Some(limit) };
    rustix::process::prlimit(Some(pid), rustix::process::Resource::Nofile, rlimit)
        .expect("a limit can be lowered");
    let many: Vec<Connection> =
        (0..60).filter_map(|_| Connection::try_open(serve.address()).ok()).collect();
    drop(many);
    let again = || {
        let Ok(mut connection) = Connection::try_open(serve.address()) else { return false };
        connection.begin(&Ask::get("/healthz"));
        connection.try_response(Duration::from_secs(2)).is_some()
    };
    process::wait_until("it accepts again", LIMIT, again);
    assert!(serve.process().is_alive());
}

#[test]
fn k31_connections_that_close_at_once_or_speak_nonsense_harm_nobody() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    for number in 0..300 {
        let mut connection = Connection::open(serve.address());
        match number % 4 {
            0 => {}
            1 => connection.send(b"GET /mcp HT"),
            2 => connection.send(b"\0\0\0\0\r\n\r\n"),
            _ => connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        }
        connection.close();
    }
    client.assert_echo("a", "echo", "{}");
    assert!(serve.process().is_alive());
}
