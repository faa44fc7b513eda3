//! `server/discover`: what all servers offer together, said without asking any of them.

use kit::client::Client;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::modern::stamp::SERVER;
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::{LIMIT, ledger, say, scan};

use super::ABLE;

#[test]
fn discover_says_what_all_servers_offer_together() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let old = room.fake("old").resource("x://a", "A").completions().logging();
        let new = room.fake("new").modern().prompt("p", "P").instructions("Ask me anything.");
        room.config([
            ("old", old.tool("echo", say::echo()).entry()),
            ("new", new.tool("echo", say::echo()).entry()),
        ]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.modern().discover();
        let versions = scan::get(answer.result(), "supportedVersions").and_then(scan::elements);
        let versions: Vec<_> = versions.into_iter().flatten().filter_map(scan::text).collect();
        assert!(versions.contains(&"2026-07-28".to_owned()), "{answer}");
        for (path, expected) in [
            (&["capabilities", "tools", "listChanged"][..], &b"true"[..]),
            (&["capabilities", "resources", "listChanged"], b"true"),
            (&["capabilities", "resources", "subscribe"], b"true"),
            (&["capabilities", "prompts", "listChanged"], b"true"),
            (&["capabilities", "completions"], b"{}"),
            (&["capabilities", "logging"], b"{}"),
            (&["resultType"], b"\"complete\""),
        ] {
            assert_eq!(scan::path(answer.result(), path), Some(expected), "{path:?}: {answer}");
        }
        for key in ["ttlMs", "cacheScope"] {
            assert!(scan::get(answer.result(), key).is_some(), "{key}: {answer}");
        }
        for key in ["name", "version"] {
            let info = scan::path(answer.result(), &["_meta", SERVER, key]).and_then(scan::text);
            assert!(info.is_some_and(|text| !text.is_empty()), "{key}: {answer}");
        }
        let words = scan::get(answer.result(), "instructions").and_then(scan::text);
        assert!(words.is_some_and(|text| text.contains("Ask me anything.")), "{answer}");
        scene.assert_only_protocol();
    });
}

#[test]
fn no_server_is_asked_when_a_client_discovers() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let (a, b) = (room.fake("a").tool("echo", say::echo()), room.fake("b").modern());
        room.config([("a", a.entry()), ("b", b.tool("echo", say::echo()).entry())]);
        let scene = room.open_ready(front, &[]);
        let asked = |name: &str| ledger::received(&room.ledger(name)).len();
        let before = (asked("a"), asked("b"));
        scene.modern().discover().result();
        scene.modern().discover().result();
        assert_eq!((asked("a"), asked("b")), before);
    });
}

/// Clients decide within seconds whether a server is of this era, and remember it for days. What is asked
/// behind it and needs no server is answered behind it: so it has not waited.
#[test]
fn discover_does_not_wait_for_a_server_that_hangs() {
    let room = Room::new();
    let hung = room.fake("hung").on("server/discover", say::never());
    let hung = hung.on("initialize", say::never());
    room.config([("hung", hung.entry()), ("a", room.fake("a").tool("e", say::echo()).entry())]);
    let client = Modern::stdio(Client::spawn(room.trunkline(&[])), "{}");
    let discovered = client.start("server/discover", "{}");
    let behind = client.start("ping", "{}");
    let first = client.wait_for("an answer", LIMIT, |line| line.id().is_some());
    assert!(first.is_answer_to(&discovered), "{first} came first");
    assert_eq!(client.answer(&behind, LIMIT).code(), -32601, "there is no ping any more");
    let tools = scan::path(first.result(), &["capabilities", "tools"]);
    assert!(tools.is_some(), "what is not known yet is promised: {first}");
}

/// The server answers only when the client has its answer.
#[test]
fn whoever_discovers_is_answered_before_any_server_could_be() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let wait = say::steps([say::gate(&room, "answered"), say::usual()]);
        let late = room.fake("late").on("initialize", wait).tool("echo", say::echo());
        room.config([("late", late.entry())]);
        let scene = room.open(front, &[]);
        scene.ask("server/discover", "{}").result();
        room.open_gate("answered");
        assert_eq!(scene.list_names(), [scene.tool("late", "echo")]);
        scene.assert_echo("late", "echo", "{}");
    });
}

