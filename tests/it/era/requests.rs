//! What a request of the stateless era has to say, as a table: request, status, code.

use kit::http::Ask;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::modern::header;
use kit::modern::stamp::{CAPABILITIES, VERSION};
use kit::room::Room;
use kit::say;
use kit::scan;
use kit::scene::Front;

const CALL: &str = r#"{"jsonrpc":"2.0","id":"seven","method":"tools/call","params":{"name":"a.echo","arguments":{}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":"seven","method":"tools/list"}"#;

fn house() -> Room {
    let room = Room::new();
    let a = room.fake("a").tool("echo", say::echo()).tool("caf\u{e9}", say::echo());
    let a = a.resource("x://one", "One").prompt("greet", "Greets");
    room.config([("a", a.entry())]);
    room
}

/// A request and what becomes of it over HTTP.
struct Row {
    name: &'static str,
    ask: Ask,
    status: u16,
    /// `None`: a result.
    code: Option<i64>,
}

#[track_caller]
fn check(client: &Modern, rows: Vec<Row>) {
    let mut wrong = Vec::new();
    for Row { name, ask, status, code } in rows {
        let response = client.post(&ask);
        let body = match response.head.is_stream() {
            true => message_of(&response.text()),
            false => response.body.clone(),
        };
        let got = scan::path(&body, &["error", "code"]).map(String::from_utf8_lossy);
        let expected = code.map(|code| code.to_string());
        let is_result = scan::get(&body, "result").is_some();
        let fits = response.status() == status
            && got.as_deref() == expected.as_deref()
            && is_result == code.is_none()
            && scan::get(&body, "id") == Some(b"\"seven\"");
        if !fits {
            let text = response.text();
            wrong.push(format!(
                "{name}: {} {text}\n  expected {status} {code:?}",
                response.status()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn message_of(events: &str) -> Vec<u8> {
    let mut data = events.lines().filter_map(|line| line.strip_prefix("data:"));
    data.next_back().unwrap_or_default().trim().as_bytes().to_vec()
}

/// A body without the stamp, with the headers a stamped one would have.
fn bare(client: &Modern, body: &str) -> Ask {
    client.dress(body).body(body)
}

fn meta(members: &str) -> String {
    LIST.replace("\"tools/list\"", &format!(r#""tools/list","params":{{"_meta":{{{members}}}}}"#))
}

#[test]
fn what_is_missing_in_meta_is_named() {
    let room = house();
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let client = scene.modern();
    let version = format!(r#""{VERSION}":"2026-07-28""#);
    let capabilities = format!(r#""{CAPABILITIES}":{{}}"#);
    let refused =
        |name, body: &str| Row { name, ask: bare(client, body), status: 400, code: Some(-32602) };
    let no_params = LIST;
    let empty = LIST.replace("\"tools/list\"", r#""tools/list","params":{}"#);
    check(
        client,
        vec![
            refused("no params", no_params),
            refused("no _meta", &empty),
            refused("an empty _meta", &meta("")),
            refused("no version", &meta(&capabilities)),
            refused("no capabilities", &meta(&version)),
            refused(
                "capabilities that are none",
                &meta(&format!(r#"{version},"{CAPABILITIES}":7"#)),
            ),
            Row {
                name: "no clientInfo",
                ask: bare(client, &meta(&format!("{version},{capabilities}"))),
                status: 200,
                code: None,
            },
        ],
    );
    let response = client.post(&bare(client, &meta(&version)));
    assert!(response.text().contains(CAPABILITIES), "{}", response.text());
}

#[test]
fn another_revision_is_refused_with_those_there_are() {
    let room = house();
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let client = scene.modern();
    let known = client.discover();
    let known = scan::get(known.result(), "supportedVersions").and_then(scan::elements).unwrap();
    for version in ["v999.0.0", "2027-01-01", "2025-11-25"] {
        let body = meta(&format!(r#""{VERSION}":"{version}","{CAPABILITIES}":{{}}"#));
        let ask = bare(client, &body).header("MCP-Protocol-Version", version);
        let response = client.post(&ask);
        assert_eq!(response.status(), 400, "{version}: {}", response.text());
        let said = |keys: &[&str]| scan::path(&response.body, keys).map(<[u8]>::to_vec);
        assert_eq!(said(&["error", "code"]).as_deref(), Some(&b"-32022"[..]), "{version}");
        let requested = said(&["error", "data", "requested"]);
        assert_eq!(requested, Some(scan::quote(version).into_bytes()));
        let supported = said(&["error", "data", "supported"]).unwrap_or_default();
        let supported = scan::elements(&supported).unwrap_or_default();
        assert!(supported.contains(&&b"\"2026-07-28\""[..]), "{}", response.text());
        assert!(supported.iter().all(|one| known.contains(one)), "{}", response.text());
    }
}

#[test]
fn headers_that_do_not_mirror_the_body_are_refused() {
    let room = house();
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let client = scene.modern();
    let (call, list) = (|| client.dress(CALL), || client.dress(LIST));
    let refused = |name, ask| Row { name, ask, status: 400, code: Some(-32020) };
    let fine = |name, ask| Row { name, ask, status: 200, code: None };
    let cafe = CALL.replace("a.echo", "a.caf\u{e9}");
    let read =
        r#"{"jsonrpc":"2.0","id":"seven","method":"resources/read","params":{"uri":"x://one"}}"#;
    let get = r#"{"jsonrpc":"2.0","id":"seven","method":"prompts/get","params":{"name":"greet"}}"#;
    let unknown = meta(&format!(r#""{VERSION}":"v999","{CAPABILITIES}":{{}}"#));
    check(
        client,
        vec![
            fine("all is said", call()),
            fine("a list", list()),
            refused("no version", call().without("MCP-Protocol-Version")),
            refused("another version", call().header("MCP-Protocol-Version", "2025-11-25")),
            refused(
                "another version in the body",
                bare(client, &unknown).header("MCP-Protocol-Version", "2026-07-28"),
            ),
            refused("no method", list().without("Mcp-Method")),
            refused("another method", list().header("Mcp-Method", "prompts/list")),
            refused("the method in capitals", list().header("Mcp-Method", "TOOLS/LIST")),
            refused("no name", call().without("Mcp-Name")),
            refused("another name", call().header("Mcp-Name", "a.other")),
            refused("the name its server knows", call().header("Mcp-Name", "echo")),
            refused("the name in capitals", call().header("Mcp-Name", "A.ECHO")),
            refused("no name for a read", client.dress(read).without("Mcp-Name")),
            refused("another URI", client.dress(read).header("Mcp-Name", "x://two")),
            refused("another prompt", client.dress(get).header("Mcp-Name", "other")),
            fine("a read", client.dress(read)),
            fine("a prompt", client.dress(get)),
            fine("space around", call().header("Mcp-Name", "  a.echo  ")),
            fine("the name in Base64", call().header("Mcp-Name", "=?base64?YS5lY2hv?=")),
            fine("a name that needs Base64", client.dress(&cafe)),
            refused(
                "without its padding",
                client.dress(&cafe).header("Mcp-Name", "=?base64?YS5jYWbDqQ?="),
            ),
            refused("what is no Base64", call().header("Mcp-Name", "=?base64?YS5l!!hv?=")),
            refused("another name in Base64", call().header("Mcp-Name", "=?base64?b3RoZXI=?=")),
            fine(
                "header names in any case",
                list().without("Mcp-Method").header("mcp-METHOD", "tools/list"),
            ),
            fine("a session that is none", call().header("Mcp-Session-Id", "who")),
        ],
    );
    assert_eq!(header::encode("a.caf\u{e9}"), "=?base64?YS5jYWbDqQ==?=");
}

#[test]
fn a_tool_may_be_called_by_any_of_its_names_as_long_as_the_header_says_the_same() {
    let room = house();
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let client = scene.modern();
    for name in ["a.echo", "a__echo", "a:echo"] {
        let body = CALL.replace("a.echo", name);
        let response = client.post(&client.dress(&body));
        assert_eq!(response.status(), 200, "{name}: {}", response.text());
        let response = client.post(&client.dress(&body).header("Mcp-Name", "a_echo"));
        assert_eq!(response.status(), 400, "{name}: {}", response.text());
    }
}

#[test]
fn methods_that_are_gone_are_not_found() {
    let room = house();
    let gone = [
        ("initialize", r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#),
        ("ping", "{}"),
        ("logging/setLevel", r#"{"level":"info"}"#),
        ("resources/subscribe", r#"{"uri":"x://one"}"#),
        ("resources/unsubscribe", r#"{"uri":"x://one"}"#),
        ("no/such/method", "{}"),
        ("TOOLS/LIST", "{}"),
    ];
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let rows = gone.iter().map(|(method, params)| {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":"seven","method":"{method}","params":{params}}}"#);
        Row { name: method, ask: scene.modern().dress(body), status: 404, code: Some(-32601) }
    });
    check(scene.modern(), rows.collect());
    let scene = room.open_ready(Front::ModernStdio, &[]);
    for (method, params) in gone {
        assert_eq!(scene.ask(method, params).code(), -32601, "{method}");
    }
}

#[test]
fn what_nobody_has_is_an_error_of_the_request_and_not_of_http() {
    let room = house();
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let body = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"seven","method":"{method}","params":{params}}}"#)
    };
    let row = |name, method: &str, params: &str| Row {
        name,
        ask: scene.modern().dress(body(method, params)),
        status: 200,
        code: Some(-32602),
    };
    check(
        scene.modern(),
        vec![
            row("a tool", "tools/call", r#"{"name":"a.nope","arguments":{}}"#),
            row("a tool of no server", "tools/call", r#"{"name":"zzz.nope","arguments":{}}"#),
            row("a resource", "resources/read", r#"{"uri":"nowhere://at/all"}"#),
            row("a prompt", "prompts/get", r#"{"name":"nope"}"#),
        ],
    );
    let scene = room.open_ready(Front::ModernStdio, &[]);
    let answer = scene.ask("resources/read", r#"{"uri":"nowhere://at/all"}"#);
    assert_eq!(answer.code(), -32602, "{answer}");
}

#[test]
fn over_stdio_the_same_is_asked_of_meta() {
    let room = house();
    let scene = room.open_ready(Front::ModernStdio, &[]);
    let client = scene.process();
    let ask = |members: &str| client.request(meta(members));
    let version = format!(r#""{VERSION}":"2026-07-28""#);
    assert_eq!(ask(&version).code(), -32602, "no capabilities");
    let answer = ask(&format!(r#""{VERSION}":"v999","{CAPABILITIES}":{{}}"#));
    assert_eq!(answer.code(), -32022, "{answer}");
    let requested = scan::path(answer.error(), &["data", "requested"]);
    assert_eq!(requested, Some(&b"\"v999\""[..]), "{answer}");
    ask(&format!(r#"{version},"{CAPABILITIES}":{{}}"#)).result();
    client.assert_only_protocol();
}

/// The TypeScript client says so when it stops listening, without `Mcp-Method`.
#[test]
fn a_notification_is_accepted_without_the_headers_of_requests() {
    let room = house();
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let client = scene.modern();
    let said = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}"#;
    let ask = Ask::post("/mcp", said).header("MCP-Protocol-Version", "2026-07-28");
    let response = client.post(&ask);
    assert_eq!((response.status(), response.text().as_str()), (202, ""));
    let response = client.post(&ask.header("Mcp-Method", "notifications/cancelled"));
    assert_eq!((response.status(), response.text().as_str()), (202, ""));
}

#[test]
fn what_is_no_request_at_all_is_refused() {
    let room = house();
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let client = scene.modern();
    for body in ["", "{", "7", "[]", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#] {
        let ask = client.dress(LIST).body(body);
        let response = client.post(&ask);
        assert!((400..500).contains(&response.status()), "{body}: {}", response.status());
    }
    client.assert_echo("a", "echo", "{}");
}
