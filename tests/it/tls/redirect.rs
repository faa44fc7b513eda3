//! Plain HTTP beside TLS: everybody is sent to https, and browsers stay there.

use std::net::SocketAddr;

use kit::LIMIT;
use kit::certificates::Authority;
use kit::http::{Ask, Connection};
use kit::room::Room;
use kit::serve::Serve;
use kit::tunnel::{Trust, Tunnel};

use super::{BOTH, Encrypted, shown};

/// Where the redirects are, as `serve` says.
fn redirecting(serve: &Serve) -> SocketAddr {
    serve.process().wait_stderr(&["redirecting http://"], LIMIT);
    let said = serve.process().stderr();
    let address = said.split("redirecting http://").nth(1).unwrap_or_default();
    address.split(' ').next().and_then(|address| address.parse().ok()).expect("an address")
}

#[test]
fn plain_requests_are_sent_to_https_with_their_method_and_place() {
    let front = Encrypted::start(&["--redirect-http", "127.0.0.1:0"]);
    let plain = redirecting(&front.serve);
    let port = front.address().port();
    for (ask, status, location) in [
        (Ask::get("/a?b=c"), 308, Some(format!("https://127.0.0.1:{port}/a?b=c"))),
        (Ask::post("/mcp", "{}"), 308, Some(format!("https://127.0.0.1:{port}/mcp"))),
        (
            Ask::get("/").header("Host", "localhost"),
            308,
            Some(format!("https://localhost:{port}/")),
        ),
        (Ask::get("/").header("Host", "elsewhere.example"), 400, None),
        (Ask::new("CONNECT", "@elsewhere.example:443").header("Host", "localhost"), 400, None),
        (Ask::new("OPTIONS", "*").header("Host", "localhost"), 400, None),
    ] {
        let answer = Connection::open(plain).ask(&ask);
        assert_eq!(answer.status(), status, "{}", answer.head.raw);
        assert_eq!(answer.head.header("location").map(str::to_owned), location);
    }
    let mut endless = Connection::open(plain);
    drop(endless.try_send(&[b'A'; 64 << 10]));
    assert!(endless.is_closed_within(LIMIT));
}

#[test]
fn browsers_are_told_to_stay_with_https_for_names_only() {
    let authority = Authority::new();
    for (more, name, expected) in [
        (&[][..], "tools.example", Some("max-age=31536000")),
        (&[][..], "localhost", None),
        (&["--no-hsts"][..], "tools.example", None),
    ] {
        let room = Room::new();
        let files = authority.server().files(&room, "front");
        let flags = [&shown(&files)[..], &["--allow-host", "tools.example"], more].concat();
        let serve = Serve::start(room.platform_command(&flags));
        let tunnel = Tunnel::to(serve.address(), Trust::of(&authority, &BOTH));
        let ask = Ask::get("/sign-in").header("Accept", "text/html").header("Host", name);
        let answer = Connection::open(tunnel.address()).ask(&ask);
        let told = answer.head.header("strict-transport-security");
        assert_eq!((answer.status(), told), (200, expected), "{name} {more:?}");
    }
}
