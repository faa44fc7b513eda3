//! Which era a server at a URL speaks.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::modern::stamp::VERSION;
use kit::room::Room;
use kit::scene::{Front, Scene};
use kit::service::Wire;
use kit::{LIMIT, ledger, say, scan};
use serde_json::{Value, json};

const JSON: [(&str, &str); 1] = [("Content-Type", "application/json")];

fn received(room: &Room, method: &str) -> usize {
    ledger::with_method(&room.ledger("a"), method).len()
}

#[track_caller]
fn assert_works(scene: &Scene) {
    scene.wait_list("its tools", LIMIT, |names| names == [scene.tool("a", "echo")]);
    scene.assert_echo("a", "echo", r#"{"n":1.0}"#);
}

#[track_caller]
fn assert_legacy(room: &Room, scene: &Scene) {
    assert_works(scene);
    assert!(received(room, "initialize") >= 1);
    for line in ledger::calls(&room.ledger("a")) {
        assert!(scan::path(&line, &["params", "_meta", VERSION]).is_none());
    }
}

#[track_caller]
fn assert_modern(room: &Room, scene: &Scene) {
    assert_works(scene);
    assert_eq!(received(room, "initialize"), 0);
    for head in ledger::heads(&room.ledger("a")) {
        assert_eq!(head.method(), "POST", "{}", head.raw);
        assert_eq!(head.header("mcp-session-id"), None, "{}", head.raw);
        assert_eq!(head.header("mcp-protocol-version"), Some("2026-07-28"), "{}", head.raw);
        assert!(head.header("mcp-method").is_some(), "{}", head.raw);
    }
}

#[test]
fn a_server_of_the_stateless_era_gets_nothing_but_posts_with_their_headers() {
    for front in [Front::Stdio, Front::Http, Front::ModernStdio, Front::ModernHttp] {
        let room = Room::new();
        let a = room.fake("a").tool("echo", say::echo()).over(Upstream::ModernHttp);
        room.config([("a", a)]);
        assert_modern(&room, &room.open(front, &[]));
    }
}

#[test]
fn a_server_of_both_eras_is_spoken_to_in_the_newer() {
    let room = Room::new();
    room.config([("a", room.fake("a").dual().tool("echo", say::echo()).over(Upstream::Http))]);
    assert_modern(&room, &room.open(Front::Http, &[]));
}

#[test]
fn a_server_that_always_streams_is_understood() {
    let room = Room::new();
    let a = room.fake("a").tool("echo", say::echo()).http(json!({ "reply": "sse" }));
    room.config([("a", a.over(Upstream::ModernHttp))]);
    assert_modern(&room, &room.open(Front::ModernHttp, &[]));
}

/// What servers of the older era answer to a request of the newer.
#[test]
fn refusals_of_the_older_era_send_us_to_its_handshake() {
    let text = |id: &str, code: i64, message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
    };
    let refusal = |body: &str| Some(json!({ "refusal": body }));
    let http = |status, body: &str| say::steps([say::net::http(status, &JSON, body)]);
    let legacy = r#"{"supported":["2025-11-25"],"requested":"2026-07-28"}"#;
    let unsupported = format!(
        r#"{{"jsonrpc":"2.0","id":@ID@,"error":{{"code":-32022,"message":"no","data":{legacy}}}}}"#
    );
    let found = r#"{"jsonrpc":"2.0","id":@ID@,"result":{"resultType":"complete","supportedVersions":["2025-11-25"],"capabilities":{}}}"#;
    let cases: [(&str, Option<Value>, Option<Value>); 12] = [
        ("the TypeScript SDK", None, None),
        ("the Python SDK", refusal(&text("\"server-error\"", -32600, "Missing session ID")), None),
        ("an empty body", refusal(""), None),
        ("a page", refusal("<html>Bad Request</html>"), None),
        ("200 and -32601", None, Some(http(200, &text("@ID@", -32601, "no")))),
        ("404 and nothing", None, Some(http(404, ""))),
        ("404 and -32601", None, Some(http(404, &text("@ID@", -32601, "no")))),
        ("405", None, Some(http(405, ""))),
        ("406", None, Some(http(406, ""))),
        ("200 and no JSON", None, Some(http(200, "hello"))),
        ("400 and -32022 with older revisions", None, Some(http(400, &unsupported))),
        ("a result with older revisions", None, Some(http(200, found))),
    ];
    for (what, options, answer) in cases {
        println!("---- {what}");
        let room = Room::new();
        let mut a = room.fake("a").tool("echo", say::echo());
        if let Some(options) = options {
            a = a.http(options);
        }
        if let Some(answer) = answer {
            a = a.on("server/discover", answer);
        }
        room.config([("a", a.over(Upstream::Http))]);
        assert_legacy(&room, &room.open(Front::ModernHttp, &[]));
    }
}

