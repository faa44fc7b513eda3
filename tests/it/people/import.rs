//! The servers clients have, through the shipped program: found, put together, and given back.

use std::path::{Path, PathBuf};

use kit::room::Room;
use kit::terminal::Terminal;
use serde_json::Value;

use super::{done, put, read, trunkline};

const SAMPLES: [(&str, &str, &str); 18] = [
    ("claude-desktop", "json", ".config/Claude/claude_desktop_config.json"),
    ("claude-code", "json", ".claude.json"),
    ("cursor", "json", ".cursor/mcp.json"),
    ("vscode", "json", ".config/Code/User/mcp.json"),
    ("windsurf", "json", ".codeium/windsurf/mcp_config.json"),
    ("zed", "json", ".config/zed/settings.json"),
    ("codex", "toml", ".codex/config.toml"),
    ("gemini", "json", ".gemini/settings.json"),
    ("goose", "yaml", ".config/goose/config.yaml"),
    ("cline", "json", ".cline/data/settings/cline_mcp_settings.json"),
    ("copilot", "json", ".copilot/mcp-config.json"),
    ("qwen", "json", ".qwen/settings.json"),
    ("opencode", "json", ".config/opencode/opencode.json"),
    ("amp", "json", ".config/amp/settings.json"),
    ("crush", "json", ".config/crush/crush.json"),
    ("continue", "json", ".continue/mcpServers/mcp.json"),
    ("kiro", "json", ".kiro/settings/mcp.json"),
    ("lmstudio", "json", ".lmstudio/mcp.json"),
];

fn sample(client: &str, extension: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/clients");
    folder.join(format!("{client}.{extension}"))
}

/// A home with a file of every client.
fn home() -> Room {
    let room = Room::new();
    for (client, extension, file) in SAMPLES {
        let text = std::fs::read_to_string(sample(client, extension)).expect("a sample");
        put(&room, file, &text);
    }
    room
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)))
}

#[test]
fn every_format_goes_to_trunkline_and_back() {
    for (client, extension, _) in SAMPLES {
        let room = Room::new();
        let file = sample(client, extension);
        let file = file.to_str().expect("a path of text");
        done(&room, &["import", "--file", file, "--format", client, "--output", "a.json"]).good();
        let back = format!("back.{extension}");
        let from = ["import", "--file", "a.json", "--format", "trunkline"];
        done(&room, &[&from[..], &["--to", client, "--output", &back]].concat()).good();
        done(&room, &["import", "--file", &back, "--format", client, "--output", "b.json"]).good();
        let (a, b) =
            (json(read(&room, "a.json").as_bytes()), json(read(&room, "b.json").as_bytes()));
        // A file on its own has no folder that is open; a default is VS Code's to keep.
        let plain =
            |value: &Value| value.to_string().replace("${INPUT_REGION:-eu}", "${INPUT_REGION}");
        assert_eq!(plain(&a), plain(&b), "{client}: {}", read(&room, &back));
    }
}

#[test]
fn the_files_of_all_clients_become_one_config() {
    let room = home();
    let told = json(done(&room, &["import", "--output", "all.json", "--json"]).good());
    let clients: Vec<&str> = told["files"]
        .as_array()
        .expect("files")
        .iter()
        .filter_map(|it| it["client"].as_str())
        .collect();
    for (client, ..) in SAMPLES {
        assert!(clients.contains(&client), "{client} is not in {told}");
    }
    let all = json(read(&room, "all.json").as_bytes());
    let servers = all["mcpServers"].as_object().expect("servers");
    assert_eq!(servers.len(), told["servers"].as_array().expect("servers").len());
    assert_eq!(servers["postgres"]["env"]["PGPASSWORD"], "pa$${TRUNKLINE_DOLLAR:-$}WORD-s3cret");
    assert!(servers.contains_key("docs") && servers.contains_key("docs-codex"), "{servers:?}");
    // Written for its owner only, and not over something else.
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(room.path("all.json")).expect("it is there").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    done(&room, &["import", "--output", "all.json"]).bad(1, &["--force writes over it"]);
    done(&room, &["import", "--output", "all.json", "--force"]).good();
}

#[test]
fn secrets_are_in_the_file_and_nowhere_else() {
    let room = home();
    let dry = done(&room, &["import", "--dry-run"]);
    dry.hides("s3cret");
    assert!(dry.text().contains("Claude Desktop") && dry.text().contains("Goose"), "{dry}");
    let table = done(&room, &["import", "--output", "all.json"]);
    table.hides("s3cret");
    assert!(read(&room, "all.json").contains("s3cret"));
    // To a pipe it goes as it is, and the table beside it.
    let piped = done(&room, &["import"]);
    assert_eq!(piped.code, Some(0), "{piped}");
    assert_eq!(json(&piped.stdout), json(read(&room, "all.json").as_bytes()));
    assert!(piped.stderr.contains("SERVERS") && !piped.stderr.contains("s3cret"), "{piped}");
    // On a terminal nothing is shown that may be one.
    let mut terminal = Terminal::spawn(&trunkline(&room, &["import", "--project", room.marker()]));
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    assert!(terminal.shown().contains("mcpServers") && !terminal.shown().contains("s3cret"));
}

#[test]
fn what_is_imported_starts() {
    let room = Room::new();
    let entry = room.fake("s").tool("t", kit::say::text("x")).entry();
    put(&room, ".cursor/mcp.json", &serde_json::json!({"mcpServers": {"s": entry}}).to_string());
    done(&room, &["import", "--from", "cursor", "--output", "all.json"]).good();
    let tools = done(&room, &["tools", "--config", "all.json"]);
    assert!(tools.text().starts_with("s:t"), "{tools}");
}

#[test]
fn a_broken_file_does_not_hide_the_others() {
    let room = home();
    put(&room, ".cursor/mcp.json", "{ \"mcpServers\": { s3cret");
    put(&room, ".config/goose/config.yaml", "extensions: [s3cret");
    let done = done(&room, &["import", "--output", "all.json"]);
    done.hides("s3cret");
    let text = done.text();
    assert!(text.contains("problem: Cursor: cannot be read: line 1"), "{text}");
    assert!(text.contains("problem: Goose: cannot be read: line "), "{text}");
    assert!(text.contains("left out: Zed `mcp-server-github`: is an extension of Zed"), "{text}");
}
