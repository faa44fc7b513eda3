//! What a server of the stateless era over HTTP gets with each request.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::modern::header;
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::{LIMIT, ledger, say, scan};
use serde_json::json;

const FRONTS: [Front; 5] =
    [Front::Stdio, Front::Http, Front::Sse, Front::ModernStdio, Front::ModernHttp];

#[test]
fn headers_mirror_the_request_under_the_names_the_server_knows() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        let names = ["echo", "my-hyphenated-tool", "caf\u{e9}", "=?base64?odd?=", "a b"];
        let mut a = room.fake("a").resource("x://a/%20b?q=1", "1").prompt("gr\u{fc}ezi", "P");
        for name in names {
            a = a.tool(name, say::echo());
        }
        room.config([("a", a.over(Upstream::ModernHttp))]);
        let scene = room.open_ready(front, &[]);
        let listed = scene.list_names();
        assert_eq!(listed.len(), names.len(), "{listed:?}");
        for name in &listed {
            scene.call(name, "{}").result();
        }
        scene.ask("resources/read", r#"{"uri":"x://a/%20b?q=1"}"#).result();
        scene.ask("resources/read", r#"{"uri":"trunkline://a/x://a/%20b?q=1"}"#).result();
        scene.ask("prompts/get", "{\"name\":\"gr\u{fc}ezi\"}").result();
        let mut calls = 0;
        for method in
            ["tools/call", "resources/read", "prompts/get", "tools/list", "server/discover"]
        {
            let bodies = ledger::with_method(&room.ledger("a"), method);
            let heads = ledger::heads_of(&room.ledger("a"), method);
            assert_eq!(bodies.len(), heads.len(), "{method}");
            assert!(!bodies.is_empty(), "{method}");
            for (body, head) in bodies.iter().zip(heads) {
                let expected = header::of(body);
                for (name, value) in &expected {
                    assert_eq!(head.header(name), Some(&**value), "{}", head.raw);
                }
                let named = expected.iter().any(|(name, _)| *name == "Mcp-Name");
                assert_eq!(head.header("mcp-name").is_some(), named, "{}", head.raw);
                assert_eq!(head.header("mcp-session-id"), None, "{}", head.raw);
                let accept = head.header("accept").unwrap_or_default();
                assert!(accept.contains("application/json"), "{accept}");
                assert!(accept.contains("text/event-stream"), "{accept}");
                calls += 1;
            }
        }
        assert!(calls >= names.len() + 5);
        scene.assert_only_protocol();
    });
}

/// Name behind `Mcp-Param-`, and the value it has to have.
type Headers = &'static [(&'static str, Option<&'static str>)];

/// A tool with annotations on parameters of every kind that may have one.
const ANNOTATED: &str = r#"{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"Num"},"dry":{"type":"boolean","x-mcp-header":"Dry-Run"},"deep":{"type":"object","properties":{"tenant":{"type":"string","x-mcp-header":"Tenant"}}},"query":{"type":"string"}}}}"#;

#[test]
fn annotated_parameters_are_mirrored_for_clients_of_every_era() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        let a = room.fake("a").definitions(&[ANNOTATED]).tool("sql", say::echo());
        room.config([("a", a.over(Upstream::ModernHttp))]);
        let scene = room.open_ready(front, &[]);
        let tool = scene.tool("a", "sql");
        let rows: [(&str, Headers); 6] = [
            (
                r#"{"region":"us-west1","n":42,"dry":true,"deep":{"tenant":"t"},"query":"x"}"#,
                &[
                    ("Region", Some("us-west1")),
                    ("Num", Some("42")),
                    ("Dry-Run", Some("true")),
                    ("Tenant", Some("t")),
                    ("query", None),
                ],
            ),
            (
                r#"{"region":null,"query":"x"}"#,
                &[("Region", None), ("Num", None), ("Dry-Run", None), ("Tenant", None)],
            ),
            (
                "{\"region\":\"Hello, \u{4e16}\u{754c}\",\"n\":-7,\"dry\":false}",
                &[
                    ("Region", Some("=?base64?SGVsbG8sIOS4lueVjA==?=")),
                    ("Num", Some("-7")),
                    ("Dry-Run", Some("false")),
                ],
            ),
            (r#"{"region":" padded "}"#, &[("Region", Some("=?base64?IHBhZGRlZCA=?="))]),
            (r#"{"region":"line1\nline2"}"#, &[("Region", Some("=?base64?bGluZTEKbGluZTI=?="))]),
            (r#"{"region":"\u0061 b"}"#, &[("Region", Some("a b"))]),
        ];
        for (number, (arguments, expected)) in rows.into_iter().enumerate() {
            let id = scene.fresh_id();
            let message = kit::mcp::call(&id, &tool, arguments);
            if front == Front::ModernHttp {
                let sent: Vec<(String, &str)> = expected
                    .iter()
                    .filter_map(|(name, value)| Some((format!("Mcp-Param-{name}"), (*value)?)))
                    .collect();
                let sent: Vec<(&str, &str)> =
                    sent.iter().map(|(name, value)| (name.as_str(), *value)).collect();
                scene.modern().start_with(&message, &sent);
            } else {
                scene.send_line(message);
            }
            scene.answer(id.as_bytes(), LIMIT).result();
            let heads = ledger::heads_of(&room.ledger("a"), "tools/call");
            for (name, value) in expected {
                let header = format!("mcp-param-{}", name.to_lowercase());
                assert_eq!(heads[number].header(&header), *value, "{arguments}");
            }
            let calls = ledger::calls(&room.ledger("a"));
            let arrived = scan::path(&calls[number], &["params", "arguments"]);
            assert_eq!(arrived, Some(arguments.as_bytes()));
        }
    });
}

