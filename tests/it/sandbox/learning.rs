//! `trunkline sandbox learn`: what is learned is enough to work in, and less than what `standard` gives.

use kit::room::Room;
use kit::run::{Done, run};
use serde_json::{Value, json};

use super::hosts::host;
use super::{hostile, trunkline};
use crate::peers::installed;

/// A Node or Python that starts is waited for, however busy the machine is.
const PATIENT: [&str; 2] = ["--start-timeout", "300"];

/// Learns the walls of a server with these calls; the profile, and what was said about it.
fn learned(room: &Room, server: &str, calls: &[&str]) -> (Value, String) {
    let mut command = trunkline(room, &["sandbox", "learn", server]);
    command.arg("--").args(calls);
    let done = run(command, b"");
    (printed(&done), done.stderr.clone())
}

/// The JSON on standard output; there may be notes on standard error.
fn printed(done: &Done) -> Value {
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

/// Calls a tool of a server that has these walls.
fn called(room: &Room, entry: &Value, sandbox: &Value, tool: &str, arguments: &Value) -> Value {
    let mut entry = entry.clone();
    entry["sandbox"] = sandbox.clone();
    room.config([("s", entry)]);
    let arguments = arguments.to_string();
    let name = format!("s:{tool}");
    let call = [&["call", &name, "--json", "--args", &arguments], &PATIENT[..]].concat();
    let done = run(trunkline(room, &call), b"");
    // What its walls refuse is told on standard error.
    let result = printed(&done);
    assert_ne!(result["isError"], true, "{tool} under {sandbox}: {result}\n{}", done.stderr);
    result
}

#[test]
fn real_servers_work_under_what_was_learned() {
    let room = Room::new();
    for folder in ["files", "elsewhere"] {
        std::fs::create_dir_all(room.path(folder)).unwrap();
    }
    room.write("files/a.txt", "hello");
    room.write("elsewhere/b.txt", "secret");
    let script = |package: &str| {
        installed(&format!("node_modules/@modelcontextprotocol/{package}/dist/index.js"))
    };
    let file = room.path("files/b.txt");
    let mut memory = json!({ "command": "node", "args": [script("server-memory")] });
    memory["env"] = json!({ "MEMORY_FILE_PATH": room.path("files/memory.jsonl") });
    let entity = json!({ "entities": [{ "name": "n", "entityType": "t", "observations": ["o"] }] });
    let cases = [
        (
            json!({ "command": "node", "args": [script("server-everything")] }),
            "echo",
            json!({ "message": "m" }),
        ),
        (
            json!({ "command": "node", "args": [script("server-filesystem"), room.path("files")] }),
            "write_file",
            json!({ "path": file, "content": "c" }),
        ),
        (memory, "create_entities", entity),
        (
            json!({ "command": installed("venv/bin/mcp-server-time"), "args": ["--local-timezone", "Etc/UTC"] }),
            "get_current_time",
            json!({ "timezone": "Etc/UTC" }),
        ),
    ];
    for (entry, tool, arguments) in cases {
        room.config([("s", entry.clone())]);
        let (profile, said) = learned(&room, "s", &[tool, &arguments.to_string()]);
        assert_eq!(profile["net"], false, "{tool}: {profile}\n{said}");
        called(&room, &entry, &profile, tool, &arguments);
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "c");
}

#[test]
fn what_a_server_uses_is_in_the_profile_and_nothing_else() {
    let room = Room::new();
    for folder in ["used", "unused"] {
        std::fs::create_dir_all(room.path(folder)).unwrap();
        room.write(&format!("{folder}/letter"), "x");
    }
    std::fs::create_dir_all(room.path("used/documents")).unwrap();
    room.write("used/documents/letter", "x");
    let entry = hostile(&room, &[]);
    room.config([("s", entry.clone())]);
    let place = host().to_string();
    let read = json!({ "what": "read-documents", "home": room.path("used") });
    let write = json!({ "what": "write-documents", "home": room.path("used") });
    let reach = json!({ "what": "through-proxy", "place": place });
    let calls = ["try", &read.to_string(), "try", &write.to_string(), "try", &reach.to_string()];
    let (profile, said) = learned(&room, "s", &calls);
    let used = room.path("used/documents");
    assert_eq!(profile["write"], json!([used]), "{profile}\n{said}");
    assert_eq!(profile["net"], json!({ "hosts": [place] }), "{profile}\n{said}");
    assert!(!profile.to_string().contains("unused"), "{profile}");
    assert!(said.contains("which variables it reads cannot be seen"), "{said}");
    for (arguments, expected) in [
        (&read, "done"),
        (&write, "done"),
        (&reach, "done"),
        (&json!({ "what": "read-documents", "home": room.path("unused") }), "ENOENT"),
        (&json!({ "what": "write-system" }), "EACCES"),
        (&json!({ "what": "direct", "place": place }), "EACCES"),
    ] {
        let result = called(&room, &entry, &profile, "try", arguments);
        assert_eq!(result["content"][0]["text"], expected, "{arguments} under {profile}");
    }
}

#[test]
fn our_own_files_are_not_learned() {
    let room = Room::new();
    room.config([("s", hostile(&room, &[]))]);
    let read = json!({ "what": "read-config", "config": room.path("mcp.json") });
    let (profile, said) = learned(&room, "s", &["try", &read.to_string()]);
    assert!(!profile.to_string().contains("mcp.json"), "{profile}");
    assert!(said.contains("which is Trunkline's own: never given"), "{said}");
}

#[test]
fn a_person_may_go_on_using_it_while_it_is_watched() {
    let room = Room::new();
    std::fs::create_dir_all(room.path("used/documents")).unwrap();
    room.config([("s", hostile(&room, &[]))]);
    let write = json!({ "what": "write-documents", "home": room.path("used") });
    let line = format!("try {write}\n");
    let done = run(trunkline(&room, &["sandbox", "learn", "s", "--for", "60s"]), line.as_bytes());
    let profile = printed(&done);
    assert_eq!(profile["write"], json!([room.path("used/documents")]), "{profile}");
}

#[test]
fn what_cannot_be_watched_is_said() {
    let room = Room::new();
    room.config([("far", json!({ "url": "http://127.0.0.1:9/mcp" }))]);
    run(trunkline(&room, &["sandbox", "learn", "far"]), b"").bad(1, &["`far` is no command"]);
    run(trunkline(&room, &["sandbox", "learn", "near"]), b"").bad(1, &["no server `near`"]);
}
