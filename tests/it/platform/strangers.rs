//! Who comes with a wrong token is counted and recorded, and cannot fill the log.

use kit::mcp::Speak;
use kit::platform::{KEYS, Platform, SERVERS, id_of};
use kit::room::Room;
use kit::service::Wire;
use kit::streamable::Streamable;
use serde_json::{Value, json};

use super::echoing;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;

fn knock(platform: &Platform, token: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", &bearer[..])];
    let client = Streamable::with_headers(platform.serve().address(), "/mcp", &headers);
    client.post(INITIALIZE).status
}

fn of(platform: &Platform, action: &str) -> Vec<Value> {
    let mut all = platform.audit();
    all.retain(|record| record["action"] == action);
    all
}

#[test]
fn nfr_sec4_wrong_tokens_are_counted_and_recorded_once_a_minute() {
    let room = Room::new();
    let platform = room.platform(&[]);
    for number in 0..20 {
        assert_eq!(knock(&platform, &format!("guess-number-{number}")), 401);
        let rest = platform.rest(Some(&format!("tk_guess_{number}")));
        assert_eq!(rest.get(SERVERS).status(), 401);
    }
    let record = platform.wait_audit("a wrong token", |record| record["action"] == "show-token");
    assert_eq!(record["outcome"], "refused", "{record:#}");
    assert_eq!((&record["principal"], &record["address"]), (&json!("nobody"), &json!("127.0.0.1")));
    assert!(!record.to_string().contains("guess"), "{record:#}");
    // It may have taken more than a minute.
    assert!(of(&platform, "show-token").len() <= 3);
    let text = platform.admin().get("/metrics").response.text();
    let counted = text.lines().find_map(|it| it.strip_prefix("trunkline_tokens_refused_total "));
    assert_eq!(counted, Some("40"), "{text}");
}

#[test]
fn nfr_sec4_a_role_that_may_not_speak_mcp_is_recorded() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let viewer = platform.key("viewer");
    for _ in 0..5 {
        assert_eq!(knock(&platform, &viewer), 403);
    }
    let record = platform.wait_audit("a viewer", |record| record["action"] == "use-mcp");
    assert_eq!((&record["principal"], &record["outcome"]), (&json!("a viewer"), &json!("refused")));
    assert!(of(&platform, "use-mcp").len() <= 2);
}

#[test]
fn nfr_sec4_a_call_of_what_is_not_granted_is_recorded_over_mcp() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let service = echoing(&room, "a").tool("other", kit::say::echo()).listen(Wire::Http);
    platform.connected("a", &service);
    let made = platform.make_key(&json!({ "name": "ci", "role": "caller", "tools": ["a.echo"] }));
    let client = platform.mcp(made["key"].as_str().expect("a key"));
    client.ask("tools/call", r#"{"name":"a.other","arguments":{}}"#).error();
    let record = platform.wait_audit("the call", |record| record["tool"] == "a.other");
    assert_eq!((&record["action"], &record["outcome"]), (&json!("call-tool"), &json!("refused")));
    assert_eq!(record["principal"], "ci", "{record:#}");
    assert_eq!(record["credential_id"], format!("key:{}", id_of(&made)), "{record:#}");
    assert_eq!(platform.admin().get(KEYS).status(), 200);
}
