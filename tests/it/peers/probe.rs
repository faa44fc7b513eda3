//! What clients of the stateless era ask first, and how they are sent to `initialize`.

use kit::client::Client;
use kit::http::{Ask, Connection};
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each_front};
use kit::{ledger, say, scan};

const PROBE: &str = r#"{"jsonrpc":"2.0","id":"probe","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// One server, which would answer for us.
fn house() -> Room {
    let room = Room::new();
    let found = say::steps([say::result(r#"{"supportedVersions":["2026-07-28"]}"#)]);
    let a = room.fake("a").tool("echo", say::echo()).on("server/discover", found);
    room.config([("a", a.entry())]);
    room
}

#[test]
fn no_server_is_asked_for_the_era_of_its_clients() {
    each_front(|front| {
        let room = house();
        let scene = room.open_ready(front, &[]);
        let answer = scene.request(PROBE);
        assert_eq!(answer.code(), -32601, "{answer}");
        assert_eq!(answer.message(), "Method not found: server/discover");
        scene.assert_echo("a", "echo", "{}");
        assert!(ledger::with_method(&room.ledger("a"), "server/discover").is_empty());
    });
}

/// Python's SDK says `initialize` on the same pipe, and then what it can do.
#[test]
fn a_client_that_asks_for_the_era_first_has_not_said_what_it_can_do() {
    let room = house();
    let client = Client::spawn(room.trunkline(&[]));
    let answer = client.request(PROBE);
    assert_eq!(answer.code(), -32601, "{answer}");
    let capabilities = r#"{"sampling":{},"roots":{"listChanged":true}}"#;
    Speak::initialize_with(&client, "2025-11-25", capabilities).result();
    client.assert_echo("a", "echo", "{}");
    let asked = ledger::with_method(&room.ledger("a"), "initialize");
    let declared = asked.first().and_then(|line| scan::path(line, &["params", "capabilities"]));
    let declared = declared.map(String::from_utf8_lossy);
    assert_eq!(declared.as_deref(), Some(capabilities));
}

/// Anything but an error of that era sends a client back.
#[test]
fn over_http_it_is_a_request_without_a_session() {
    let room = house();
    let scene = room.open(Front::Http, &[]);
    let ask = Ask::post("/mcp", PROBE)
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "server/discover");
    let response = Connection::open(scene.serve().address()).ask(&ask);
    assert_eq!(response.status(), 400, "{}", response.text());
    let body = response.text();
    let code = scan::path(body.as_bytes(), &["error", "code"]).map(String::from_utf8_lossy);
    let code = code.unwrap_or_else(|| panic!("no JSON-RPC error: {body}"));
    assert!(!["-32020", "-32021", "-32022"].contains(&&*code), "{body}");
}