#[test]
fn tools_with_annotations_that_are_none_are_left_out_over_http_alone() {
    let bad = |name: &str, property: &str| {
        format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{{property}}}}}}}"#
        )
    };
    let annotated =
        |kind: &str, header: &str| format!(r#"{{"type":"{kind}","x-mcp-header":{header}}}"#);
    let all = [
        bad("empty", &format!(r#""p":{}"#, annotated("string", "\"\""))),
        bad("space", &format!(r#""p":{}"#, annotated("string", "\"a b\""))),
        bad("colon", &format!(r#""p":{}"#, annotated("string", "\"a:b\""))),
        bad("accent", &format!(r#""p":{}"#, annotated("string", "\"\\u00e9\""))),
        bad("control", &format!(r#""p":{}"#, annotated("string", "\"a\\r\\nb\""))),
        bad("number", &format!(r#""p":{}"#, annotated("number", "\"P\""))),
        bad("object", &format!(r#""p":{}"#, annotated("object", "\"P\""))),
        bad("array", &format!(r#""p":{}"#, annotated("array", "\"P\""))),
        bad("text", &format!(r#""p":{}"#, annotated("string", "7"))),
        bad(
            "twice",
            &format!(
                r#""p":{},"q":{}"#,
                annotated("string", "\"Same\""),
                annotated("string", "\"sAME\"")
            ),
        ),
        bad(
            "items",
            &format!(r#""p":{{"type":"array","items":{}}}"#, annotated("string", "\"P\"")),
        ),
        bad("one_of", &format!(r#""p":{{"oneOf":[{}]}}"#, annotated("string", "\"P\""))),
        say::definition("good"),
        ANNOTATED.to_owned(),
    ];
    let raw: Vec<&str> = all.iter().map(String::as_str).collect();
    for upstream in Upstream::MODERN {
        let room = Room::new();
        let a = room.fake("a").definitions(&raw).tool("good", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(Front::Stdio, &[]);
        let names = scene.list_names();
        if upstream == Upstream::ModernStdio {
            assert_eq!(names.len(), all.len(), "{names:?}");
            continue;
        }
        assert_eq!(names, ["a:good", "a:sql"]);
        scene.process().wait_stderr(&["space", "x-mcp-header"], LIMIT);
        scene.assert_echo("a", "good", "{}");
    }
}

#[test]
fn a_server_of_the_older_era_gets_none_of_these_headers() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let a = room.fake("a").definitions(&[ANNOTATED]).tool("sql", say::echo());
        room.config([("a", a.http(json!({})).over(Upstream::Http))]);
        let scene = room.open_ready(front, &[]);
        let id = scene.fresh_id();
        let message = kit::mcp::call(&id, &scene.tool("a", "sql"), r#"{"region":"eu"}"#);
        match front {
            Front::ModernHttp => {
                drop(scene.modern().start_with(&message, &[("Mcp-Param-Region", "eu")]));
            }
            _ => scene.send_line(message),
        }
        scene.answer(id.as_bytes(), LIMIT).result();
        for head in ledger::heads_of(&room.ledger("a"), "tools/call") {
            for name in ["mcp-method", "mcp-name", "mcp-param-region"] {
                assert_eq!(head.header(name), None, "{}", head.raw);
            }
        }
    });
}

/// A server may have changed its annotations since it was listed.
#[test]
fn a_mismatch_makes_us_list_again_and_try_once_more() {
    each_of([Front::Stdio, Front::ModernHttp], |front| {
        let room = Room::new();
        let mismatch =
            r#"{"jsonrpc":"2.0","id":@ID@,"error":{"code":-32020,"message":"Header mismatch"}}"#;
        let kind = [("Content-Type", "application/json")];
        let once = say::first(
            1,
            &say::steps([say::change_tools(&[ANNOTATED]), say::net::http(400, &kind, mismatch)]),
            &say::echo(),
        );
        let a = room.fake("a").tool("sql", once);
        room.config([("a", a.over(Upstream::ModernHttp))]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.call(&scene.tool("a", "sql"), r#"{"region":"eu"}"#);
        if let Some(error) = answer.try_error() {
            // A client of this era lists again itself; what it must not get is another code.
            assert_eq!(
                (front, answer.code()),
                (Front::ModernHttp, -32020),
                "{}",
                String::from_utf8_lossy(error)
            );
            return;
        }
        let heads = ledger::heads_of(&room.ledger("a"), "tools/call");
        assert_eq!(heads.len(), 2);
        assert_eq!(heads[1].header("mcp-param-region"), Some("eu"));
    });
}
