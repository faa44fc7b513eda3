//! The PROXY protocol, byte by byte: whose headers count, and for what.

use std::net::{Ipv4Addr, SocketAddr};

use kit::LIMIT;
use kit::http::{Ask, Connection};
use kit::platform::{ADMIN, KEYS};
use kit::process::wait_until;
use kit::rest::Rest;
use kit::room::Room;
use kit::serve::Serve;
use serde_json::json;

const PLAIN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Version 2: a client at this address, with a field behind the addresses.
fn binary(client: [u8; 4], command: u8) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    header.extend([0x20 | command, 0x11, 0, 15]);
    header.extend(client);
    header.extend([127, 0, 0, 1, 0x12, 0x34, 0x01, 0xbb]);
    header.extend([4, 0, 0]);
    header
}

/// A platform whose load balancer is 127.0.0.1 (but not 127.0.0.2).
fn platform(room: &Room, flags: &[&str]) -> Serve {
    let own = ["--proxy-protocol", "127.0.0.1/32"];
    Serve::start(room.platform_command(&[&own[..], flags].concat()))
}

/// Asks with this before the request; the status.
fn ask(address: SocketAddr, before: &[u8], ask: &Ask) -> Option<u16> {
    let mut connection = Connection::try_open(address).ok()?;
    let bytes = ask.bytes(&address.to_string());
    // In two pieces: a header ends where it ends, wherever the packets do.
    let all = [before, &bytes].concat();
    let (one, other) = all.split_at(all.len() / 3);
    connection.try_send(one).ok()?;
    connection.try_send(other).ok()?;
    connection.try_response(LIMIT).map(|response| response.status())
}

fn make_key(name: &str) -> Ask {
    let body = json!({ "name": name, "role": "viewer" }).to_string();
    let ask = Ask::new("POST", KEYS).header("Content-Type", "application/json");
    ask.header("Authorization", &format!("Bearer {ADMIN}")).body(body)
}

#[test]
fn the_client_that_the_balancer_names_is_in_the_audit_log() {
    let room = Room::new();
    let serve = platform(&room, &[]);
    for (name, before, address) in [
        ("one", &b"PROXY TCP4 192.0.2.1 127.0.0.1 1234 443\r\n"[..], "192.0.2.1"),
        ("two", b"PROXY TCP6 2001:db8::7 ::1 1234 443\r\n", "2001:db8::7"),
        ("three", &binary([192, 0, 2, 3], 1), "192.0.2.3"),
        ("four", b"PROXY UNKNOWN\r\n", "127.0.0.1"),
        ("five", &binary([192, 0, 2, 5], 0), "127.0.0.1"),
    ] {
        assert_eq!(ask(serve.address(), before, &make_key(name)), Some(201), "{name}");
        let admin = Rest::new(serve.address(), Some(ADMIN)).coming_from(PLAIN);
        wait_until(&format!("{name} is in the audit log with {address}"), LIMIT, || {
            let records = admin.get("/api/v1/audit?limit=1000").is(200);
            let records = records["records"].as_array().cloned().unwrap_or_default();
            records.iter().any(|record| {
                record["action"] == "create-key"
                    && record.to_string().contains(&format!("\"{address}\""))
            })
        });
    }
}

#[test]
fn only_named_addresses_say_whom_they_connect_for() {
    let room = Room::new();
    let serve = platform(&room, &[]);
    let health = Ask::get("/healthz");
    for (before, status) in [
        (&b""[..], Some(400)),
        (b"PROXY TCP4 nonsense\r\n", Some(400)),
        (b"PROXY TCP4 192.0.2.1 127.0.0.1 1234\r\n", Some(400)),
        (b"\r\n\r\n\0\r\nQUIX\n", Some(400)),
        (b"PROXY TCP4 192.0.2.1 127.0.0.1 1234 443\r\n", Some(200)),
    ] {
        assert_eq!(ask(serve.address(), before, &health), status, "{before:?}");
    }
    // From elsewhere the header is what it always was.
    let mut other = Connection::open_from(PLAIN, serve.address());
    other.send(b"PROXY TCP4 192.0.2.1 127.0.0.1 1234 443\r\n");
    other.send(&health.bytes(&serve.address().to_string()));
    // A first line that is none of HTTP/1.1.
    assert_eq!(other.response(LIMIT).status(), 505);
    let plain = Rest::new(serve.address(), None).coming_from(PLAIN);
    assert_eq!(plain.get("/healthz").status(), 200);
}

#[test]
fn limits_per_address_count_the_client_and_not_the_balancer() {
    let room = Room::new();
    let serve = platform(&room, &["--connections-per-address", "2"]);
    let open = |client: u8| {
        let mut connection = Connection::open(serve.address());
        connection.send(&binary([192, 0, 2, client], 1));
        connection.begin(&Ask::get("/healthz"));
        let status = connection.response(LIMIT).status();
        (connection, status)
    };
    let held: Vec<_> = [1, 1, 1, 2, 2, 2].into_iter().map(open).collect();
    let statuses: Vec<u16> = held.iter().map(|(_, status)| *status).collect();
    assert_eq!(statuses, [200, 200, 503, 200, 200, 503]);
}

#[test]
fn a_balancer_that_says_nothing_is_left_and_others_go_on() {
    let room = Room::hurried();
    let serve = Serve::start(room.platform_command(&["--proxy-protocol", "127.0.0.2/32"]));
    let mut silent = Connection::open_from(PLAIN, serve.address());
    assert!(silent.is_closed_within(LIMIT));
    Rest::new(serve.address(), Some(ADMIN)).get("/api/v1/me").is(200);
}
