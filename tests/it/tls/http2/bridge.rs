//! Debian's haproxy as a way of HTTP/1.1 to a front of HTTP/2: every client of the kit speaks HTTP/2 through it.

use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use kit::certificates::Authority;
use kit::client::Client;
use kit::http::{Ask, Connection};
use kit::legacy_sse::LegacySse;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::platform::{ADMIN, KEYS};
use kit::process::wait_until;
use kit::rest::Rest;
use kit::room::Room;
use kit::serve::Serve;
use kit::streamable::Streamable;
use kit::{LIMIT, port};
use serde_json::json;

use crate::tls::{Encrypted, balancers, shown, text};

/// A plain address that leads to one of HTTP/2.
pub(super) struct Bridge {
    process: Client,
    address: SocketAddr,
}

impl Bridge {
    #[track_caller]
    pub(super) fn to(room: &Room, authority: &Authority, to: SocketAddr) -> Self {
        let (port, trusted) = (port::free(), authority.file(room, "trusted.pem"));
        room.write(
            "bridge.cfg",
            format!(
                "defaults\n mode http\n timeout connect 30s\n timeout client 5m\n timeout server 5m\n\
                 option http-no-delay\n\
                 frontend front\n bind 127.0.0.1:{port}\n default_backend serve\n\
                 backend serve\n http-reuse always\n \
                 server serve {to} ssl verify required ca-file {} sni str(localhost) alpn h2\n",
                text(&trusted)
            ),
        );
        let mut command = Command::new(balancers::program("haproxy"));
        command.arg("-db").arg("-f").arg(room.path("bridge.cfg"));
        let process = Client::spawn(command);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        wait_until("the bridge listens", LIMIT, || TcpStream::connect(address).is_ok());
        Self { process, address }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.process.signal(rustix::process::Signal::TERM);
    }
}

#[test]
fn clients_of_both_eras_call_through_it() {
    let front = Encrypted::start(&[]);
    let bridge = Bridge::to(&front.room, &front.authority, front.address());
    let client = Streamable::new(bridge.address(), "/mcp");
    client.initialize_with("2025-11-25", "{}").result();
    assert_eq!(client.listen(), 200, "the GET stream");
    assert_eq!(client.list().len(), 3);
    for _ in 0..20 {
        client.assert_echo("a", "echo", r#"{ "n":1.0 }"#);
    }
    assert!(matches!(client.delete(), 200 | 204));
    let old = LegacySse::open(bridge.address(), "/sse");
    old.initialize_with("2025-11-25", "{}").result();
    old.assert_echo("a", "echo", "{}");
    Modern::http(bridge.address(), "{}").assert_echo("a", "echo", "{}");
}

#[test]
fn large_messages_pass_unchanged_in_both_directions() {
    let front = Encrypted::start(&[]);
    let bridge = Bridge::to(&front.room, &front.authority, front.address());
    let client = Streamable::new(bridge.address(), "/mcp");
    client.initialize_with("2025-11-25", "{}").result();
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(3 << 20));
    for _ in 0..3 {
        client.assert_echo("a", "echo", &large);
    }
}

#[test]
fn rest_and_dashboard_answer_through_it() {
    let room = Room::new();
    let authority = Authority::new();
    let files = authority.server().files(&room, "front");
    let serve = Serve::start(room.platform_command(&shown(&files)));
    let bridge = Bridge::to(&room, &authority, serve.address());
    let admin = Rest::new(bridge.address(), Some(ADMIN));
    admin.post(KEYS, &json!({ "name": "through", "role": "viewer" })).is(201);
    assert!(admin.get(KEYS).is(200).to_string().contains("through"));
    let ask = Ask::new("POST", "/sign-in")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Origin", &format!("https://{}", bridge.address()))
        .body(format!("token={ADMIN}"));
    let answer = Connection::open(bridge.address()).ask(&ask);
    let cookie = answer.head.header("set-cookie").unwrap_or_default().to_owned();
    let cookie = cookie.split(';').next().unwrap_or_default();
    assert!(cookie.starts_with("__Host-"), "{}", answer.head.raw);
    // haproxy passes each cookie on as a field of its own, or as one: both are one header.
    let page = Ask::get("/servers").header("Accept", "text/html");
    let page = page.header("Cookie", &format!("other=1; {cookie}; more=2"));
    assert_eq!(Connection::open(bridge.address()).ask(&page).status(), 200);
}
