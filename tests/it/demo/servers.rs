//! The demo servers themselves, spoken to directly: MCP servers in both eras.

use kit::client::Client;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::room::Room;
use kit::{LIMIT, scan};

use super::{Demo, SERVERS, called, program};

const ABLE: &str = r#"{"elicitation":{"form":{}}}"#;

const ANSWER: &str = r#"{"action":"accept","content":{"name":"Ada","people":2,"time":"19:00"}}"#;

fn server(room: &Room, name: &str) -> Client {
    Client::spawn(program(room, &["demo-server", name]))
}

#[test]
fn each_of_them_is_a_server_of_either_era() {
    let room = Room::new();
    for name in SERVERS {
        let legacy = server(&room, name);
        let opened = legacy.initialize("2025-06-18");
        let version = scan::get(opened.result(), "protocolVersion").and_then(scan::text);
        assert_eq!(version.as_deref(), Some("2025-06-18"), "{name}");
        let tools = legacy.list();
        assert!(!tools.is_empty(), "{name}");
        for tool in &tools {
            for member in ["title", "description", "inputSchema", "annotations"] {
                assert!(scan::get(&tool.raw, member).is_some(), "{name}: {member}");
            }
        }
        legacy.ask("nonsense", "{}").error();
        legacy.call("nonsense", "{}").error();
        legacy.assert_only_protocol();
        legacy.close_stdin();
        assert_eq!(legacy.wait_exit(LIMIT).code(), Some(0), "{name}");

        let modern = Modern::stdio(server(&room, name), "{}");
        let found = modern.discover();
        assert_eq!(scan::get(found.result(), "supportedVersions"), Some(&br#"["2026-07-28"]"#[..]));
        assert_eq!(modern.list().len(), tools.len(), "{name}");
        modern.assert_only_protocol();
    }
}

#[test]
fn a_slow_call_tells_its_progress_and_can_be_cancelled() {
    let room = Room::new();
    let client = server(&room, "flaky");
    client.initialize("2025-11-25");
    let params = r#"{"name":"slow","arguments":{"seconds":0.5},"_meta":{"progressToken":"t"}}"#;
    let id = client.start("tools/call", params);
    client.notification("notifications/progress", LIMIT);
    client.answer(&id, LIMIT).result();
    let slow = client.begin("slow", r#"{"seconds":60}"#);
    client.cancel(&slow);
    // What was cancelled is not answered; what comes later is.
    called(&client, "sometimes", "{}");
    client.close_stdin();
    assert_eq!(client.wait_exit(LIMIT).code(), Some(0));
    assert!(client.try_wait_for(LIMIT, |line| line.is_answer_to(&slow)).is_none());
}

#[test]
fn a_crash_has_last_words_and_a_status() {
    let room = Room::new();
    let client = server(&room, "flaky");
    client.initialize("2025-11-25");
    client.begin("crash", "{}");
    assert_eq!(client.wait_exit(LIMIT).code(), Some(1));
    client.wait_stderr(&["told to crash"], LIMIT);
}

#[test]
fn it_asks_a_person_in_either_era_directly_and_through_the_endpoint() {
    let room = Room::new();
    let legacy = server(&room, "tables");
    legacy.initialize_with("2025-11-25", ABLE).result();
    asks_in_a_session(&legacy, "reserve");
    asks_in_a_result(&Modern::stdio(server(&room, "tables"), ABLE), "reserve");
    let demo = Demo::start(&room, &[]);
    let session = demo.serve.http_with(ABLE);
    session.list();
    asks_in_a_session(&session, "tables.reserve");
    asks_in_a_result(&demo.serve.modern(ABLE), "tables.reserve");
    let unable = demo.serve.http();
    assert_eq!(called(&unable, "tables.reserve", "{}")["isError"], true);
}

#[track_caller]
fn asks_in_a_session(client: &impl Speak, tool: &str) {
    let id = client.begin(tool, r#"{"name":"Ada"}"#);
    let question = client.question("elicitation/create", LIMIT);
    client.reply(&question, &format!(r#""result":{ANSWER}"#));
    let answer = client.answer(&id, LIMIT);
    let people = scan::path(answer.result(), &["structuredContent", "reserved", "people"]);
    assert_eq!(people, Some(&b"2"[..]), "{answer}");
}

#[track_caller]
fn asks_in_a_result(client: &Modern, tool: &str) {
    let call = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
    let round = client.ask("tools/call", &call).round();
    assert_eq!(round.only().method, "elicitation/create");
    let answer = client.ask("tools/call", &round.answered(&call, |_| ANSWER.to_owned()));
    let name = scan::path(answer.result(), &["structuredContent", "reserved", "name"]);
    assert_eq!(name, Some(&br#""Ada""#[..]), "{answer}");
}
