//! One call after the other on the same connection, under the same head: each is judged by what it
//! says itself, not by what those before it said.

use kit::http::Ask;
use kit::modern::Modern;
use kit::room::Room;
use kit::scene::Front;
use kit::{say, scan};

const CALL: &str = r#"{"jsonrpc":"2.0","id":"seven","method":"tools/call","params":{"name":"a.echo","arguments":{"n":1.0}}}"#;

/// A tool that wants an argument in its head, too.
const ANNOTATED: [&str; 4] = [
    r#"{"name":"echo","inputSchema":{"type":"object"}}"#,
    r#"{"name":"other","inputSchema":{"type":"object"}}"#,
    r#"{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#,
    "{\"name\":\"caf\u{e9}\",\"inputSchema\":{\"type\":\"object\"}}",
];

fn house() -> Room {
    let room = Room::new();
    let a = room.fake("a").definitions(&ANNOTATED);
    let a = ["echo", "other", "sql", "caf\u{e9}"]
        .into_iter()
        .fold(a, |a, name| a.tool(name, say::echo()));
    room.config([("a", a.entry())]);
    room
}

/// Posts it behind two usual calls, and a usual call behind it: status and code of its answer, and
/// whether it comes under its own id.
fn among_others(client: &Modern, ask: &Ask) -> (u16, Option<String>, bool) {
    let mut connection = client.connect();
    for _ in 0..2 {
        let usual = connection.ask(&client.dress(CALL));
        assert!(scan::get(&usual.body, "result").is_some(), "{}", usual.text());
    }
    let response = connection.ask(ask);
    let code = scan::path(&response.body, &["error", "code"]);
    let code = code.map(|code| String::from_utf8_lossy(code).into_owned());
    let is_its_own = scan::get(&response.body, "id") == Some(b"\"eight\"");
    let usual = connection.ask(&client.dress(CALL));
    assert_eq!(scan::get(&usual.body, "id"), Some(&b"\"seven\""[..]), "{}", usual.text());
    (response.status(), code, is_its_own)
}

#[test]
fn each_call_under_a_repeated_head_is_judged_by_itself() {
    let room = house();
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let client = scene.modern();
    let call = CALL.replace("seven", "eight");
    let plain = || client.dress(&call);
    let named = |body: &str, name: &str| {
        client.dress(call.replace("a.echo", body)).header("Mcp-Name", name)
    };
    let meta = |old: &str, new: &str| {
        let body = client.stamp().on(call.as_bytes());
        let text = String::from_utf8(body).unwrap();
        assert!(text.contains(old), "{text}");
        plain().body(text.replacen(old, new, 1))
    };
    let rows: [(&str, Ask, u16, Option<i64>); 17] = [
        ("the same again", plain(), 200, None),
        ("another tool", named("a.other", "a.other"), 200, None),
        ("a name spelt with escapes", named("a\\u002eecho", "a.echo"), 200, None),
        ("a name that needs Base64", named("a.caf\u{e9}", "=?base64?YS5jYWbDqQ==?="), 200, None),
        ("a name in Base64", named("a.echo", "=?base64?YS5lY2hv?="), 200, None),
        ("a longer body", client.dress(call.replace("1.0", &"1".repeat(5000))), 200, None),
        ("a body of several lines", plain().body(pretty(client, &call)), 200, None),
        ("another tool in the head", named("a.echo", "a.other"), 400, Some(-32020)),
        ("another tool in the body", named("a.other", "a.echo"), 400, Some(-32020)),
        ("no tool in the head", plain().without("Mcp-Name"), 400, Some(-32020)),
        ("two tools in the head", plain().another("Mcp-Name", "a.echo"), 400, Some(-32020)),
        ("another method in the body", meta("tools/call", "prompts/get"), 400, Some(-32020)),
        ("another version in the body", meta("2026-07-28", "2027-01-01"), 400, Some(-32020)),
        ("no version in the body", meta("protocolVersion", "x"), 400, Some(-32602)),
        (
            "no argument in the head",
            named("a.sql", "a.sql").body(sql(client, "a.sql")),
            400,
            Some(-32020),
        ),
        (
            "an argument in the head",
            named("a.sql", "a.sql").body(sql(client, "a.sql")).header("Mcp-Param-Region", "eu"),
            200,
            None,
        ),
        ("a tool that is not there", named("a.nope", "a.nope"), 200, Some(-32602)),
    ];
    for (name, ask, status, code) in rows {
        let expected = (status, code.map(|code| code.to_string()), true);
        assert_eq!(among_others(client, &ask), expected, "{name}");
    }
}

/// The stamped call with its members on lines of their own.
fn pretty(client: &Modern, call: &str) -> Vec<u8> {
    let body = String::from_utf8(client.stamp().on(call.as_bytes())).unwrap();
    body.replacen("{\"", "{\n  \"", 1).into_bytes()
}

fn sql(client: &Modern, name: &str) -> Vec<u8> {
    let call = CALL.replace("seven", "eight").replace("a.echo", name);
    client.stamp().on(call.replace("\"n\":1.0", "\"region\":\"eu\"").as_bytes())
}

/// A line end in what is looked for must not end the head early, nor hide another one.
#[test]
fn what_is_sent_together_is_taken_apart_as_if_it_came_alone() {
    let room = house();
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let client = scene.modern();
    let mut connection = client.connect();
    let call = |name: &str, id: &str| {
        let body = CALL.replace("a.echo", name).replace("seven", id);
        client.dress(body).bytes("127.0.0.1")
    };
    let calls =
        [("a.echo", "1"), ("a.echo", "2"), ("a.other", "3"), ("a.caf\u{e9}", "4"), ("a.echo", "5")];
    let bytes: Vec<u8> = calls.iter().flat_map(|(name, id)| call(name, id)).collect();
    connection.send(&bytes);
    for (name, id) in calls {
        let response = connection.response(kit::LIMIT);
        let expected = format!("\"{id}\"").into_bytes();
        assert_eq!(
            scan::get(&response.body, "id"),
            Some(&*expected),
            "{name}: {}",
            response.text()
        );
        assert!(scan::get(&response.body, "result").is_some(), "{name}: {}", response.text());
    }
    // In pieces, wherever they are cut.
    let bytes = call("a.other", "6");
    for at in (1..bytes.len()).step_by(37) {
        connection.send(&bytes[..at]);
        connection.send(&bytes[at..]);
        let response = connection.response(kit::LIMIT);
        assert_eq!(scan::get(&response.body, "id"), Some(&b"\"6\""[..]), "{}", response.text());
    }
}
