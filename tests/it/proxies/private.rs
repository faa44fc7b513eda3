//! Servers of a company: a private authority, and certificates that say who we are.

use std::path::Path;

use kit::mcp::Speak;
use kit::room::Room;
use kit::run::run;
use kit::scene::{Front, each_of};
use kit::tls::{Certificate, Cover, TLS12, TLS13, authority, known_client, stranger};
use kit::{ledger, say};
use serde_json::{Value, json};

use super::{Dialect, words};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of the tests")
}

/// `check` where nobody but `stranger` is trusted by the system.
fn check(room: &Room) -> kit::run::Done {
    let mut command = super::trunkline(room, &["check"]);
    command.env("SSL_CERT_FILE", stranger());
    run(command, b"")
}

#[test]
fn a_private_authority_is_trusted_for_its_server_only() {
    each_of(Dialect::ALL, |dialect| {
        let room = Room::new();
        let service = dialect.listen(room.fake("a").tool("echo", say::echo()));
        let cover = Cover::over(service.address(), Certificate::Local, &[&TLS12, &TLS13]);
        let origin = format!("https://localhost:{}", cover.address().port());
        let mut private = dialect.entry(&origin);
        private["tls"] = json!({ "ca": text(&authority()) });
        room.config([("a", private), ("b", dialect.entry(&origin))]);
        let stranger = stranger();
        let environment = [("SSL_CERT_FILE", stranger.as_os_str())];
        let scene = room.open_in(Front::Stdio, &[], &environment);
        assert_eq!(scene.list_names(), ["a:echo"]);
        scene.assert_echo("a", "echo", "{}");
        let error = scene.call("b:echo", "{}").message();
        assert!(error.contains("its certificate is not trusted"), "{error}");
    });
}

#[test]
fn a_server_that_wants_a_certificate_gets_ours() {
    each_of(Dialect::ALL, |dialect| {
        let room = Room::new();
        let service = dialect.listen(room.fake("a").tool("echo", say::echo()));
        let cover = Cover::for_known_clients(service.address());
        let origin = format!("https://localhost:{}", cover.address().port());
        let (certificate, key) = known_client();
        let ca = authority();
        let mut known = dialect.entry(&origin);
        known["tls"] = json!({ "ca": text(&ca), "cert": text(&certificate), "key": "${KEY_FILE}" });
        room.config([("a", known)]);
        let environment = [("KEY_FILE", key.as_os_str())];
        let scene = room.open_in(Front::Stdio, &[], &environment);
        scene.list();
        for _ in 0..5 {
            scene.assert_echo("a", "echo", "{}");
        }
    });
}

#[test]
fn a_server_that_wants_a_certificate_is_not_reached_without_one() {
    each_of(Dialect::ALL, |dialect| {
        let room = Room::new();
        let service = dialect.listen(room.fake("a").tool("echo", say::echo()));
        let cover = Cover::for_known_clients(service.address());
        let origin = format!("https://localhost:{}", cover.address().port());
        let mut unknown = dialect.entry(&origin);
        unknown["tls"] = json!({ "ca": text(&authority()) });
        room.config([("a", unknown)]);
        let done = check(&room);
        assert_eq!(done.code, Some(1), "{done}");
        assert!(ledger::heads(&room.ledger("a")).is_empty(), "it was not let in");
    });
}

#[test]
fn files_that_cannot_be_used_are_named_with_why() {
    let room = Room::new();
    let (certificate, key) = known_client();
    let (ca, certificate, key) = (authority(), text(&certificate), text(&key));
    let nowhere = room.path("nowhere.pem");
    let empty = room.write("empty.pem", "");
    let url = "https://localhost:1/mcp";
    let server = |tls: Value| json!({ "url": url, "tls": tls });
    for (tls, parts) in [
        (json!({ "ca": text(&nowhere) }), ["`ca` in its `tls`", "cannot be read: no such file"]),
        (json!({ "ca": text(&empty) }), ["`ca` in its `tls`", "has no certificate"]),
        (json!({ "cert": key, "key": key }), ["`cert` in its `tls`", "has no certificate"]),
        (json!({ "cert": certificate, "key": certificate }), ["`key` in its", "no private key"]),
        (json!({ "cert": text(&ca), "key": key }), ["`key` in its `tls`", "does not belong to"]),
    ] {
        room.config([("a", server(tls))]);
        let done = check(&room);
        assert_eq!(done.code, Some(1), "{done}");
        for part in parts {
            assert!(words(&done).contains(part), "no {part:?} in {done}");
        }
    }
    room.config([("a", server(json!({ "cert": certificate })))]);
    check(&room).bad(2, &["`cert` needs `key` beside it", "mcp.json:"]);
    room.config([("a", server(json!({ "ca": "ca.pem" })))]);
    check(&room).bad(2, &["`ca` must be an absolute path"]);
}
