//! What was done to a client's file is undone to the byte, and what could not be done is not told as done, through the shipped
//! program.

use kit::room::Room;
use kit::say;
use serde_json::{Value, json};

use super::{done, put, read};

/// Client, its file, a file as somebody has it.
const FILES: [(&str, &str, &str); 18] = [
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}",
    ),
    (
        "claude-code",
        ".claude.json",
        "{\n  \"numStartups\": 1,\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n",
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        "// mine\n{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"}, // keep\n\t},\n}\n",
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        "{\r\n  \"servers\": {\r\n    \"a\": {\"command\": \"x\"}\r\n  }\r\n}\r\n",
    ),
    (
        "codex",
        ".codex/config.toml",
        "# mine\nmodel = \"m\" # good\n\n[mcp_servers.a]\ncommand = \"x\"\n\n[tui]\nx = 1\n",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\"ui\": {}, \"mcpServers\": {\"a\": {\"command\": \"x\"}}}\n",
    ),
    (
        "zed",
        ".config/zed/settings.json",
        "{\n  \"context_servers\": {\n    \"a\": {\"command\": \"x\"}\n  } /* end */\n}",
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\", \"disabled\": true}\n  }\n}\n",
    ),
    (
        "cline",
        ".cline/data/settings/cline_mcp_settings.json",
        "{\n  \"mcpServers\": {\n    \"a\": {\"type\": \"stdio\", \"command\": \"x\"}\n  }\n}\n",
    ),
    (
        "goose",
        ".config/goose/config.yaml",
        "# mine\nGOOSE_MODEL: m\nextensions:\n  # work\n  a:\n    enabled: true\n    type: stdio\n    name: a\n    cmd: x\n    args: []\n",
    ),
    (
        "copilot",
        ".copilot/mcp-config.json",
        "{\n  // mine\n  \"theme\": 1,\n  \"mcpServers\": {\n    \"a\": {\"type\": \"local\", \"command\": \"x\", \"tools\": [\"*\"]} // keep\n  }\n}\n",
    ),
    (
        "qwen",
        ".qwen/settings.json",
        "{\n  // mine\n  \"theme\": 1,\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"} // keep\n  }\n}\n",
    ),
    (
        "opencode",
        ".config/opencode/opencode.json",
        "{\n  // mine\n  \"theme\": 1,\n  \"mcp\": {\n    \"a\": {\"type\": \"local\", \"command\": [\"x\"], \"enabled\": true} // keep\n  }\n}\n",
    ),
    (
        "amp",
        ".config/amp/settings.json",
        "{\n  // mine\n  \"theme\": 1,\n  \"amp.mcpServers\": {\n    \"a\": {\"command\": \"x\"} // keep\n  }\n}\n",
    ),
    (
        "crush",
        ".config/crush/crush.json",
        "{\n  // mine\n  \"theme\": 1,\n  \"mcp\": {\n    \"a\": {\"type\": \"stdio\", \"command\": \"x\"} // keep\n  }\n}\n",
    ),
    (
        "continue",
        ".continue/mcpServers/mcp.json",
        "{\n  // mine\n  \"theme\": 1,\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"} // keep\n  }\n}\n",
    ),
    (
        "kiro",
        ".kiro/settings/mcp.json",
        "{\n  // mine\n  \"theme\": 1,\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"} // keep\n  }\n}\n",
    ),
    (
        "lmstudio",
        ".lmstudio/mcp.json",
        "{\n  // mine\n  \"theme\": 1,\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"} // keep\n  }\n}\n",
    ),
];

#[test]
fn install_then_uninstall_leaves_every_clients_file_as_it_was() {
    for (client, file, before) in FILES {
        let room = Room::new();
        room.config([]);
        let is_json = !["codex", "goose"].contains(&client);
        for text in [before, "", "{}"].iter().filter(|text| is_json || **text != "{}") {
            put(&room, file, text);
            done(&room, &["install", client, "--config", "mcp.json"]).good();
            assert!(read(&room, file).contains("trunkline"), "{client}");
            let told = done(&room, &["uninstall", client, "--json"]);
            let told: Value = serde_json::from_slice(told.good()).expect("JSON");
            assert_eq!(told["outcome"], "undone", "{client}: {told}");
            assert_eq!(read(&room, file), *text, "{client}");
        }
        std::fs::remove_file(room.path(file)).expect("the file is there");
        let room = Room::new();
        room.config([]);
        done(&room, &["install", client, "--config", "mcp.json"]).good();
        done(&room, &["uninstall", client]).good();
        assert!(!room.path(file).exists(), "{client}: the file was not there before");
        done(&room, &["uninstall", client]).good();
    }
}

/// The server went behind a config, and the client to a `serve` after that: what was first comes back.
#[test]
fn an_entry_over_an_earlier_one_is_uninstalled_with_all_that_it_moved() {
    let address = ["--url", "http://127.0.0.1:3006"];
    for (client, file, before) in FILES {
        // One that takes commands only has another config instead.
        let other = match client {
            "claude-desktop" => &["--config", "other.json"][..],
            _ => &address,
        };
        let room = Room::new();
        put(&room, file, before);
        done(&room, &["import", "--from", client, "--output", "mcp.json"]).good();
        put(&room, "other.json", "{\"mcpServers\": {}}");
        for ways in
            [&[&["--config", "mcp.json"][..], other][..], &[other, &["--config", "mcp.json"]]]
        {
            for way in ways {
                done(&room, &[&["install", client][..], way].concat()).good();
            }
            assert!(!read(&room, file).contains("\"a\""), "{client}: {}", read(&room, file));
            let told = done(&room, &["uninstall", client, "--json"]);
            let told: Value = serde_json::from_slice(told.good()).expect("JSON");
            assert_eq!(told["outcome"], "undone", "{client}: {told}");
            assert_eq!(told["returned"], serde_json::json!(["a"]), "{client}: {told}");
            assert_eq!(read(&room, file), before, "{client}");
        }
        // A config that is gone, or has the server no more as it was, loses nothing.
        for config in [None, Some("{\"mcpServers\": {\"a\": {\"command\": \"edited\"}}}")] {
            done(&room, &["import", "--from", client, "--output", "mcp.json", "--force"]).good();
            done(&room, &["install", client, "--config", "mcp.json"]).good();
            match config {
                Some(text) => put(&room, "mcp.json", text),
                None => std::fs::remove_file(room.path("mcp.json")).expect("it is there"),
            }
            done(&room, &["uninstall", client]).good();
            assert_eq!(read(&room, file), before, "{client}: {config:?}");
        }
    }
}

