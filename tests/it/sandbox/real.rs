//! The reference servers work unchanged under `standard`, through the shipped program.

use kit::room::Room;
use serde_json::{Value, json};

use crate::peers::installed;

fn node(package: &str, args: Value) -> Value {
    let mut all = vec![json!(installed(&format!(
        "node_modules/@modelcontextprotocol/{package}/dist/index.js"
    )))];
    all.extend(args.as_array().cloned().unwrap_or_default());
    json!({ "command": "node", "args": all })
}

#[test]
fn the_reference_servers_work_under_standard() {
    let room = Room::new();
    for folder in ["home", "files", "repository"] {
        std::fs::create_dir_all(room.path(folder)).unwrap();
    }
    room.write("files/a.txt", "hello");
    let git = std::process::Command::new("git")
        .args(["init", "-q"])
        .arg(room.path("repository"))
        .status();
    assert!(git.unwrap().success());
    let place = |name: &str| json!(room.path(name));
    let python = |name: &str, args: Value| json!({ "command": installed(&format!("venv/bin/{name}")), "args": args });
    let mut memory = node("server-memory", json!([]));
    memory["env"] = json!({ "MEMORY_FILE_PATH": place("files/memory.jsonl") });
    let servers = [
        ("everything", node("server-everything", json!([]))),
        ("filesystem", node("server-filesystem", json!([place("files")]))),
        ("memory", memory),
        ("thinking", node("server-sequential-thinking", json!([]))),
        ("time", python("mcp-server-time", json!(["--local-timezone", "Etc/UTC"]))),
        ("git", python("mcp-server-git", json!(["--repository", place("repository")]))),
    ];
    let servers: serde_json::Map<String, Value> =
        servers.into_iter().map(|(key, entry)| (key.to_owned(), entry)).collect();
    room.write("mcp.json", json!({ "sandbox": "standard", "mcpServers": servers }).to_string());
    let mut command = room.trunkline(&["--start-timeout", "60"]);
    command.env("HOME", room.path("home"));
    let client = kit::client::Client::spawn(command);
    client.initialize("2025-11-25");
    let calls = [
        ("everything:echo", json!({ "message": "m" })),
        ("filesystem:read_text_file", json!({ "path": place("files/a.txt") })),
        ("filesystem:write_file", json!({ "path": place("files/b.txt"), "content": "b" })),
        (
            "memory:create_entities",
            json!({ "entities": [{ "name": "n", "entityType": "t", "observations": ["o"] }] }),
        ),
        (
            "thinking:sequentialthinking",
            json!({ "thought": "t", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 }),
        ),
        ("time:get_current_time", json!({ "timezone": "Etc/UTC" })),
        ("git:git_status", json!({ "repo_path": place("repository") })),
    ];
    client.list();
    for (tool, arguments) in calls {
        let answer = client.call(tool, &arguments.to_string());
        let result: Value = serde_json::from_slice(answer.result()).unwrap();
        assert_ne!(result["isError"], true, "{tool}: {result}\n{}", client.stderr());
    }
    assert_eq!(std::fs::read_to_string(room.path("files/b.txt")).unwrap(), "b");
}