#[test]
fn an_error_of_the_stateless_era_under_400_is_an_answer_of_that_era() {
    for (code, data) in [
        (-32022, r#","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}"#),
        (-32021, r#","data":{"requiredCapabilities":{}}"#),
        (-32020, ""),
    ] {
        println!("---- {code}");
        let room = Room::new();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":@ID@,"error":{{"code":{code},"message":"no"{data}}}}}"#
        );
        let once = say::first_only(1, &say::steps([say::net::http(400, &JSON, &body)]));
        let a = room.fake("a").tool("echo", say::echo()).on("server/discover", once);
        room.config([("a", a.over(Upstream::ModernHttp))]);
        assert_modern(&room, &room.open(Front::ModernHttp, &[]));
    }
}

/// Whoever cannot answer right now has not said in which era it would have.
#[test]
fn a_server_that_is_not_well_has_not_told_its_era() {
    for (what, status) in [("500", 500), ("503", 503), ("502", 502)] {
        println!("---- {what}");
        let room = Room::new();
        let once = say::first_only(1, &say::steps([say::net::http(status, &[], "")]));
        let a = room.fake("a").tool("echo", say::echo()).on("server/discover", once);
        room.config([("a", a.over(Upstream::ModernHttp))]);
        let scene = room.open(Front::ModernHttp, &[]);
        assert_works(&scene);
        // The handshake may have been tried meanwhile; it is not what was settled for.
        assert_eq!(received(&room, "notifications/initialized"), 0, "{what}");
    }
    for status in [401, 403] {
        let room = Room::new();
        let refuse = say::steps([say::net::http(status, &[], "")]);
        let a = room.fake("a").tool("echo", say::echo()).on("server/discover", refuse);
        room.config([
            ("a", a.over(Upstream::ModernHttp)),
            ("b", room.fake("b").tool("e", say::echo()).entry()),
        ]);
        let scene = room.open(Front::ModernHttp, &[]);
        scene.wait_list("the other's tools", LIMIT, |names| names == ["b.e"]);
        assert_eq!(received(&room, "initialize"), 0, "{status}: no verdict, no handshake");
    }
}

#[test]
fn a_server_that_comes_back_in_the_other_era_is_found_out() {
    for to_modern in [true, false] {
        println!("---- {to_modern}");
        let room = Room::new();
        let fake = |modern: bool| {
            let a = room.fake("a").tool("echo", say::echo());
            if modern { a.modern() } else { a }
        };
        let mut service = fake(!to_modern).listen(Wire::Http);
        room.config([("a", service.entry())]);
        let serve = room.serve(&[]);
        let client = serve.modern("{}");
        client.wait_list("its tools", LIMIT, |names| names == ["a.echo"]);
        fake(to_modern).entry();
        service.restart();
        let back = || client.call("a.echo", "{}").try_result().is_some();
        kit::process::wait_until("it answers in its new era", LIMIT, back);
    }
}

#[test]
fn the_older_transport_is_not_asked_for_the_newer_era() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).over(Upstream::Sse))]);
    let scene = room.open(Front::ModernHttp, &[]);
    assert_works(&scene);
    assert_eq!(received(&room, "server/discover"), 0);
}
