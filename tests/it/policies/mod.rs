//! Policies in Cedar, through the shipped program: who sees and uses what, with which arguments, and why not.

mod commands;
mod decisions;
mod files;
mod fronts;
mod platform;
mod prepared;
mod stored;
mod subscriptions;

use kit::line::Line;
use kit::room::Room;
use kit::{say, scan};
use serde_json::{Value, json};

/// The code of a request that policies refuse.
const FORBIDDEN: i64 = -31013;
const ALL: &str = "@id(\"all\") permit(principal, action, resource);\n";

/// A server with a tool that looks and one that acts, a resource and a prompt.
fn entry(room: &Room, name: &str) -> Value {
    let fake = room.fake(name).tool("look", say::echo()).tool("act", say::echo());
    let fake = fake.definitions(&[
        r#"{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
        r#"{"name":"act","inputSchema":{"type":"object"}}"#,
    ]);
    let fake = fake.resource(&format!("{name}://open"), "Open");
    let fake = fake.resource(&format!("{name}://shut"), "Shut");
    fake.prompt(&format!("greet-{name}"), "Greets")
        .prompt(&format!("scold-{name}"), "Scolds")
        .entry()
}

/// Writes the config with these policies beside it.
fn config(room: &Room, policies: &str) {
    std::fs::create_dir_all(room.path("rules")).expect("a directory");
    room.write("rules/one.cedar", policies);
    let servers = json!({ "a": entry(room, "a"), "b": entry(room, "b") });
    let config = json!({ "mcpServers": servers, "policies": "rules" });
    room.write("mcp.json", config.to_string());
}

/// Asserts that these policies refuse the request, and no others are named.
#[track_caller]
fn assert_forbidden(answer: &Line, policies: &[&str], words: &str) {
    assert_eq!(answer.code(), FORBIDDEN, "{answer}");
    let message = answer.message();
    assert!(message.contains(words) && message.ends_with("the request did not run"), "{message}");
    let data = scan::get(answer.error(), "data").unwrap_or_else(|| panic!("no data: {answer}"));
    let named: Vec<String> =
        serde_json::from_slice(scan::get(data, "policies").unwrap_or_default()).unwrap_or_default();
    assert_eq!(named, policies, "{answer}");
}
