//! Debian's curl and h2load over HTTP/2: the same answers as over HTTP/1.1.

use std::path::Path;
use std::process::Command;

use kit::certificates::Authority;
use kit::mcp;
use kit::platform::{ADMIN, KEYS};
use kit::room::Room;
use kit::run::run;
use kit::serve::Serve;

use crate::tls::{Encrypted, shown, text};

/// What curl says; its version of HTTP is at the end.
fn curl(trusted: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--cacert", text(trusted)]).args(arguments);
    run(command, b"").text().to_owned()
}

#[test]
fn curl_is_answered_over_http_2_as_over_http_1_1() {
    let front = Encrypted::start(&["--token", "a-long-token-of-the-tests"]);
    let trusted = front.authority.file(&front.room, "authority.pem");
    let base = format!("https://localhost:{}", front.address().port());
    let initialize = mcp::initialize("1", "2025-11-25");
    let initialize = String::from_utf8(initialize.into()).expect("text");
    let token = "Authorization: Bearer a-long-token-of-the-tests";
    let accept = "Accept: application/json, text/event-stream";
    let json = "Content-Type: application/json";
    let long = format!("@{}", text(&front.room.path("long")));
    front.room.write("long", "x".repeat(5 << 20));
    for (path, arguments, status) in [
        ("/healthz", &[][..], "200"),
        ("/healthz", &["--head"], "200"),
        ("/nothing", &["-H", token], "404"),
        ("/mcp", &["--data", &initialize, "-H", json, "-H", accept], "401"),
        ("/mcp", &["--data", &initialize, "-H", json, "-H", accept, "-H", token], "200"),
        (
            "/mcp",
            &["--data", &initialize, "-H", "Content-Type: text/plain", "-H", accept, "-H", token],
            "415",
        ),
        ("/mcp", &["--data", "{", "-H", json, "-H", accept, "-H", token], "400"),
        (
            "/mcp",
            &["--data-binary", &long, "-H", json, "-H", accept, "-H", token, "-H", "Expect:"],
            "413",
        ),
        ("/mcp", &["-X", "PUT", "-H", token], "405"),
        ("/mcp", &["-H", "Host: elsewhere.example"], "403"),
        ("/healthz", &["-H", "Origin: https://elsewhere.example"], "403"),
        ("/mcp", &["-X", "OPTIONS"], "204"),
    ] {
        let url = format!("{base}{path}");
        for (flag, version) in [("--http1.1", "1.1"), ("--http2", "2")] {
            let out = [
                "--output",
                "/dev/null",
                "--write-out",
                "%{http_code} %{http_version}",
                flag,
                &url,
            ];
            let said = curl(&trusted, &[&out[..], arguments].concat());
            assert_eq!(said, format!("{status} {version}"), "{path} {arguments:?}");
        }
        let bodies = ["--http1.1", "--http2"].map(|flag| {
            curl(&trusted, &[&["--max-time", "60", flag, &url][..], arguments].concat())
        });
        let stable = |body: &str| {
            let kept = body.lines().filter(|line| !line.to_ascii_lowercase().starts_with("date:"));
            kept.skip(usize::from(arguments.contains(&"--head")))
                .map(str::to_ascii_lowercase)
                .collect::<Vec<_>>()
        };
        assert_eq!(stable(&bodies[0]), stable(&bodies[1]), "{path} {arguments:?}");
    }
}

#[test]
fn h2load_gets_every_answer_over_http_2() {
    let front = Encrypted::start(&[]);
    let url = format!("https://localhost:{}/healthz", front.address().port());
    let mut command = Command::new("h2load");
    let load = [
        "--requests",
        "4000",
        "--clients",
        "8",
        "--threads",
        "1",
        "--max-concurrent-streams",
        "32",
    ];
    command.args(load).arg(&url);
    let said = run(command, b"");
    let said = String::from_utf8_lossy(said.good()).into_owned();
    assert!(said.contains("4000 succeeded, 0 failed, 0 errored, 0 timeout"), "{said}");
    assert!(said.contains("TLSv1.3") && said.contains("Application protocol: h2"), "{said}");
}

#[test]
fn the_client_that_a_balancer_names_is_known_over_http_2() {
    let room = Room::new();
    let authority = Authority::new();
    let files = authority.server().files(&room, "front");
    let flags = [&shown(&files)[..], &["--proxy-protocol", "127.0.0.1/32"]].concat();
    let serve = Serve::start(room.platform_command(&flags));
    let trusted = authority.file(&room, "authority.pem");
    let base = format!("https://localhost:{}", serve.address().port());
    let bearer = format!("Authorization: Bearer {ADMIN}");
    // curl says PROXY and its own address before the handshake.
    let common = ["--http2", "--ipv4", "--haproxy-protocol", "-H", &bearer];
    let ask = |more: &[&str], path: &str| {
        let url = format!("{base}{path}");
        curl(&trusted, &[&common[..], &["--write-out", " %{http_version}", &url], more].concat())
    };
    let made = ask(
        &["-H", "Content-Type: application/json", "--data", r#"{"name":"one","role":"viewer"}"#],
        KEYS,
    );
    assert!(made.contains("\"one\"") && made.ends_with(" 2"), "{made}");
    kit::process::wait_until("the audit log has the client's address", kit::LIMIT, || {
        let records = ask(&[], "/api/v1/audit?limit=1000");
        records.contains("create-key") && records.contains("\"127.0.0.1\"")
    });
}

#[test]
fn a_certificate_is_its_client_over_http_2() {
    let room = Room::new();
    let (authority, members) = (Authority::new(), Authority::new());
    let files = authority.server().files(&room, "front");
    let members_file = members.file(&room, "members.pem");
    let own = ["--tls-client-ca", text(&members_file)];
    let serve = Serve::start(room.platform_command(&[&shown(&files)[..], &own].concat()));
    let trusted = authority.file(&room, "authority.pem");
    let url = format!("https://localhost:{}/api/v1/me", serve.address().port());
    let shown = members.client("build machine").files(&room, "client");
    let certificate = ["--cert", text(&shown.certificate), "--key", text(&shown.key)];
    let said = curl(
        &trusted,
        &[&["--http2", "--write-out", " %{http_version}", &url], &certificate[..]].concat(),
    );
    assert!(said.contains("cert:build machine") && said.ends_with(" 2"), "{said}");
    let without =
        curl(&trusted, &["--http2", "--output", "/dev/null", "--write-out", "%{http_code}", &url]);
    assert_eq!(without, "401");
}
