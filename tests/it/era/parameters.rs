//! `Mcp-Param-…` of annotated tools, checked before a call goes on.

use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::Front;
use kit::{ledger, say, scan};

const TOOL: &str = r#"{"name":"sql","inputSchema":{"type":"object","properties":{"value":{"type":"string","x-mcp-header":"Value"},"n":{"type":"integer","x-mcp-header":"Num"}}}}"#;

type Headers = &'static [(&'static str, &'static str)];

#[test]
fn headers_of_parameters_have_to_say_what_the_arguments_say() {
    let room = Room::new();
    let a = room.fake("a").definitions(&[TOOL]).tool("sql", say::echo());
    room.config([("a", a.over(kit::config::Upstream::ModernHttp))]);
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let client = scene.modern();
    const VALUE: &str = "Mcp-Param-Value";
    const NUM: &str = "Mcp-Param-Num";
    let rows: [(&str, Headers, bool); 22] = [
        (r#"{"value":"Hello"}"#, &[(VALUE, "Hello")], true),
        (r#"{"value":"Hello"}"#, &[(VALUE, "=?base64?SGVsbG8=?=")], true),
        (r#"{"value":"SGVsbG8="}"#, &[(VALUE, "SGVsbG8=")], true),
        (r#"{"value":"=?base64?SGVsbG8="}"#, &[(VALUE, "=?base64?SGVsbG8=")], true),
        (r#"{"value":"Hello"}"#, &[(VALUE, "=?base64?SGVsbG8?=")], false),
        (r#"{"value":"Hello"}"#, &[(VALUE, "=?base64?SGVs!!!bG8=?=")], false),
        (r#"{"value":"Hello"}"#, &[(VALUE, "hello")], false),
        (r#"{"value":"Hello"}"#, &[], false),
        (r#"{"value":null}"#, &[], true),
        ("{}", &[], true),
        ("{}", &[(VALUE, "Hello")], false),
        (r#"{"n":42}"#, &[(NUM, "42")], true),
        (r#"{"n":42.0}"#, &[(NUM, "42")], true),
        (r#"{"n":42}"#, &[(NUM, "43")], false),
        (r#"{"n":42}"#, &[(NUM, "forty-two")], false),
        (r#"{"value":"Hello"}"#, &[(VALUE, "Hello"), ("Mcp-Param-Other", "x")], true),
        // What no header can carry is not the same as any, however it is written.
        (r#"{"value":{"a":1}}"#, &[(VALUE, "{\"a\":1}")], false),
        (r#"{"value":["a"]}"#, &[(VALUE, "[\"a\"]")], false),
        (r#"{"value":{}}"#, &[(VALUE, "=?base64?e30=?=")], false),
        (r#"{"value":[]}"#, &[(VALUE, "[]")], false),
        (r#"{"n":[42]}"#, &[(NUM, "[42]")], false),
        (r#"{"n":[42]}"#, &[(NUM, "42")], false),
    ];
    let mut wrong = Vec::new();
    for (arguments, headers, fine) in rows {
        let body = kit::mcp::call("\"seven\"", "a.sql", arguments);
        let ask = headers.iter().fold(client.dress(body), |ask, (n, v)| ask.header(n, v));
        let before = ledger::calls(&room.ledger("a")).len();
        let response = client.post(&ask);
        let code = scan::path(&response.body, &["error", "code"]).map(String::from_utf8_lossy);
        let reached = ledger::calls(&room.ledger("a")).len() > before;
        let expected = if fine { (200, None, true) } else { (400, Some("-32020"), false) };
        if (response.status(), code.as_deref(), reached) != expected {
            wrong.push(format!(
                "{arguments} with {headers:?}: {} {}",
                response.status(),
                response.text()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let listed = client.list();
    let named = scan::replace(TOOL.as_bytes(), "name", b"\"a.sql\"");
    assert_eq!(Some(&listed[0].raw), named.as_ref(), "the annotations are listed");
}
