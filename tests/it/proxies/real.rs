//! Real proxies of the system: tinyproxy (HTTP) and microsocks (SOCKS5, as `ssh -D` has it).

use kit::mcp::Speak;
use kit::proxy::RealProxy;
use kit::room::Room;
use kit::run::run;
use kit::scene::{Front, Scene, each_of};
use kit::service::Service;
use kit::tls::{Certificate, Cover, TLS12, TLS13};
use kit::{LIMIT, ledger, say};
use serde_json::{Value, json};

use super::{Dialect, open, trunkline, words};

/// A server with all that a proxy may get wrong: calls, large ones, streams.
fn service(room: &Room, dialect: Dialect) -> Service {
    let work = say::steps([say::progress(3), say::result("@ARGS@")]);
    dialect.listen(room.fake("a").tool("echo", say::echo()).tool("work", work))
}

#[track_caller]
fn assert_works(room: &Room, entry: Value) {
    room.config([("a", entry)]);
    let scene: Scene = open(room, Front::Stdio, &[]);
    assert_eq!(scene.list().len(), 2);
    for _ in 0..10 {
        scene.assert_echo("a", "echo", r#"{ "n":1.0 }"#);
    }
    let large = format!(r#"{{"x":"{}"}}"#, "äb1 ".repeat(100_000));
    scene.assert_echo("a", "echo", &large);
    let params = r#"{"name":"a:work","arguments":{"w":1},"_meta":{"progressToken":"t"}}"#;
    let id = scene.start("tools/call", params);
    for _ in 0..3 {
        scene.notification("notifications/progress", LIMIT);
    }
    let answer = scene.answer(&id, LIMIT);
    assert!(answer.result().ends_with(br#""w":1}"#), "{answer}");
    let many: Vec<_> = (0..30).map(|_| scene.begin("a:echo", "{}")).collect();
    for id in many {
        scene.answer(&id, LIMIT).result();
    }
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 42, "each was sent once");
    scene.assert_only_protocol();
}

#[test]
fn tinyproxy_passes_on_plain_requests() {
    let cases = Dialect::ALL.into_iter().flat_map(|dialect| [(dialect, false), (dialect, true)]);
    each_of(cases, |(dialect, login)| {
        let room = Room::new();
        let service = service(&room, dialect);
        let proxy = RealProxy::tinyproxy(&room, login.then_some(("me", "s3cret")));
        let user = if login { "me:s3cret@" } else { "" };
        let mut entry = service.entry();
        entry["proxy"] = json!(format!("http://{user}{}", proxy.address()));
        assert_works(&room, entry);
    });
}

#[test]
fn tinyproxy_opens_tunnels_to_encrypted_servers() {
    each_of(Dialect::ALL, |dialect| {
        let room = Room::new();
        let service = service(&room, dialect);
        let cover = Cover::over(service.address(), Certificate::Local, &[&TLS12, &TLS13]);
        let port = cover.address().port();
        let proxy = RealProxy::tinyproxy_for(&room, port);
        let mut entry = dialect.entry(&format!("https://localhost:{port}"));
        entry["proxy"] = json!(format!("http://{}", proxy.address()));
        assert_works(&room, entry);
    });
}

#[test]
fn microsocks_opens_connections() {
    let cases = Dialect::ALL.into_iter().flat_map(|dialect| [(dialect, false), (dialect, true)]);
    each_of(cases, |(dialect, login)| {
        let room = Room::new();
        let service = service(&room, dialect);
        let proxy = RealProxy::microsocks(&room, login.then_some(("me", "s3cret")));
        let user = if login { "me:s3cret@" } else { "" };
        let mut entry = service.entry();
        entry["proxy"] = json!(format!("socks5://{user}{}", proxy.address()));
        assert_works(&room, entry);
    });
}

#[test]
fn what_real_proxies_refuse_is_understood() {
    let room = Room::new();
    let service = Dialect::Streamable.listen(room.fake("a").tool("echo", say::echo()));
    let cover = Cover::over(service.address(), Certificate::Local, &[&TLS12, &TLS13]);
    let secured = format!("https://localhost:{}", cover.address().port());
    let plain = format!("http://{}", service.address());
    let login = Some(("me", "s3cret"));
    let tiny = RealProxy::tinyproxy(&room, login);
    let socks = RealProxy::microsocks(&room, login);
    let nowhere = format!("http://127.0.0.1:{}", kit::port::free());
    for (origin, proxy, parts) in [
        (&plain, format!("http://{}", tiny.address()), "wants a user name and a password"),
        // tinyproxy says 401 to a wrong password, as the server itself might.
        (&plain, format!("http://me:wr0ng@{}", tiny.address()), "said by it or by its proxy"),
        (&secured, format!("http://me:s3cret@{}", tiny.address()), "does not allow a connection"),
        (&nowhere, format!("http://me:s3cret@{}", tiny.address()), "said by it or by its proxy"),
        (&plain, format!("socks5://{}", socks.address()), "wants a user name and a password"),
        (&plain, format!("socks5://me:wr0ng@{}", socks.address()), "does not accept the user name"),
        (&nowhere, format!("socks5://me:s3cret@{}", socks.address()), "connection refused, SOCKS"),
    ] {
        let mut entry = Dialect::Streamable.entry(origin);
        entry["proxy"] = json!(proxy);
        room.config([("a", entry)]);
        let done = run(trunkline(&room, &["check"]), b"");
        assert_eq!(done.code, Some(1), "{done}");
        assert!(words(&done).contains(parts), "{proxy}: no {parts:?} in {done}");
        done.hides("s3cret");
        done.hides("wr0ng");
    }
    assert!(ledger::heads(&room.ledger("a")).is_empty(), "nothing has reached the server");
}
