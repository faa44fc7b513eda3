//! What the spans of a call say.

use kit::collector::{CLIENT, Collector, Mood, SERVER};
use kit::mcp::Speak;
use kit::platform::{ADMIN, Platform};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, say};
use rustix::process::Signal;
use serde_json::json;

use super::{last_call, serve};

#[test]
fn us5_ac7_a_call_is_a_span_and_its_way_to_the_server_another_below() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = serve(&room, &collector);
    let client = serve.http();
    client.call("a.echo", r#"{"n": 1.0}"#).result();
    let spans = collector.wait_spans(2);
    let [server, way] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((server.kind(), way.kind()), (SERVER, CLIENT));
    assert_eq!((server.name(), way.name()), ("tools/call a.echo", "tools/call echo"));
    assert_eq!((server.parent(), way.parent()), (None, Some(server.id())));
    assert_eq!(server.trace(), way.trace());
    assert!(server.start() <= way.start() && way.start() <= way.end(), "{spans:#?}");
    assert!(way.end() <= server.end(), "{spans:#?}");
    for (key, one, other) in [
        ("mcp.method.name", "tools/call", "tools/call"),
        ("gen_ai.tool.name", "a.echo", "echo"),
        ("gen_ai.operation.name", "execute_tool", "execute_tool"),
        ("network.transport", "tcp", "pipe"),
        ("trunkline.server", "a", "a"),
        ("trunkline.outcome", "ok", "ok"),
    ] {
        assert_eq!((server.attribute(key), way.attribute(key)), (Some(one), Some(other)), "{key}");
    }
    assert_eq!(server.resource("service.name"), Some("trunkline"));
    assert!(server.resource("service.version").is_some());
    assert!(server.resource("service.instance.id").is_some());
    // The server knows where it was called from, and its arguments are as they were written.
    let got = last_call(&room.ledger("a"));
    assert!(
        got.contains(&format!(r#""_meta":{{"traceparent":"{}"}}"#, way.traceparent())),
        "{got}"
    );
    assert!(got.contains(r#""arguments":{"n": 1.0}"#), "{got}");
}

#[test]
fn what_goes_wrong_is_said_on_both_spans() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
    let a = room
        .fake("a")
        .tool("bad", json!([say::result(r#"{"content":[],"isError":true}"#)]))
        .tool("worse", json!([say::error(r#"{"code":-32603,"message":"canary"}"#)]));
    let service = a.listen(Wire::Http);
    room.config([("a", service.entry())]);
    let serve = serve(&room, &collector);
    let client = serve.http();
    client.call("a.bad", "{}").result();
    client.call("a.worse", "{}").error();
    let spans = collector.wait_spans(4);
    for (span, error) in spans.iter().zip(["tool_error", "tool_error", "-32603", "-32603"]) {
        assert_eq!(span.attribute("error.type"), Some(error), "{span:#?}");
        assert_eq!(span.raw["status"]["code"], 2);
        assert_eq!(span.attribute("network.transport"), Some("tcp"));
    }
    assert_eq!(spans[2].attribute("rpc.response.status_code"), Some("-32603"));
    assert!(!format!("{spans:?}").contains("canary"), "what servers say is not in spans");
}

#[test]
fn other_requests_that_go_to_a_server_are_followed_too() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
    let a = room.fake("a").resource("x://secret-canary", "r").prompt("p", "P");
    room.config([("a", a.entry())]);
    let serve = serve(&room, &collector);
    let client = serve.http();
    client.ask("resources/read", r#"{"uri":"x://secret-canary"}"#).result();
    client.ask("prompts/get", r#"{"name":"p"}"#).result();
    let spans = collector.wait_spans(4);
    let names: Vec<_> = spans.iter().map(kit::collector::Span::name).collect();
    assert_eq!(names, ["resources/read", "resources/read", "prompts/get p", "prompts/get p"]);
    assert_eq!(spans[2].attribute("gen_ai.prompt.name"), Some("p"));
    assert!(!format!("{spans:?}").contains("canary"), "a URI may hold what is nobody's business");
}

#[test]
fn a_call_over_rest_comes_from_where_its_head_says_and_names_its_caller() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
    let service = room.fake("a").tool("echo", say::echo()).listen(Wire::Http);
    let flags = ["--allow-net", "127.0.0.0/8"];
    let platform = Platform::start(collector.follows(room.platform_command(&flags)));
    platform.connected("a", &service);
    let ask = Platform::call_ask("a.echo", r#"{"k":"argument-canary"}"#);
    let ask = ask.header("traceparent", super::PARENT);
    platform.admin().send(&ask).is(200);
    let spans = collector.wait_spans(2);
    assert_eq!(
        (spans[0].trace(), spans[0].parent()),
        (super::PARENT_TRACE, Some(super::PARENT_SPAN))
    );
    assert_eq!(spans[1].parent(), Some(spans[0].id()));
    assert!(last_call(&room.ledger("a")).contains(&spans[1].traceparent()));
    assert!(spans[0].attribute("user.id").is_some(), "{spans:#?}");
    assert_eq!(spans[0].attribute("client.address"), Some("127.0.0.1"));
    // As the client calls it, and as the server does.
    let named = [0, 1].map(|at: usize| spans[at].attribute("gen_ai.tool.name"));
    assert_eq!(named, [Some("a.echo"), Some("echo")]);
    // The same over MCP with a key.
    let key = platform.key("caller");
    platform.mcp(&key).call("a.echo", r#"{"k":"argument-canary"}"#).result();
    let spans = collector.wait_spans(4);
    let who = spans[2].attribute("user.id").unwrap_or_default();
    assert!(who.starts_with("key:"), "{who}");
    for posted in collector.posted() {
        let text = String::from_utf8_lossy(&posted.body).into_owned();
        for secret in [&key, ADMIN, "argument-canary"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[test]
fn what_waits_at_the_end_is_sent() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = serve(&room, &collector);
    let client = serve.http();
    for _ in 0..5 {
        client.call("a.echo", "{}").result();
    }
    serve.process().signal(Signal::TERM);
    serve.process().wait_exit(LIMIT);
    assert_eq!(collector.spans().len(), 10);
}
