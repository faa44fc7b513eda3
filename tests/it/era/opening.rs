//! Which era a client is served in: `_meta` of a request decides for that request, and only
//! `initialize` opens a session.

use std::time::Duration;

use kit::client::Client;
use kit::http::{Ask, Connection};
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::modern::stamp::{CAPABILITIES, SUBSCRIPTION, Stamp, VERSION};
use kit::room::Room;
use kit::{LIMIT, ledger, say, scan};

const LIST_CHANGED: &str = "notifications/tools/list_changed";
const LIST: &str = r#"{"jsonrpc":"2.0","id":"asked","method":"tools/list"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":"asked","method":"tools/call","params":{"name":"a:echo","arguments":{}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":"asked","method":"ping"}"#;
const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":"asked","method":"server/discover"}"#;
const BROKEN_INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":"before","method":"initialize","params":{"capabilities":{}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn house() -> Room {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    room
}

fn stamped(message: &str) -> String {
    String::from_utf8(Stamp::new("{}").on(message.as_bytes())).expect("text")
}

/// `tools/list` with this raw `_meta`.
fn list_with(meta: &str) -> String {
    LIST.replace(r#""tools/list""#, &format!(r#""tools/list","params":{{"_meta":{meta}}}"#))
}

fn initialize() -> String {
    kit::mcp::initialize("\"before\"", "2025-11-25")
}

/// What a request leads to.
enum Outcome {
    Result,
    /// An error with this code, whose bytes contain these parts.
    Error(i64, &'static [&'static str]),
}

use Outcome::{Error, Result};

/// A request that lacks what the stateless era needs, in a process that was not opened with `initialize`.
const MALFORMED: Outcome = Error(-32602, &[VERSION, "initialize"]);

