//! Servers over https: both versions of TLS, whom Trunkline trusts, and what it says when it does
//! not.

use std::ffi::OsStr;
use std::path::Path;

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::run::run;
use kit::scene::{Front, Scene, each_of};
use kit::service::Wire;
use kit::tls::{Certificate, Cover, Seen, TLS12, TLS13, authority, stranger};
use kit::{LIMIT, ledger, process, say, scan};
use serde_json::{Value, json};

const BOTH: [&kit::tls::Version; 2] = [&TLS12, &TLS13];
const WIRES: [Wire; 2] = [Wire::Http, Wire::Sse];

/// The server `a` under a cover; its entry names `host`.
#[track_caller]
fn covered(room: &Room, wire: Wire, certificate: Certificate, host: &str) -> (Cover, Value) {
    let a = room.fake("a").tool("echo", say::echo());
    let service = a.listen(wire);
    let cover = Cover::over(service.address(), certificate, &BOTH);
    room.keep(service);
    let entry = entry(&cover, wire, host);
    (cover, entry)
}

fn entry(cover: &Cover, wire: Wire, host: &str) -> Value {
    let (kind, path) = if wire == Wire::Http { ("http", "mcp") } else { ("sse", "sse") };
    json!({ "type": kind, "url": cover.url(host, path) })
}

/// The gateway where only this authority is trusted.
#[track_caller]
fn open(room: &Room, front: Front, trusted: &Path) -> Scene {
    let nothing = OsStr::new("");
    let environment = [("SSL_CERT_FILE", trusted.as_os_str()), ("SSL_CERT_DIR", nothing)];
    room.open_in(front, &[], &environment)
}

/// The server `a` cannot be used, `ok` can; stderr and the error of a call say all of this.
#[track_caller]
fn assert_refused(room: &Room, entry: &Value, trusted: &Path, parts: &[&str]) {
    each_of([Front::Stdio, Front::Http], |front| {
        let ok = room.fake("ok").tool("echo", say::echo());
        room.config([("a", entry.clone()), ("ok", ok.entry())]);
        let scene = open(room, front, trusted);
        assert_eq!(scene.list_names(), [scene.tool("ok", "echo")]);
        scene.assert_echo("ok", "echo", "{}");
        scene.process().wait_stderr(parts, LIMIT);
        let error = scene.call(&scene.tool("a", "echo"), "{}").message();
        assert!(error.contains(parts[0]), "{error}");
        assert!(ledger::heads(&room.ledger("a")).is_empty(), "nothing was sent");
    });
}

#[test]
fn co_6_calls_go_over_both_versions_of_tls_from_every_front() {
    let cases = Front::ALL.into_iter().flat_map(|front| {
        WIRES.into_iter().flat_map(move |wire| [false, true].map(|new| (front, wire, new)))
    });
    each_of(cases, |(front, wire, new)| {
        let (version, name) = if new { (&TLS13, "TLSv1_3") } else { (&TLS12, "TLSv1_2") };
        let room = Room::new();
        let work = say::steps([say::progress(3), say::result("@ARGS@")]);
        let a = room.fake("a").tool("echo", say::echo()).tool("mirror", say::mirror());
        let service = a.tool("work", work).listen(wire);
        let cover = Cover::over(service.address(), Certificate::Local, &[version]);
        room.config([("a", entry(&cover, wire, "localhost"))]);
        let scene = open(&room, front, &authority());
        assert_eq!(scene.list().len(), 3);
        for _ in 0..20 {
            scene.assert_echo("a", "echo", r#"{ "n":1.0 }"#);
        }
        let params = format!(
            r#"{{"name":"{}","arguments":{{"w":1}},"_meta":{{"progressToken":"t"}}}}"#,
            scene.tool("a", "work")
        );
        let id = scene.start("tools/call", &params);
        for _ in 0..3 {
            let progress = scene.notification("notifications/progress", LIMIT);
            let token = scan::path(&progress.0, &["params", "progressToken"]);
            assert_eq!(token, Some(&b"\"t\""[..]));
        }
        assert_eq!(scene.answer(&id, LIMIT).result(), br#"{"w":1}"#);
        let seen = cover.seen();
        let agreed = Seen::Agreed { version: name.to_owned(), protocol: "http/1.1".to_owned() };
        assert!(seen.iter().all(|seen| *seen == agreed), "{seen:?}");
        assert!(seen.len() <= 6, "connections are used again: {}", seen.len());
        scene.assert_only_protocol();
    });
}

#[test]
fn co_6_large_and_many_messages_survive_the_encryption() {
    each_of(
        [(Front::Stdio, Wire::Http), (Front::Http, Wire::Http), (Front::Stdio, Wire::Sse)],
        |(front, wire)| {
            let room = Room::new();
            let a = room.fake("a").tool("mirror", say::mirror());
            let service = a.listen(wire);
            let cover = Cover::over(service.address(), Certificate::Local, &BOTH);
            room.config([("a", entry(&cover, wire, "127.0.0.1"))]);
            let scene = open(&room, front, &authority());
            scene.list();
            let mirror = scene.tool("a", "mirror");
            for size in [16 << 10, (16 << 10) + 1, 1 << 20, 3 << 20] {
                let arguments = format!(r#"{{"x":"{}"}}"#, "äb1 ".repeat(size / 5));
                let answer = scene.call(&mirror, &arguments);
                assert!(answer.result() == arguments.as_bytes(), "{size}: {answer}");
            }
            let send = |n: usize| {
                let arguments = format!(r#"{{"n":{n},"x":"{}"}}"#, "y".repeat(n * 97 % 5000));
                (scene.begin(&mirror, &arguments), arguments)
            };
            let open: Vec<_> = (0..200).map(send).collect();
            for (id, arguments) in open {
                let answer = scene.answer(&id, LIMIT);
                assert!(answer.result() == arguments.as_bytes(), "crossed: {answer}");
            }
        },
    );
}

#[test]
fn co_6_a_certificate_nobody_trusts_is_refused_with_what_to_do() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let (cover, entry) = covered(&room, wire, Certificate::Local, "localhost");
        assert_refused(
            &room,
            &entry,
            &stranger(),
            &["its certificate is not trusted", "SSL_CERT_FILE"],
        );
        let seen = cover.seen();
        assert!(!seen.is_empty(), "it was tried");
        assert!(seen.iter().all(|seen| matches!(seen, Seen::Failed(_))), "{seen:?}");
    });
}

#[test]
fn co_6_a_certificate_for_another_name_is_refused() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let (_cover, entry) = covered(&room, wire, Certificate::Elsewhere, "localhost");
        let parts = ["its certificate is for another name", "that the certificate names"];
        assert_refused(&room, &entry, &authority(), &parts);
    });
}