#[test]
fn consolidate_then_restore_leaves_every_clients_file_as_it_was() {
    for (client, file, before) in FILES {
        let room = Room::new();
        put(&room, file, before);
        let dry = done(&room, &["consolidate", client, "--config", "all.json", "--dry-run"]);
        assert!(dry.text().contains("-    \"a\": { … }"), "{dry}");
        assert_eq!(read(&room, file), before, "{client}: a dry run writes nothing");
        done(&room, &["consolidate", client, "--config", "all.json"]).good();
        let all: Value = serde_json::from_str(&read(&room, "all.json")).expect("JSON");
        assert_eq!(all["mcpServers"]["a"]["command"], "x", "{client}");
        assert!(read(&room, file).contains("all.json"), "{client}");
        done(&room, &["restore", client]).good();
        assert_eq!(read(&room, file), before, "{client}");
    }
}

#[test]
fn backups_are_listed_and_chosen() {
    let room = Room::new();
    room.config([]);
    put(&room, ".cursor/mcp.json", "{}");
    done(&room, &["restore", "cursor"]).bad(1, &["there is no backup beside"]);
    done(&room, &["restore", "cursor", "--list"]).bad(0, &["there is no backup beside"]);
    let none = done(&room, &["restore", "cursor", "--list", "--json"]);
    let none: Value = serde_json::from_slice(none.good()).expect("JSON");
    assert_eq!(none["backups"], serde_json::json!([]));
    done(&room, &["install", "cursor", "--config", "mcp.json"]).good();
    let list = done(&room, &["restore", "cursor", "--list", "--json"]);
    let list: Value = serde_json::from_slice(list.good()).expect("JSON");
    let only = list["backups"][0]["path"].as_str().expect("a path").to_owned();
    done(&room, &["restore", "cursor", "--backup", &only]).good();
    assert_eq!(read(&room, ".cursor/mcp.json"), "{}");
    done(&room, &["restore", "cursor", "--backup", "nowhere"]).bad(2, &["--list"]);
}

#[test]
fn a_client_that_is_not_known_is_asked_back() {
    let room = Room::new();
    done(&room, &["install", "cursr"]).bad(2, &["unknown client", "did you mean `cursor`?"]);
    let unknown = done(&room, &["install", "emacs"]);
    unknown.bad(2, &["unknown client", "windsurf"]);
    assert!(!unknown.stderr.contains("openai"), "it has no file: {unknown}");
    room.config([]);
    done(&room, &["install", "openai", "--config", "mcp.json"]).bad(2, &["set of name rules"]);
    done(&room, &["instal", "cursor"]).bad(2, &["'install'"]);
}

/// Words for people are no output: a script that reads names gets none.
#[test]
fn nothing_to_list_is_said_beside_the_output() {
    let room = Room::new();
    let platform = room.platform(&[]);
    done(&room, &["secret", "list", "--data-dir", "data"]).bad(0, &["no secrets yet"]);
    let none = done(&room, &["secret", "list", "--data-dir", "data", "--json"]);
    let none: Value = serde_json::from_slice(none.good()).expect("JSON");
    assert_eq!(none["secrets"], serde_json::json!([]));
    drop(platform);
    room.config([]);
    for words in ["", "  "] {
        done(&room, &["search", words, "--config", "mcp.json"])
            .bad(2, &["say what the tool should do"]);
    }
    done(&room, &["search", "x", "--config", "mcp.json"]).bad(0, &["nothing found"]);
    let none = done(&room, &["search", "x", "--config", "mcp.json", "--json"]);
    let none: Value = serde_json::from_slice(&none.stdout).expect("JSON");
    assert_eq!(none["tools"], serde_json::json!([]));
}

#[test]
fn a_client_that_could_not_be_set_up_is_not_told_what_comes_next() {
    let room = Room::new();
    let fake = |name: &str| room.fake(name).tool("t", say::echo()).entry();
    put(&room, ".claude.json", &json!({"mcpServers": {"git": fake("git")}}).to_string());
    // A name as long as names can be: nothing can be written beside it.
    let long = format!(".cursor/{}", "x".repeat(255));
    put(&room, &long, &json!({"mcpServers": {"notes": fake("notes")}}).to_string());
    std::os::unix::fs::symlink(room.path(&long), room.path(".cursor/mcp.json")).expect("a link");
    let told = done(&room, &["setup", "--yes", "--no-check"]);
    assert_eq!(told.code, Some(1), "{told}");
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let lines = |label: &str, title: &str| {
        text.lines().filter(|line| line.starts_with(label) && line.contains(title)).count()
    };
    assert_eq!((lines("failed", "Cursor"), lines("next:", "Cursor")), (1, 0), "{text}");
    assert_eq!((lines("failed", "Claude"), lines("next:", "Claude")), (0, 1), "{text}");
}
