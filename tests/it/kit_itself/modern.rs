//! Client and scripted server of the stateless era against each other, over both transports.

use kit::client::Client;
use kit::config::{Fake, Upstream};
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::room::Room;
use kit::scene::each_of;
use kit::service::Wire;
use kit::{LIMIT, ledger, process, say, scan};

/// A client of the server itself.
fn meet(room: &Room, fake: Fake<'_>, upstream: Upstream, capabilities: &str) -> Modern {
    if upstream.is_stdio() {
        let entry = fake.entry();
        let mut command = std::process::Command::new(entry["command"].as_str().expect("a command"));
        for arg in entry["args"].as_array().expect("arguments") {
            command.arg(arg.as_str().expect("text"));
        }
        return Modern::stdio(Client::spawn(command), capabilities);
    }
    let service = fake.listen(Wire::Http);
    let client = Modern::http(service.address(), capabilities);
    room.keep(service);
    client
}

#[test]
fn requests_are_answered_and_carry_what_the_era_wants() {
    each_of(Upstream::MODERN, |upstream| {
        let room = Room::new();
        let fake = room.fake("a").modern().tool("echo", say::echo()).resource("x://é", "E");
        let client = meet(&room, fake.cache(5, "public"), upstream, "{}");
        let found = client.discover();
        let versions = scan::get(found.result(), "supportedVersions");
        assert_eq!(versions, Some(&br#"["2026-07-28"]"#[..]), "{found}");
        let hints = r#""resultType":"complete","ttlMs":5,"cacheScope":"public""#;
        assert!(String::from_utf8_lossy(&found.0).contains(hints), "{found}");
        let answer = client.call("echo", r#"{"a":1.0}"#);
        assert_eq!(answer.result_type().as_deref(), Some("complete"), "{answer}");
        let text = String::from_utf8_lossy(&answer.payload()).into_owned();
        assert!(text.contains(r#""arguments":{"a":1.0}"#), "{text}");
        let read = client.ask("resources/read", r#"{"uri":"x://é"}"#);
        assert!(String::from_utf8_lossy(read.result()).contains(hints), "{read}");
        for (method, code) in [("initialize", -32022), ("ping", -32601), ("x/y", -32601)] {
            assert_eq!(client.ask(method, "{}").code(), code, "{method}");
        }
        client.assert_only_protocol();
        if client.is_http() {
            let heads = ledger::heads_of(&room.ledger("a"), "resources/read");
            assert_eq!(heads[0].header("mcp-name"), Some("=?base64?eDovL8Op?="));
            let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#;
            for (name, value) in
                [("Mcp-Name", "other"), ("Mcp-Method", "x"), ("MCP-Protocol-Version", "2025-11-25")]
            {
                let response = client.post(&client.dress(body).header(name, value));
                assert_eq!(response.status(), 400, "{name}");
                assert!(response.text().contains("-32020"), "{}", response.text());
            }
        }
    });
}

#[test]
fn rounds_subscriptions_and_cancellations() {
    each_of(Upstream::MODERN, |upstream| {
        let room = Room::new();
        let asks = say::modern::rounds([
            say::steps([say::modern::input_required(
                &[("k\u{e9}y", "roots/list", "")],
                Some(r#""2:\u0041""#),
            )]),
            say::steps([say::text("wrong round")]),
            say::steps([say::result(r#"{"state":@STATE@,"heard":@RESPONSES@}"#)]),
        ]);
        let touch = say::steps([
            say::changed("tools"),
            say::changed("prompts"),
            say::updated("x://1"),
            say::updated("x://2"),
            say::text("done"),
        ]);
        let fake = room.fake("a").modern().tool("ask", asks).tool("touch", touch);
        let fake = fake.resource("x://1", "1").tool("slow", say::steps([say::until_cancelled()]));
        let end = say::steps([say::modern::end_listens(), say::text("done")]);
        let client = meet(&room, fake.tool("end", end), upstream, "{}");
        let params = r#"{"name":"ask","arguments":{}}"#;
        let round = client.ask("tools/call", params).round();
        assert_eq!(round.only().method, "roots/list");
        let answer =
            client.ask("tools/call", &round.answered(params, |_| r#"{"roots":[]}"#.into()));
        assert_eq!(
            String::from_utf8_lossy(&answer.payload()),
            "{\"state\":\"2:\\u0041\",\"heard\":{\"k\u{e9}y\":{\"roots\":[]}}}"
        );
        let filter = r#"{"toolsListChanged":true,"resourceSubscriptions":["x://1"]}"#;
        let listen = client.listen(filter);
        assert_eq!(listen.honoured, filter);
        client.call("touch", "{}").result();
        client.event(&listen.id, "notifications/tools/list_changed", LIMIT);
        client.event(&listen.id, "notifications/resources/updated", LIMIT);
        assert!(client.try_event(&listen.id, "notifications/resources/updated").is_none());
        assert!(client.try_event(&listen.id, "notifications/prompts/list_changed").is_none());
        client.call("end", "{}").result();
        client.answer(&listen.id, LIMIT).result();
        let id = client.begin("slow", "{}");
        let there =
            || ledger::calls(&room.ledger("a")).iter().any(|c| scan::get(c, "id") == Some(&id));
        process::wait_until("the call is there", LIMIT, there);
        client.cancel(&id);
        if client.is_http() {
            let closed = || ledger::closed(&room.ledger("a")).contains(&id);
            process::wait_until("the connection is closed", LIMIT, closed);
        }
    });
}