#[test]
fn co_6_a_certificate_that_has_expired_is_refused() {
    let room = Room::new();
    let (_cover, entry) = covered(&room, Wire::Http, Certificate::Expired, "localhost");
    assert_refused(&room, &entry, &authority(), &["its certificate has expired"]);
}

#[test]
fn co_6_authorities_that_cannot_be_read_are_said_to_be_missing() {
    let room = Room::new();
    let (_cover, entry) = covered(&room, Wire::Http, Certificate::Local, "localhost");
    let parts = ["there is no certificate authority to trust", "SSL_CERT_FILE"];
    assert_refused(&room, &entry, &room.path("nowhere.pem"), &parts);
}

#[test]
fn co_6_https_at_a_port_that_speaks_http_is_recognised() {
    let room = Room::new();
    room.config([("x", room.fake("x").entry())]);
    let plain = room.serve(&[]);
    let url = format!("https://localhost:{}/mcp", plain.address().port());
    assert_refused(
        &Room::new(),
        &json!({ "type": "http", "url": url }),
        &authority(),
        &["it does not speak TLS", "use http in `url`"],
    );
}

#[test]
fn co_6_http_at_a_port_that_speaks_https_is_said_to_be_none() {
    let room = Room::new();
    let (cover, mut entry) = covered(&room, Wire::Http, Certificate::Local, "localhost");
    entry["url"] = json!(format!("http://{}/mcp", cover.address()));
    assert_refused(&room, &entry, &authority(), &["answers with bad HTTP"]);
}

#[test]
fn k31_a_server_that_never_finishes_the_tls_handshake_holds_up_nobody() {
    let room = Room::new();
    let mute = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("https://{}/mcp", mute.local_addr().expect("bound"));
    let ok = room.fake("ok").tool("echo", say::echo());
    room.config([("mute", json!({ "url": url })), ("ok", ok.entry())]);
    let environment = [("SSL_CERT_FILE", authority())];
    let environment = environment.each_ref().map(|(name, path)| (*name, path.as_os_str()));
    let scene = room.open_in(Front::Stdio, &["--start-timeout", "1"], &environment);
    assert_eq!(scene.list_names(), ["ok:echo"]);
    scene.assert_echo("ok", "echo", "{}");
}

#[test]
fn co_6_a_server_over_https_that_comes_back_is_used_again() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let mut service = room.fake("a").tool("echo", say::echo()).listen(wire);
        let cover = Cover::over(service.address(), Certificate::Local, &BOTH);
        room.config([("a", entry(&cover, wire, "localhost"))]);
        let scene = open(&room, Front::Http, &authority());
        scene.list();
        scene.assert_echo("a", "echo", "{}");
        service.restart();
        let back = || scene.call("a.echo", "{}").try_result().is_some();
        process::wait_until("it is used again", LIMIT, back);
        scene.assert_echo("a", "echo", "{}");
    });
}

#[test]
fn co_6_a_bare_https_url_works_out_the_transport() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let (_cover, mut entry) = covered(&room, wire, Certificate::Local, "localhost");
        entry.as_object_mut().expect("an entry").remove("type");
        room.config([("a", entry)]);
        let scene = open(&room, Front::Stdio, &authority());
        scene.list();
        scene.assert_echo("a", "echo", "{}");
    });
}

#[test]
fn co_6_the_command_line_trusts_the_same() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let (_cover, entry) = covered(&room, wire, Certificate::Local, "localhost");
        let url = entry["url"].as_str().expect("a URL");
        let ask = |trusted: &Path| {
            let mut command = std::process::Command::new(kit::bin::trunkline());
            command.args(["call", "echo", "n=1", "--json", "--url", url]);
            command.env("SSL_CERT_FILE", trusted).env("SSL_CERT_DIR", "");
            run(command, b"")
        };
        assert!(ask(&authority()).text().contains(r#""arguments":{"n":1}"#));
        ask(&stranger()).bad(1, &["its certificate is not trusted", "SSL_CERT_FILE"]);
    });
}

#[test]
fn co_6_a_server_over_https_stands_beside_the_others() {
    let room = Room::new();
    let (_cover, entry) = covered(&room, Wire::Http, Certificate::Local, "localhost");
    let pipe = room.fake("pipe").tool("echo", say::echo()).entry();
    let plain = room.fake("plain").tool("echo", say::echo()).over(Upstream::Http);
    room.config([("a", entry), ("pipe", pipe), ("plain", plain)]);
    let scene = open(&room, Front::Http, &authority());
    assert_eq!(scene.list().len(), 3);
    for server in ["a", "pipe", "plain"] {
        scene.assert_echo(server, "echo", "{}");
    }
}
