//! CO-7: `/mcp` and `/sse` for many clients at once; CO-10: the Inspector is one command.

use std::time::Duration;

use kit::client::Client;
use kit::http::{Ask, Connection};
use kit::limit::Limit;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, Talk};
use kit::serve::Serve;
use kit::{LIMIT, ledger, say, scan};

#[test]
fn co_7_many_clients_of_both_kinds_share_one_set_of_children() {
    let room = Room::new();
    room.config([
        ("a", room.fake("a").tool("mirror", say::mirror()).entry()),
        ("b", room.fake("b").tool("mirror", say::mirror()).entry()),
    ]);
    let serve = room.serve(&[]);
    let fronts = Front::NETWORK.iter().cycle().take(16);
    let clients: Vec<Talk> = fronts.map(|front| serve.talk(*front, "{}")).collect();
    for client in &clients {
        assert_eq!(client.list_names(), ["a.mirror", "b.mirror"]);
    }
    let mut open = Vec::new();
    for round in 0..20 {
        for (number, client) in clients.iter().enumerate() {
            let tool = if (round + number) % 2 == 0 { "a.mirror" } else { "b.mirror" };
            let arguments = format!(r#"{{"round":{round},"client":{number}}}"#);
            open.push((client, client.begin(tool, &arguments), arguments));
        }
    }
    for (client, id, arguments) in open {
        assert_eq!(client.answer(&id, LIMIT).result(), arguments.as_bytes(), "crossed");
    }
    for name in ["a", "b"] {
        assert_eq!(ledger::started(&room.ledger(name)).len(), 1, "one process for all");
        assert_eq!(ledger::with_method(&room.ledger(name), "initialize").len(), 1);
    }
    clients.iter().for_each(|client| client.assert_only_protocol());
}

#[test]
fn co_7_every_legacy_revision_is_negotiated_on_both_fronts() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = room.serve(&[]);
    for (asked, expected) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let http = serve.streamable();
        let sse = kit::legacy_sse::LegacySse::open(serve.address(), "/sse");
        for answer in [http.initialize(asked), sse.initialize(asked)] {
            let version = scan::get(answer.result(), "protocolVersion").and_then(scan::text);
            assert_eq!(version.as_deref(), Some(expected), "{answer}");
        }
        http.assert_echo("a", "echo", "{}");
        sse.assert_echo("a", "echo", "{}");
    }
}

#[test]
fn co_7_the_port_comes_from_listen_or_from_the_environment() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let port = kit::port::free();
    let start = |listen: Option<&str>| {
        let mut command = std::process::Command::new(kit::bin::trunkline());
        command.arg("serve").arg("--config").arg(room.path("mcp.json"));
        command.env(kit::room::MARK, room.marker()).env("PORT", port.to_string());
        if let Some(listen) = listen {
            command.args(["--listen", listen]);
        }
        Serve::start(command)
    };
    let serve = start(None);
    assert_eq!(serve.address().to_string(), format!("127.0.0.1:{port}"));
    serve.http().assert_echo("a", "echo", "{}");
    assert_ne!(start(Some("127.0.0.1:0")).address().port(), port, "--listen wins");
}

#[test]
fn co_7_the_default_is_port_3006_of_the_loopback() {
    let room = Room::new();
    room.config([]);
    let mut command = std::process::Command::new(kit::bin::trunkline());
    command.arg("serve").arg("--config").arg(room.path("mcp.json"));
    command.env(kit::room::MARK, room.marker()).env_remove("PORT");
    // Where the port is taken, the refusal names it.
    Client::spawn(command).wait_stderr(&["127.0.0.1:3006"], LIMIT);
}

#[test]
fn co_7_a_port_that_is_taken_or_nonsense_is_refused_with_its_name() {
    let room = Room::new();
    room.config([]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = taken.local_addr().map(|address| (taken, address.to_string())).expect("bound");
    let end = Client::run(room.serve_command(&["--listen", &taken.1]));
    assert_ne!(end.code, Some(0), "{end:?}");
    assert!(end.stderr.contains(&taken.1), "{end:?}");
    for (port, listen) in [("x", None), ("70000", None), ("1", Some("nonsense"))] {
        let mut command = std::process::Command::new(kit::bin::trunkline());
        command.arg("serve").arg("--config").arg(room.path("mcp.json")).env("PORT", port);
        if let Some(listen) = listen {
            command.args(["--listen", listen]);
        }
        let end = Client::run(command);
        assert_eq!(end.code, Some(2), "{port} {listen:?}: {end:?}");
        assert!(end.stderr.contains(listen.unwrap_or("PORT")), "{end:?}");
    }
}

#[test]
fn co_7_health_and_readiness_are_told_without_a_session() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = room.serve(&[]);
    serve.http().list();
    let mut connection = Connection::open(serve.address());
    for path in ["/healthz", "/readyz"] {
        assert_eq!(connection.ask(&Ask::get(path)).status(), 200, "{path}");
    }
}

#[test]
fn co_7_a_client_profile_can_be_part_of_the_url() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = room.serve(&[]);
    let client = kit::streamable::Streamable::new(serve.address(), "/mcp/for/claude-desktop");
    client.initialize("2025-11-25").result();
    assert_eq!(client.list_names(), ["a__echo"]);
    client.call("a__echo", "{}").result();
    client.call("a.echo", "{}").result();
    assert_eq!(serve.http().list_names(), ["a.echo"], "others are not concerned");
    let mut connection = Connection::open(serve.address());
    let ask = Ask::post("/mcp/for/nobody", kit::mcp::initialize("1", "2025-11-25"));
    assert_eq!(connection.ask(&ask).status(), 404);
}

#[test]
fn co_7_serve_writes_nothing_to_stdout_and_does_not_read_stdin() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = room.serve(&[]);
    serve.process().send_line(kit::mcp::initialize("1", "2025-11-25"));
    serve.process().close_stdin();
    serve.http().assert_echo("a", "echo", "{}");
    assert_eq!(serve.process().lines_seen(), 0);
    assert!(serve.process().is_alive(), "the end of stdin is not the end of the service");
    serve.process().signal(rustix::process::Signal::TERM);
    let end = serve.process().finish(Limit::promised(Duration::from_secs(3)));
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), ""), "{end:?}");
}

#[test]
fn co_10_the_readme_shows_the_inspector_as_one_command() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let readme = std::fs::read_to_string(format!("{root}/README.md")).expect("the README");
    let command = "npx @modelcontextprotocol/inspector";
    let lines: Vec<&str> = readme.lines().filter(|line| line.contains(command)).collect();
    assert!(lines.iter().any(|line| line.contains("trunkline")), "{lines:?}");
}