#[test]
fn a_first_request_need_not_be_a_discovery() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
        let scene = room.open(front, &[]);
        assert_eq!(scene.list_names(), [scene.tool("a", "echo")]);
        scene.assert_echo("a", "echo", r#"{"n":1.0}"#);
    });
}

#[test]
fn one_process_serves_both_eras_in_any_order() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let modern = Modern::stdio(Client::spawn(room.trunkline(&[])), ABLE);
    modern.discover().result();
    let client = modern.process().expect("stdio");
    // A client that probes and goes back to the handshake on the same pipe.
    client.request(kit::mcp::initialize("\"i\"", "2025-11-25")).result();
    client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let echo = |id: &str| kit::mcp::call(id, "a:echo", "{}");
    let old = client.request(echo("\"old\""));
    assert_eq!(scan::get(old.result(), "resultType"), None, "{old}");
    let new = modern.call("a:echo", "{}");
    assert_eq!(new.result_type().as_deref(), Some("complete"), "{new}");
    assert_eq!(client.request(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).result(), b"{}");
    assert_eq!(modern.ask("ping", "{}").code(), -32601);
}

#[test]
fn over_http_sessions_and_stateless_requests_share_an_endpoint() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = room.serve(&[]);
    let (old, sse, new) = (serve.http(), serve.sse(), serve.modern("{}"));
    for _ in 0..3 {
        old.assert_echo("a", "echo", r#"{"era":"old"}"#);
        new.assert_echo("a", "echo", r#"{"era":"new"}"#);
        sse.assert_echo("a", "echo", r#"{"era":"older"}"#);
    }
    let plain = old.call("a.echo", "{}");
    assert_eq!(scan::get(plain.result(), "resultType"), None, "{plain}");
    let id = new.begin("a.echo", "{}");
    new.answer(&id, LIMIT).result();
    assert_eq!(new.head_of(&id).header("mcp-session-id"), None);
}

#[test]
fn simple_knows_no_second_era() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let client = Client::spawn(room.trunkline(&["--simple"]));
    let modern = Modern::stdio(client, "{}");
    assert_eq!(modern.discover().code(), -32601);
    let client = modern.process().expect("stdio");
    client.request(kit::mcp::initialize("\"i\"", "2025-11-25")).result();
    client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.request(kit::mcp::call("\"c\"", "a:echo", "{}")).result();
    assert!(ledger::with_method(&room.ledger("a"), "server/discover").is_empty(), "no probe");
}

#[test]
fn lists_carry_the_shortest_time_and_the_narrowest_scope_of_their_servers() {
    each_of(Front::MODERN, |front| {
        for (caches, ttl, scope) in [
            (&[(5_000, "public"), (700, "public")][..], "700", "public"),
            (&[(5_000, "public"), (700, "private")], "700", "private"),
        ] {
            let room = Room::new();
            let servers = caches.iter().enumerate().map(|(number, (ttl, scope))| {
                let name = format!("s{number}");
                let fake = room.fake(&name).modern().tool("echo", say::echo()).cache(*ttl, scope);
                (name.clone(), fake.resource(&format!("x://{number}"), "X").entry())
            });
            room.config_of(servers.collect());
            let scene = room.open_ready(front, &[]);
            for method in ["tools/list", "resources/list", "resources/templates/list"] {
                let answer = scene.ask(method, "{}");
                let said = |key: &str| scan::get(answer.result(), key).map(String::from_utf8_lossy);
                assert_eq!(said("ttlMs").as_deref(), Some(ttl), "{method}: {answer}");
                let quoted = scan::quote(scope);
                assert_eq!(said("cacheScope").as_deref(), Some(&*quoted), "{method}: {answer}");
                assert_eq!(answer.result_type().as_deref(), Some("complete"), "{method}");
            }
        }
    });
}

#[test]
fn a_list_with_a_server_of_the_older_era_is_not_to_be_kept() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let new = room.fake("new").modern().tool("echo", say::echo()).cache(9_000, "public");
        let old = room.fake("old").tool("echo", say::echo());
        room.config([("new", new.entry()), ("old", old.entry())]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.ask("tools/list", "{}");
        assert_eq!(scan::get(answer.result(), "ttlMs"), Some(&b"0"[..]), "{answer}");
        let scope = scan::get(answer.result(), "cacheScope");
        assert_eq!(scope, Some(&b"\"private\""[..]), "{answer}");
        let one = scene.ask("tools/list", "{}");
        assert_eq!(one.result(), answer.result(), "the same bytes each time");
    });
}
