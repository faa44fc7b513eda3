//! Clients that ask for the era first and speak the other: on one pipe, or at one endpoint.

use kit::client::Client;
use kit::http::{Ask, Connection};
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each_front};
use kit::{ledger, say, scan};

const PROBE: &str = r#"{"jsonrpc":"2.0","id":"probe","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// One server of the older era.
fn house() -> Room {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    room
}

#[test]
fn no_server_is_asked_for_the_era_of_its_clients() {
    each_front(|front| {
        let room = house();
        let scene = room.open_ready(front, &[]);
        let asked = || ledger::with_method(&room.ledger("a"), "server/discover").len();
        assert_eq!(asked(), 1, "we have asked once for ourselves");
        let answer = scene.request(PROBE);
        // Over HTTP the head of a session's request names the session's revision.
        match front {
            Front::Http => assert_eq!(answer.code(), -32020, "{answer}"),
            Front::Stdio => drop(answer.result()),
            _ => assert!(answer.try_result().is_some() || answer.code() == -32601, "{answer}"),
        }
        scene.assert_echo("a", "echo", "{}");
        assert_eq!(asked(), 1);
    });
}

/// A client may ask for the era, and then say `initialize` on the same pipe and what it can do.
#[test]
fn a_client_that_asks_for_the_era_first_has_not_said_what_it_can_do() {
    let room = house();
    let client = Client::spawn(room.trunkline(&[]));
    let answer = client.request(PROBE);
    let versions = scan::get(answer.result(), "supportedVersions").map(String::from_utf8_lossy);
    assert!(versions.is_some_and(|all| all.contains("\"2026-07-28\"")), "{answer}");
    let capabilities = r#"{"sampling":{},"roots":{"listChanged":true}}"#;
    Speak::initialize_with(&client, "2025-11-25", capabilities).result();
    client.assert_echo("a", "echo", "{}");
}

/// What servers hear is what the client says it can do when it says `initialize`.
#[test]
fn servers_hear_what_a_client_can_do_that_asks_for_the_era_first() {
    let capabilities = r#"{"sampling":{},"roots":{"listChanged":true}}"#;
    let meta = |version: &str, capabilities: &str| {
        format!(r#"{{"io.modelcontextprotocol/protocolVersion":"{version}"{capabilities}}}"#)
    };
    let declared = |raw: &str| format!(r#","io.modelcontextprotocol/clientCapabilities":{raw}"#);
    for (what, meta) in [
        ("it says the same", meta("2026-07-28", &declared(capabilities))),
        ("it asks for a revision to come", meta("2027-07-28", &declared("{}"))),
        ("it asks for an older revision", meta("2025-11-25", &declared("{}"))),
        ("it asks improperly", meta("2026-07-28", "")),
    ] {
        let room = house();
        let client = Client::spawn(room.trunkline(&[]));
        client.request(format!(
            r#"{{"jsonrpc":"2.0","id":"probe","method":"server/discover","params":{{"_meta":{meta}}}}}"#
        ));
        Speak::initialize_with(&client, "2025-11-25", capabilities).result();
        client.assert_echo("a", "echo", "{}");
        let asked = ledger::with_method(&room.ledger("a"), "initialize");
        assert_eq!(asked.len(), 1, "{what}");
        let heard = scan::path(&asked[0], &["params", "capabilities"]).map(String::from_utf8_lossy);
        assert_eq!(heard.as_deref(), Some(capabilities), "{what}");
    }
}

#[test]
fn over_http_it_is_a_request_without_a_session() {
    let room = house();
    let scene = room.open(Front::Http, &[]);
    let ask = Ask::post("/mcp", PROBE)
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "server/discover");
    let response = Connection::open(scene.serve().address()).ask(&ask);
    assert_eq!(response.status(), 200, "{}", response.text());
    assert_eq!(response.head.header("mcp-session-id"), None);
    let versions = scan::path(&response.body, &["result", "supportedVersions"]);
    assert!(versions.is_some(), "{}", response.text());
    scene.assert_echo("a", "echo", "{}");
}
