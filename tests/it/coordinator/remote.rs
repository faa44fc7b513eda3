//! CO-6: servers behind a URL, with their headers; a bare URL works out its transport.

use kit::client::Client;
use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each_front, each_of};
use kit::service::Wire;
use kit::{LIMIT, ledger, process, say};
use serde_json::{Value, json};

#[test]
fn co_6_servers_of_every_type_stand_side_by_side() {
    each_front(|front| {
        let room = Room::new();
        let fake = |name: &str| room.fake(name).tool("echo", say::echo());
        room.config([
            ("pipe", fake("pipe").over(Upstream::Stdio)),
            ("web", fake("web").over(Upstream::Http)),
            ("old", fake("old").over(Upstream::Sse)),
        ]);
        let scene = room.open_ready(front, &[]);
        let expected = ["old", "pipe", "web"].map(|server| scene.tool(server, "echo"));
        assert_eq!(scene.list_names(), expected);
        for server in ["pipe", "web", "old"] {
            scene.assert_echo(server, "echo", r#"{ "n":1.0 }"#);
        }
        scene.assert_only_protocol();
    });
}

#[test]
fn co_6_a_type_may_be_spelled_as_other_clients_spell_it() {
    let cases: [(Wire, &[(&str, &str)]); 7] = [
        (Wire::Http, &[("type", "http"), ("url", "")]),
        (Wire::Http, &[("type", "streamable-http"), ("url", "")]),
        (Wire::Http, &[("type", "streamableHttp"), ("url", "")]),
        (Wire::Http, &[("httpUrl", "")]),
        (Wire::Http, &[("serverUrl", "")]),
        (Wire::Sse, &[("type", "sse"), ("url", "")]),
        (Wire::Sse, &[("serverUrl", "")]),
    ];
    each_of(cases, |(wire, keys)| {
        let room = Room::new();
        let service = room.fake("a").tool("echo", say::echo()).listen(wire);
        let mut entry = json!({});
        for (key, value) in keys {
            entry[key] = if value.is_empty() { json!(service.url()) } else { json!(value) };
        }
        room.config([("a", entry)]);
        let scene = room.open_ready(Front::Stdio, &[]);
        scene.assert_echo("a", "echo", "{}");
    });
}

#[test]
fn co_6_a_bare_url_works_out_the_transport_itself() {
    let pairs = Front::ALL.into_iter().flat_map(|front| [(front, Wire::Http), (front, Wire::Sse)]);
    each_of(pairs, |(front, wire)| {
        let room = Room::new();
        let service = room.fake("a").tool("echo", say::echo()).listen(wire);
        room.config([("a", json!({ "url": service.url() }))]);
        let scene = room.open_ready(front, &[]);
        scene.assert_echo("a", "echo", "{}");
        let handshakes = ledger::with_method(&room.ledger("a"), "initialize").len();
        assert!((1..=2).contains(&handshakes), "{handshakes} handshakes");
    });
}

#[test]
fn co_6_old_servers_that_refuse_a_post_in_another_way_are_found_too() {
    for status in [400, 404, 405] {
        let room = Room::new();
        let refuse = say::steps([say::net::http(status, &[], "no")]);
        // A POST to the stream's own path is refused; those to the endpoint are not.
        let fake = room.fake("a").tool("echo", say::echo());
        let service = fake.on("POST", say::first_only(1, &refuse)).listen(Wire::Sse);
        room.config([("a", json!({ "url": service.url() }))]);
        let scene = room.open_ready(Front::Stdio, &[]);
        scene.assert_echo("a", "echo", "{}");
    }
}

#[test]
fn co_6_headers_are_expanded_and_go_with_every_request() {
    let secret = "s3cret-canary-77";
    each_of(Upstream::NETWORK, |upstream| {
        let room = Room::new();
        let mut entry = room.fake("a").tool("echo", say::echo()).over(upstream);
        entry["headers"] = json!({ "Authorization": "Bearer ${X_TOKEN}", "X-Plain": "a b" });
        room.config([("a", entry)]);
        let mut command = room.trunkline(&["--debug"]);
        command.env("X_TOKEN", secret);
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client.list();
        client.assert_echo("a", "echo", "{}");
        client.close_stdin();
        let end = client.finish(LIMIT);
        let heads = ledger::heads(&room.ledger("a"));
        assert!(heads.len() >= 4, "{heads:?}");
        for head in heads {
            let expected = format!("Bearer {secret}");
            assert_eq!(head.header("authorization"), Some(&expected[..]), "{head:?}");
            assert_eq!(head.header("x-plain"), Some("a b"), "{head:?}");
        }
        assert!(!end.stderr.contains(secret), "{}", end.stderr);
    });
}

#[test]
fn co_6_a_disabled_server_is_not_touched() {
    each_of(Upstream::ALL, |upstream| {
        let room = Room::new();
        let mut off = room.fake("off").tool("echo", say::echo()).over(upstream);
        off["disabled"] = json!(true);
        let on = room.fake("on").tool("echo", say::echo()).over(upstream);
        room.config([("off", off), ("on", on)]);
        let scene = room.open_ready(Front::Stdio, &[]);
        assert_eq!(scene.list_names(), ["on:echo"]);
        assert!(ledger::received(&room.ledger("off")).is_empty());
        assert!(ledger::heads(&room.ledger("off")).is_empty());
        scene.call("off:echo", "{}").error();
    });
}

#[test]
fn co_6_a_server_nobody_answers_for_is_named_and_harms_nobody() {
    each_front(|front| {
        let room = Room::new();
        let port = kit::port::free();
        let entry =
            |kind: &str| json!({ "type": kind, "url": format!("http://127.0.0.1:{port}/x") });
        room.config([
            ("lost-http", entry("http")),
            ("lost-sse", entry("sse")),
            ("bare", json!({ "url": format!("http://127.0.0.1:{port}/y") })),
            ("ok", room.fake("ok").tool("echo", say::echo()).entry()),
        ]);
        let scene = room.open(front, &[]);
        assert_eq!(scene.list_names(), [scene.tool("ok", "echo")]);
        scene.assert_echo("ok", "echo", "{}");
        scene.process().wait_stderr(&["lost-http", "lost-sse", "bare"], LIMIT);
        let answer = scene.call(&scene.tool("lost-http", "x"), "{}");
        assert!(answer.message().contains("lost-http"), "{answer}");
    });
}

#[test]
fn co_6_odd_urls_are_config_errors_with_their_place() {
    for (entry, place) in [
        (json!({ "type": "http" }), "$.mcpServers.a"),
        (json!({ "type": "http", "url": "ftp://x/" }), "$.mcpServers.a.url"),
        (json!({ "type": "http", "url": "no url" }), "$.mcpServers.a.url"),
        (json!({ "type": "http", "url": "http://u:p@x/" }), "$.mcpServers.a.url"),
        (json!({ "type": "carrier-pigeon", "url": "http://x/" }), "$.mcpServers.a.type"),
        (json!({ "url": "http://x/", "headers": { "A": "b\nc" } }), "$.mcpServers.a.headers.A"),
        (json!({ "url": "http://x/", "headers": { "A B": "c" } }), "$.mcpServers.a.headers"),
        (json!({ "url": "http://x/", "command": "y" }), "$.mcpServers.a"),
    ] {
        let room = Room::new();
        room.config([("a", entry.clone())]);
        let end = Client::run(room.trunkline(&[]));
        assert_eq!(end.code, Some(2), "{entry}: {end:?}");
        assert!(end.stderr.contains(place), "{entry}: {end:?}");
    }
}

#[test]
fn co_6_check_tells_the_state_of_a_remote_server() {
    let room = Room::new();
    let lost = json!({ "type": "http", "url": format!("http://127.0.0.1:{}/", kit::port::free()) });
    let web = room.fake("web").tool("one", say::echo()).over(Upstream::Http);
    room.config([("lost", lost), ("web", web)]);
    let mut command = std::process::Command::new(kit::bin::trunkline());
    command.arg("check").arg("--json").arg("--config").arg(room.path("mcp.json"));
    let end = Client::run(command);
    assert_eq!(end.code, Some(1), "{end:?}");
    let output: Value = serde_json::from_str(&end.stdout).expect("one JSON document");
    let text = output.to_string();
    assert!(text.contains("\"running\"") && text.contains("\"failed\""), "{output}");
}

#[test]
fn co_6_the_session_is_ended_when_the_gateway_stops() {
    let room = Room::new();
    let entry = room.fake("a").tool("echo", say::echo()).over(Upstream::Http);
    room.config([("a", entry)]);
    let scene = room.open_ready(Front::Stdio, &[]);
    scene.process().close_stdin();
    scene.process().wait_exit(LIMIT);
    let ended = || ledger::heads(&room.ledger("a")).iter().any(|head| head.method() == "DELETE");
    process::wait_until("the session is ended", LIMIT, ended);
}
