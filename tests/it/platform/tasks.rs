//! A task is its maker's: others who may use the same server neither see nor touch it.

use kit::config::Fake;
use kit::mcp::Speak;
use kit::platform::{ADMIN, Platform};
use kit::room::Room;
use kit::service::Wire;
use kit::{ledger, say};
use serde_json::{Value, json};

use super::echoing;

const CAPABILITIES: &str = r#"{"tools":{},"tasks":{"list":{},"cancel":{}}}"#;
const LIST: &str = r#"{"tasks":[{"taskId":"t-alice","status":"working","ttl":1.50},{"taskId":"t-bob","status":"working"},{"taskId":"t-other","status":"working"}]}"#;

/// Two servers, so that nothing but the task says which is meant; the second has tasks.
fn platform(room: &Room) -> Platform {
    let platform = room.platform(&[]);
    keep(room, &platform, "a", echoing(room, "a"));
    let told = json!([say::result(r#"{"taskId":"t","status":"working"}"#)]);
    let mut server = room.fake("b").capabilities(CAPABILITIES);
    for who in ["alice", "bob"] {
        let made = format!(r#"{{"task":{{"taskId":"t-{who}","status":"working"}}}}"#);
        server = server.tool(who, say::steps([say::result(&made)]));
    }
    let server = server
        .on("tasks/list", json!([say::result(LIST)]))
        .on("tasks/get", told.clone())
        .on("tasks/result", told.clone())
        .on("tasks/cancel", told);
    keep(room, &platform, "b", server);
    platform
}

fn keep(room: &Room, platform: &Platform, name: &str, server: Fake<'_>) {
    let service = server.listen(Wire::Http);
    platform.connected(name, &service);
    room.keep(service);
}

fn made(platform: &Platform, name: &str) -> String {
    let made = platform.make_key(&json!({ "name": name, "role": "caller" }));
    made["key"].as_str().expect("a key").to_owned()
}

const ALL: [&str; 3] = ["tasks/get", "tasks/result", "tasks/cancel"];

#[test]
fn a_task_is_its_makers_and_to_others_it_does_not_exist() {
    let room = Room::new();
    let platform = platform(&room);
    let alice = platform.mcp(&made(&platform, "alice"));
    let bob = platform.mcp(&made(&platform, "bob"));
    for (client, tool) in [(&alice, "alice"), (&bob, "bob")] {
        let call = format!(r#"{{"name":"b.{tool}","arguments":{{}},"task":{{"ttl":60000}}}}"#);
        client.ask("tools/call", &call).result();
    }
    for method in ALL {
        // Its maker need not say where it is.
        alice.ask(method, r#"{"taskId":"t-alice"}"#).result();
        alice.ask(method, r#"{"taskId":"t-alice","_meta":{"trunkline/server":"b"}}"#).result();
    }
    let before = ledger::received(&room.ledger("b")).len();
    for method in ALL {
        for params in [
            r#"{"taskId":"t-alice"}"#,
            r#"{"taskId":"t-alice","_meta":{"trunkline/server":"b"}}"#,
            r#"{"taskId":"t-nobody","_meta":{"trunkline/server":"b"}}"#,
            r#"{"taskId":"t-bob","taskId":"t-alice","_meta":{"trunkline/server":"b"}}"#,
            r#"{"taskId":"t-bob","taskid":"t-alice","_meta":{"trunkline/server":"b"}}"#,
            r#"{"taskId":"t-alice","_meta":{"trunkline/server":"a"}}"#,
        ] {
            bob.ask(method, params).error();
        }
    }
    let told = |params| String::from_utf8_lossy(bob.ask("tasks/get", params).error()).into_owned();
    let foreign = told(r#"{"taskId":"t-alice","_meta":{"trunkline/server":"b"}}"#);
    let absent = told(r#"{"taskId":"t-nobody","_meta":{"trunkline/server":"b"}}"#);
    assert_eq!(foreign, absent, "nothing says that it exists");
    assert_eq!(ledger::received(&room.ledger("b")).len(), before, "its server is not asked");
    // Who is who is decided by the key, not by the session.
    let again = platform.mcp(ADMIN);
    again.ask("tasks/get", r#"{"taskId":"t-alice","_meta":{"trunkline/server":"b"}}"#).error();
}

#[test]
fn a_list_of_tasks_shows_ones_own() {
    let room = Room::new();
    let platform = platform(&room);
    let alice = platform.mcp(&made(&platform, "alice"));
    let bob = platform.mcp(&made(&platform, "bob"));
    let at = r#"{"_meta":{"trunkline/server":"b"}}"#;
    let listed = |line: kit::line::Line| String::from_utf8_lossy(line.result()).into_owned();
    assert_eq!(listed(bob.ask("tasks/list", at)), r#"{"tasks":[]}"#);
    for (client, tool) in [(&alice, "alice"), (&bob, "bob")] {
        let call = format!(r#"{{"name":"b.{tool}","arguments":{{}},"task":{{"ttl":60000}}}}"#);
        client.ask("tools/call", &call).result();
    }
    let own = r#"{"tasks":[{"taskId":"t-alice","status":"working","ttl":1.50}]}"#;
    assert_eq!(listed(alice.ask("tasks/list", at)), own);
    let own = r#"{"tasks":[{"taskId":"t-bob","status":"working"}]}"#;
    assert_eq!(listed(bob.ask("tasks/list", at)), own);
}

#[test]
fn nfr_sec4_what_is_read_and_asked_over_mcp_is_recorded() {
    let room = Room::new();
    let platform = platform(&room);
    let service = room
        .fake("c")
        .resource("file:///notes", "notes")
        .read("file:///notes", json!([say::result(r#"{"contents":[]}"#)]))
        .prompt("greet", "says hello")
        .get("greet", json!([say::result(r#"{"messages":[]}"#)]));
    keep(&room, &platform, "c", service);
    let alice = platform.mcp(&made(&platform, "alice"));
    alice.ask("resources/read", r#"{"uri":"file:///notes"}"#).result();
    alice.ask("prompts/get", r#"{"name":"greet","arguments":{"x":"not-to-be-read"}}"#).result();
    alice.ask("prompts/get", r#"{"name":"no-such-prompt"}"#).error();
    let call = r#"{"name":"b.alice","arguments":{},"task":{"ttl":60000}}"#;
    alice.ask("tools/call", call).result();
    alice.ask("tasks/cancel", r#"{"taskId":"t-alice"}"#).result();
    alice.ask("tasks/get", r#"{"taskId":"t-bob","_meta":{"trunkline/server":"b"}}"#).error();
    alice.ask("tools/call", r#"{"name":"b.no-such-tool","arguments":{}}"#).error();
    for (action, about, server, outcome) in [
        ("read-resource", "file:///notes", json!("c"), "ok"),
        ("get-prompt", "greet", json!("c"), "ok"),
        ("get-prompt", "no-such-prompt", Value::Null, "refused"),
        ("cancel-task", "t-alice", json!("b"), "ok"),
        ("get-task", "t-bob", Value::Null, "refused"),
        ("call-tool", "b.no-such-tool", Value::Null, "refused"),
    ] {
        let record = platform.wait_audit(&format!("{action} {about}"), |record| {
            record["action"] == action && record["tool"] == about
        });
        assert_eq!(record["principal"], "alice", "{record:#}");
        assert_eq!((&record["server_name"], &record["outcome"]), (&server, &json!(outcome)));
        assert_eq!(record["duration_us"].is_u64(), !server.is_null(), "{record:#}");
        assert_eq!(record["address"], "127.0.0.1", "{record:#}");
    }
    assert!(!json!(platform.audit()).to_string().contains("not-to-be-read"));
}
