//! `trunkline doctor`: each thing that may go wrong is found, with what to do about it.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use kit::room::Room;
use kit::say;
use serde_json::{Value, json};

use super::{done, put};

/// What was found, and the exit code.
#[track_caller]
fn examine(room: &Room, args: &[&str]) -> (Value, Option<i32>) {
    // Another test may listen at the usual place.
    let line = [&["doctor", "--json", "--listen", "127.0.0.1:0"], args].concat();
    let told = done(room, &line);
    let value =
        serde_json::from_slice(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told}"));
    (value, told.code)
}

/// The finding of this check about this, which has to be there.
#[track_caller]
fn finding(told: &Value, check: &str, about: &str) -> Value {
    let all = told["findings"].as_array().expect("findings");
    let found = all.iter().find(|it| {
        it["check"] == check && it["about"].as_str().is_some_and(|it| it.contains(about))
    });
    found.unwrap_or_else(|| panic!("no {check} about {about} in {told:#}")).clone()
}

#[test]
fn what_works_is_well() {
    let room = Room::new();
    let entry = room.fake("s").tool("t", say::echo()).entry();
    room.config([("s", entry)]);
    let (told, code) = examine(&room, &["--config", "mcp.json"]);
    assert_eq!((code, &told["ok"]), (Some(0), &json!(true)), "{told:#}");
    let errors = told["findings"].as_array().expect("findings").iter();
    assert_eq!(errors.filter(|it| it["grade"] == "error").count(), 0, "{told:#}");
    let words =
        done(&room, &["doctor", "--config", "mcp.json", "--no-start", "--listen", "127.0.0.1:0"]);
    assert!(words.text().contains("all is well"), "{words}");
}

#[test]
fn commands_variables_and_starts_are_looked_at() {
    let room = Room::new();
    let dies = json!({"command": "/bin/sh", "args": ["-c", "echo the reason >&2; exit 3"]});
    room.config([
        ("gone", json!({"command": "no-such-program-here"})),
        ("dies", dies),
        ("lost", json!({"command": "sh", "cwd": "/no/such/folder"})),
    ]);
    let (told, code) = examine(&room, &["--config", "mcp.json"]);
    assert_eq!(code, Some(1), "{told:#}");
    let gone = finding(&told, "command", "gone");
    assert!(gone["fix"].as_str().is_some_and(|fix| fix.contains("absolute path")), "{gone}");
    assert!(finding(&told, "start", "dies")["problem"].to_string().contains("the reason"));
    assert!(finding(&told, "command", "lost")["problem"].to_string().contains("/no/such/folder"));
    room.config([("s", json!({"command": "sh", "env": {"A": "${NOT_SET_ANYWHERE}"}}))]);
    let (told, code) = examine(&room, &["--config", "mcp.json"]);
    assert_eq!(code, Some(1), "{told:#}");
    let unset = finding(&told, "config", "mcp.json:1:");
    assert!(unset["problem"].to_string().contains("NOT_SET_ANYWHERE"), "{unset}");
    assert!(unset["fix"].to_string().contains("set it before the start"), "{unset}");
}

#[test]
fn names_and_results_that_clients_stumble_over_are_told() {
    let room = Room::new();
    let odd = r#"{"name":"odd","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
    let long = "create_pull_request_review_comment_reply_in_thread_of_issue";
    let definition =
        |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    let differs = say::steps([say::result(
        r#"{"content":[{"type":"text","text":"TEXT-ONLY"}],"structuredContent":{"v":42}}"#,
    )]);
    let definitions =
        [odd.to_owned(), definition(long), definition("get-it"), definition("get_it")];
    let raw: Vec<&str> = definitions.iter().map(String::as_str).collect();
    let entry = room.fake("s").definitions(&raw).tool("odd", differs).entry();
    room.config([("s", entry)]);
    let (told, _) = examine(&room, &["--config", "mcp.json", "--for", "codex", "--call"]);
    assert!(finding(&told, "names", "Codex")["problem"].to_string().contains("apart"), "{told:#}");
    assert!(
        finding(&told, "results", "s:odd")["problem"].to_string().contains("differ"),
        "{told:#}"
    );
    let (told, _) = examine(&room, &["--config", "mcp.json", "--for", "claude-desktop"]);
    finding(&told, "names", "Claude Desktop");
}

/// More than Cursor carries are no trouble: it is served a short list.
#[test]
fn advice_about_many_tools_goes_by_what_is_listed_and_is_given_once() {
    let room = Room::new();
    room.config([("s", room.fake("s").generated(81, 50).tool("*", say::mirror()).entry())]);
    let (told, code) = examine(&room, &["--config", "mcp.json", "--for", "cursor"]);
    assert_eq!(code, Some(0), "{told:#}");
    let found = finding(&told, "names", "Cursor");
    let problem = found["problem"].as_str().expect("text");
    assert!(problem.starts_with("81 tools: above 80 Cursor"), "{found:#}");
    assert!(problem.contains("a short list (4 tools, about "), "{found:#}");
    assert_eq!(found["grade"], "note", "{found:#}");
    let advice = format!("{problem} {}", found["fix"]);
    assert!(!advice.contains("hiddenTools"), "{found:#}");
    assert_eq!(advice.matches("pinnedTools").count(), 1, "{found:#}");
}

#[test]
fn trust_1_an_open_endpoint_is_told() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    for (flags, is_open) in [(&[][..], true), (&["--token", "correct-horse-battery"], false)] {
        let serve = room.serve(flags);
        let address = serve.address().to_string();
        let told = done(&room, &["doctor", "--json", "--listen", &address]);
        let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
        assert!(finding(&told, "port", &address)["problem"].to_string().contains("a Trunkline"));
        let found = told["findings"].as_array().expect("findings");
        let found = found.iter().find(|finding| finding["check"] == "open");
        assert_eq!(found.is_some(), is_open, "{told:#}");
        if let Some(found) = found {
            assert_eq!((&found["grade"], &found["about"]), (&json!("warning"), &json!(address)));
            assert!(found["fix"].to_string().contains("TRUNKLINE_TOKEN"), "{found:#}");
        }
    }
}

#[test]
fn entries_ports_and_data_directories_are_looked_at() {
    let room = Room::new();
    let entry = json!({"command": "/no/trunkline", "args": ["--config", "/no/mcp.json", "--for", "cursor"]});
    put(&room, ".cursor/mcp.json", &json!({"mcpServers": {"trunkline": entry}}).to_string());
    let data = room.path("data");
    std::fs::create_dir_all(&data).expect("the room can be written");
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let (told, code) = examine(&room, &["--data-dir", "data"]);
    assert_eq!(code, Some(1), "{told:#}");
    assert!(finding(&told, "client", "Cursor")["problem"].to_string().contains("/no/"));
    assert!(finding(&told, "data", "data")["fix"].to_string().contains("chmod 700"));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    // Nobody answers there: it is somebody else.
    let told = done(&room, &["doctor", "--json", "--listen", &address]);
    drop(taken);
    let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    assert!(finding(&told, "port", &address)["problem"].to_string().contains("another program"));
}