#[test]
fn only_initialize_opens_a_session() {
    let discover = stamped(&DISCOVER.replace("asked", "before"));
    let list_first = stamped(&LIST.replace("asked", "before"));
    let bare_first = LIST.replace("asked", "before");
    let (discover, list_first, bare_first) = (&*discover, &*list_first, &*bare_first);
    let initialize = &*initialize();
    let version = format!(r#""{VERSION}":"2026-07-28""#);
    let able = format!(r#""{CAPABILITIES}":{{}}"#);
    let unknown = list_with(&format!(r#"{{"{VERSION}":"2099-01-01",{able}}}"#));
    let other = list_with(&format!(r#"{{"{VERSION}":"2025-11-25",{able}}}"#));
    let supported: &[&str] = &["\"supported\":[\"2026-07-28\"", "\"requested\":\"2099-01-01\""];
    let rows: Vec<(&str, Vec<&str>, String, Outcome)> = vec![
        ("a request before anything", vec![], LIST.into(), MALFORMED),
        ("a call before anything", vec![], CALL.into(), MALFORMED),
        ("ping before anything", vec![], PING.into(), Result),
        ("a bare discover", vec![], DISCOVER.into(), MALFORMED),
        ("a stamped request before anything", vec![], stamped(LIST), Result),
        ("no `_meta` after discover", vec![discover], LIST.into(), MALFORMED),
        ("a call without `_meta` after discover", vec![discover], CALL.into(), MALFORMED),
        ("ping after discover", vec![discover], PING.into(), Result),
        ("no `_meta` after a stamped request", vec![list_first], LIST.into(), MALFORMED),
        ("an empty `_meta`", vec![discover], list_with("{}"), MALFORMED),
        (
            "a `_meta` of the older era",
            vec![discover],
            list_with(r#"{"progressToken":1}"#),
            MALFORMED,
        ),
        ("no version", vec![discover], list_with(&format!("{{{able}}}")), MALFORMED),
        (
            "a version that is no text",
            vec![discover],
            list_with(&format!(r#"{{"{VERSION}":7,{able}}}"#)),
            Error(-32602, &[VERSION]),
        ),
        ("`_meta` that is no object", vec![discover], list_with("[]"), MALFORMED),
        ("`_meta` that is null", vec![discover], list_with("null"), MALFORMED),
        (
            "no capabilities",
            vec![discover],
            list_with(&format!("{{{version}}}")),
            Error(-32602, &[CAPABILITIES]),
        ),
        ("an unknown version", vec![discover], unknown.clone(), Error(-32022, supported)),
        ("an unknown version first", vec![], unknown, Error(-32022, supported)),
        ("a version that opens with initialize", vec![], other, Error(-32022, &supported[..1])),
        ("initialized without initialize", vec![discover, INITIALIZED], LIST.into(), MALFORMED),
        ("an initialize that was refused", vec![BROKEN_INITIALIZE], LIST.into(), MALFORMED),
        ("an initialize with `_meta`", vec![], stamped(&initialize.replace("before", "asked")), {
            Error(-32601, &[])
        }),
        (
            "initialize after discover",
            vec![discover],
            initialize.replace("before", "asked"),
            Result,
        ),
        ("a session after discover", vec![discover, initialize], LIST.into(), Result),
        ("a session after a refusal", vec![bare_first, initialize], LIST.into(), Result),
        ("a session", vec![initialize], LIST.into(), Result),
        ("a session before initialized", vec![initialize, INITIALIZED], CALL.into(), Result),
        ("stamped in a session", vec![initialize], stamped(LIST), Result),
        ("bare again in a session", vec![initialize, list_first], LIST.into(), Result),
        ("stamped after a refusal", vec![discover, bare_first], stamped(CALL), Result),
        ("discover in a session", vec![initialize], DISCOVER.into(), Error(-32601, &[])),
    ];
    let mut wrong = Vec::new();
    for (name, before, request, expected) in rows {
        let room = house();
        let client = Client::spawn(room.trunkline(&["--start-timeout", "25"]));
        for message in before {
            client.send_line(message);
            if scan::get(message.as_bytes(), "id").is_some() {
                client.answer(b"\"before\"", LIMIT);
            }
        }
        let answer = client.request(request);
        let fits = match &expected {
            Result => answer.try_result().is_some(),
            Error(code, parts) => {
                let text = String::from_utf8_lossy(&answer.0);
                answer.try_error().is_some()
                    && answer.code() == *code
                    && parts.iter().all(|part| text.contains(part))
            }
        };
        if !fits {
            wrong.push(format!("{name}: {answer}"));
        }
        client.assert_only_protocol();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn over_http_a_request_without_meta_session_and_version_is_malformed() {
    let room = house();
    let serve = room.serve(&[]);
    let list = |ask: Ask| {
        let response = Connection::open(serve.address()).ask(&ask);
        let code = scan::path(&response.body, &["error", "code"]).map(String::from_utf8_lossy);
        (response.status(), code.unwrap_or_default().into_owned(), response.text())
    };
    for body in [LIST, CALL, PING, DISCOVER, &list_with("{}"), &list_with("[]")] {
        let (status, code, text) = list(Ask::post("/mcp", body));
        assert_eq!((status, &*code), (400, "-32602"), "{body}: {text}");
        assert!(text.contains(VERSION) && text.contains("initialize"), "{body}: {text}");
    }
    // A head of the older era says which one is meant: what is missing is the session.
    let old = Ask::post("/mcp", LIST).header("MCP-Protocol-Version", "2025-11-25");
    let (status, code, text) = list(old);
    assert_eq!((status, &*code), (400, "-32600"), "{text}");
    assert!(text.contains("Mcp-Session-Id"), "{text}");
}

#[test]
fn over_http_sse_a_request_before_initialize_is_malformed() {
    let room = house();
    let serve = room.serve(&[]);
    let client = kit::legacy_sse::LegacySse::open(serve.address(), "/sse");
    let answer = client.request(LIST);
    assert_eq!(answer.code(), -32602, "{answer}");
    assert_eq!(client.request(PING).result(), b"{}");
    client.initialize("2025-11-25").result();
    client.request(LIST).result();
}

/// A client that has only spoken the stateless era hears of changes where it listens for them, and
/// nowhere else, whatever it has got wrong before.
#[test]
fn nothing_untagged_is_said_to_a_client_of_the_stateless_era() {
    let room = Room::new();
    let change = say::steps([
        say::change_tools(&[&say::definition("change"), &say::definition("more")]),
        say::changed("tools"),
        say::text("done"),
    ]);
    let a = room.fake("a").logging().definitions(&[&say::definition("change")]);
    room.config([("a", a.tool("change", change).entry())]);
    let client = Modern::stdio(Client::spawn(room.trunkline(&["--start-timeout", "25"])), "{}");
    client.discover().result();
    let process = client.process().expect("stdio");
    assert_eq!(process.request(LIST).code(), -32602);
    assert_eq!(process.request(CALL.replace("a:echo", "a:change")).code(), -32602);
    process.send_line(INITIALIZED);
    process.send_line(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#);
    let listen = client.listen(r#"{"toolsListChanged":true}"#);
    client.call("a:change", "{}").result();
    client.event(&listen.id, LIST_CHANGED, LIMIT);
    client.wait_list("the new tool is listed", LIMIT, |names| names.len() == 2);
    // As long as it takes until a session would have been told.
    let untagged = client.try_wait_for(Duration::from_millis(1200), |line| {
        line.method().is_some() && scan::path(&line.0, &["params", "_meta", SUBSCRIPTION]).is_none()
    });
    assert_eq!(untagged, None);
    let heard = ledger::with_method(&room.ledger("a"), "notifications/roots/list_changed");
    assert!(heard.is_empty(), "it is no message of this era");
}
