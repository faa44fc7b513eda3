//! Samples of every client's format: what is read from them, and that it goes back as it came.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use trunkline_catalog::client::{Client, FileFormat, System};
use trunkline_catalog::config::{ConfigSource, Rules, load};

use super::discover::Projects;
use super::parse::parse;
use super::{
    FileOwner, ImportRequest, Imported, ImportedServer, Section, Sources, config_text, export,
    import, read_file,
};
use crate::install::{UserFolders, user_files};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/testdata/clients")
}

fn sample(owner: FileOwner) -> String {
    let extension = match owner.format() {
        FileFormat::Json(_) => "json",
        FileFormat::Toml => "toml",
        FileFormat::Yaml => "yaml",
    };
    std::fs::read_to_string(folder().join(format!("{owner}.{extension}"))).unwrap()
}

fn read(owner: FileOwner, text: &str) -> Imported {
    read_file(owner, Path::new("f"), text, &Section::main(owner, Some("/home/me/site".into())))
}

fn servers(owner: FileOwner, text: &str) -> Map<String, Value> {
    match parse(text, owner.format()).unwrap().get(owner.key()) {
        Some(Value::Object(servers)) => servers.clone(),
        other => panic!("{owner}: {other:?}"),
    }
}

/// What cannot be taken along: it stays with its client.
const LEFT_OUT: [(FileOwner, &str); 3] = [
    (FileOwner::Client(Client::VsCode), "socket"),
    (FileOwner::Client(Client::Zed), "mcp-server-github"),
    (FileOwner::Client(Client::Goose), "developer"),
];

#[test]
fn every_format_comes_back_as_it_went() {
    for owner in FileOwner::clients() {
        let before = sample(owner);
        let imported = read(owner, &before);
        let back = export(owner, &imported.servers);
        let mut wanted = servers(owner, &before);
        for (_, name) in LEFT_OUT.iter().filter(|(whose, _)| *whose == owner) {
            assert!(wanted.shift_remove(*name).is_some());
        }
        let mut got = servers(owner, &back.text);
        for entries in [&mut wanted, &mut got] {
            entries.values_mut().for_each(|entry| plain(owner, entry));
        }
        assert_eq!(Value::from(got), Value::from(wanted), "{owner}\n{}", back.text);
        let again = read(owner, &back.text);
        let names = |servers: &[ImportedServer]| {
            servers.iter().map(|it| it.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&again.servers), names(&imported.servers), "{owner}");
    }
}

/// What says the same in other words.
fn plain(owner: FileOwner, entry: &mut Value) {
    let text = entry.to_string();
    let text = match owner {
        // The name of an input is a name of a variable meanwhile.
        FileOwner::Client(Client::VsCode) => {
            text.replace("input:perplexity-key", "input:perplexity_key")
        }
        // The file is of a project, whose folder is known.
        FileOwner::Client(Client::Cursor) => text.replace("${workspaceFolder}", "/home/me/site"),
        _ => text,
    };
    *entry = serde_json::from_str(&text).unwrap();
    if let (FileOwner::Client(Client::Goose), Some(entry)) = (owner, entry.as_object_mut()) {
        // An empty list is all of them, as none is.
        entry.retain(|key, value| !(key == "available_tools" && *value == json!([])));
    }
}

#[test]
fn what_is_read_is_a_config_that_trunkline_takes() {
    for owner in FileOwner::clients() {
        let imported = read(owner, &sample(owner));
        let text = config_text("", "mcpServers", &imported.servers).unwrap();
        let source = ConfigSource { name: "new", text: text.as_bytes() };
        let config = load(&source, Rules::Full, &|name| match name {
            "TRUNKLINE_DOLLAR" => None,
            name => Some(format!("value-of-{name}")),
        });
        let config = config.unwrap_or_else(|problems| panic!("{owner}: {problems}\n{text}"));
        assert_eq!(config.servers.len(), imported.servers.len(), "{owner}");
    }
}

#[test]
fn each_dialect_is_understood() {
    let of = |owner: FileOwner, name: &str| {
        let imported = read(owner, &sample(owner));
        let server = imported.servers.iter().find(|server| server.name == name);
        Value::Object(server.unwrap_or_else(|| panic!("{owner} {name}")).entry.clone())
    };
    let postgres = of(FileOwner::Client(Client::ClaudeDesktop), "postgres");
    assert_eq!(postgres["env"]["PGPASSWORD"], "pa$${TRUNKLINE_DOLLAR:-$}WORD-s3cret");
    let github = of(FileOwner::Client(Client::ClaudeCode), "github");
    assert_eq!((&github["type"], &github["callTimeout"]), (&json!("http"), &json!(45)));
    assert_eq!(of(FileOwner::Client(Client::ClaudeCode), "events")["type"], "sse");
    assert_eq!(of(FileOwner::Client(Client::Cursor), "docs")["args"][1], "${HOME}/docs");
    let perplexity = of(FileOwner::Client(Client::VsCode), "perplexity");
    assert_eq!(perplexity["env"]["PERPLEXITY_API_KEY"], "${INPUT_PERPLEXITY_KEY}");
    assert_eq!(perplexity["env"]["REGION"], "${INPUT_REGION:-eu}");
    assert_eq!(of(FileOwner::Client(Client::VsCode), "issues").get("type"), None);
    assert_eq!(
        of(FileOwner::Client(Client::Windsurf), "memory")["hiddenTools"],
        json!(["delete_entities"])
    );
    assert_eq!(of(FileOwner::Client(Client::Zed), "remote-mcp-server")["disabled"], true);
    assert_eq!(of(FileOwner::Client(Client::Zed), "local-mcp-server")["callTimeout"], 30);
    let docs = of(FileOwner::Client(Client::Codex), "docs");
    assert_eq!(docs["env"], json!({"LOG": "info", "DOCS_KEY": "${DOCS_KEY:-}"}));
    assert_eq!(docs["exposedTools"], json!(["search", "read"]));
    let figma = of(FileOwner::Client(Client::Codex), "figma");
    let headers = json!({"X-Figma-Region": "us-east-1", "X-Team": "${FIGMA_TEAM}",
        "Authorization": "Bearer ${FIGMA_OAUTH_TOKEN}"});
    assert_eq!((&figma["headers"], &figma["disabled"]), (&headers, &json!(true)));
    let python = of(FileOwner::Client(Client::Gemini), "pythonTools");
    assert_eq!(
        (&python["callTimeout"], &python["env"]["API_KEY"]),
        (&json!(15), &json!("${EXTERNAL_API_KEY:-}"))
    );
    let sse = of(FileOwner::Client(Client::Gemini), "sseServer");
    assert_eq!((sse.get("type"), &sse["url"]), (None, &json!("https://sse.example.com/sse")));
    let fetch = of(FileOwner::Client(Client::Goose), "fetch");
    assert_eq!(fetch["args"][1], "--user-agent=goose # not a comment");
    assert_eq!(fetch["env"], json!({"LOG_LEVEL": "debug", "FETCH_TOKEN": "${FETCH_TOKEN}"}));
    assert_eq!(of(FileOwner::Client(Client::Cline), "weather")["callTimeout"], 120);
}

/// Cline's own program nests the transport, older files of Zed the command; units are mixed up.
#[test]
fn older_and_odd_forms_are_understood() {
    let one = |owner: FileOwner, entry: Value| {
        let text = json!({ owner.key(): { "s": entry } }).to_string();
        read(owner, &text)
    };
    let nested = json!({"transport": {"type": "streamableHttp", "url": "https://h/mcp"}});
    assert_eq!(one(FileOwner::Client(Client::Cline), nested).servers[0].entry["type"], "http");
    let zed = json!({"source": "custom", "command": {"path": "x", "args": ["a"], "env": {}}});
    assert_eq!(one(FileOwner::Client(Client::Zed), zed).servers[0].entry["command"], "x");
    let slow = one(FileOwner::Client(Client::Cline), json!({"command": "x", "timeout": 60000}));
    assert_eq!(slow.servers[0].entry["callTimeout"], 3600);
    assert!(slow.problems[0].message.contains("milliseconds"), "{:?}", slow.problems);
    let env = one(
        FileOwner::Client(Client::VsCode),
        json!({"command": "x", "env": {"A": 5, "B": null, "C": true}}),
    );
    assert_eq!(env.servers[0].entry["env"], json!({"A": "5", "C": "true"}));
    for (owner, entry, words) in [
        (
            FileOwner::Client(Client::ClaudeCode),
            json!({"type": "ws", "url": "wss://h"}),
            "WebSocket",
        ),
        (
            FileOwner::Client(Client::Cursor),
            json!({"command": "/usr/bin/trunkline", "args": []}),
            "Trunkline itself",
        ),
        (
            FileOwner::Client(Client::Cursor),
            json!({"args": []}),
            "neither a command nor an address",
        ),
        (FileOwner::Client(Client::Cursor), json!("x"), "not an object"),
        (FileOwner::Client(Client::Cursor), json!({"command": 5}), "no text"),
    ] {
        let imported = one(owner, entry);
        assert!(imported.servers.is_empty());
        let trouble = &imported.problems[0];
        assert!(trouble.left_out && trouble.message.contains(words), "{trouble:?}");
    }
}

#[test]
fn what_a_client_cannot_say_is_told() {
    let server = |entry: Value| ImportedServer {
        name: "s".to_owned(),
        entry: entry.as_object().unwrap().clone(),
    };
    let remote = server(json!({"url": "https://h/mcp"}));
    assert!(
        export(FileOwner::Client(Client::ClaudeDesktop), std::slice::from_ref(&remote)).problems[0]
            .left_out
    );
    assert!(
        export(FileOwner::Client(Client::Gemini), std::slice::from_ref(&remote))
            .text
            .contains("httpUrl")
    );
    assert!(export(FileOwner::Client(Client::Cline), &[remote]).text.contains("streamableHttp"));
    let busy = server(json!({"command": "x", "cwd": "/", "hiddenTools": ["t"], "callTimeout": 5,
        "disabled": true, "env": {"A": "x${A}"}}));
    assert_eq!(export(FileOwner::Client(Client::ClaudeDesktop), &[busy]).problems.len(), 5);
}

/// Wherever this test runs: on each system from where the client has its file there.
#[test]
fn every_clients_servers_are_found_on_every_system() {
    let base = std::env::temp_dir().join(format!("trunkline-import-all-{}", std::process::id()));
    for system in System::ALL {
        let home = base.join(format!("{system:?}"));
        let folders = UserFolders::in_home(system, &home);
        for owner in FileOwner::clients() {
            let file = user_files(owner.spec().unwrap(), &folders).swap_remove(0);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            // As an editor on Windows leaves it.
            let text = format!("\u{FEFF}{}", sample(owner).replace('\n', "\r\n"));
            std::fs::write(file, text).unwrap();
        }
        let request = ImportRequest {
            sources: Sources::Clients(FileOwner::clients()),
            project: "site".into(),
            projects: Projects::This,
            taken: Vec::new(),
            folders,
        };
        let report = import(&request).unwrap();
        for owner in FileOwner::clients() {
            let of_owner = report.parts.iter().filter(|part| part.owner == owner);
            let names: Vec<&str> = of_owner
                .flat_map(|part| part.servers.iter().map(|server| server.name.as_str()))
                .collect();
            let expected = read(owner, &sample(owner)).servers;
            let expected: Vec<&str> = expected.iter().map(|server| server.name.as_str()).collect();
            assert!(!expected.is_empty(), "{owner}");
            assert_eq!(names, expected, "{owner} {system:?}");
        }
    }
    std::fs::remove_dir_all(&base).unwrap();
}

/// What a config of Windows puts around programs that are scripts is not needed anywhere else.
#[test]
fn servers_behind_the_shell_of_windows_are_taken_without_it() {
    let text = r#"{"mcpServers": {
        "git": {"command": "cmd", "args": ["/c", "npx", "-y", "git-mcp", "C:\\Users\\me\\$repo"]},
        "docs": {"command": "C:\\Windows\\System32\\cmd.exe", "args": ["/d", "/s", "/c", "uvx docs-mcp"]},
        "odd": {"command": "cmd", "args": ["/c", "npx", "-y", "odd", "%USERPROFILE%"]},
        "ours": {"command": "cmd", "args": ["/c", "npx", "-y", "trunkline"]}}}"#;
    let imported = read(FileOwner::Client(Client::ClaudeDesktop), text);
    let lines: Vec<Value> = imported
        .servers
        .iter()
        .map(|it| json!([it.name, it.entry["command"], it.entry["args"]]))
        .collect();
    assert_eq!(
        Value::from(lines),
        json!([
            ["git", "npx", ["-y", "git-mcp", r"C:\Users\me\$repo"]],
            ["docs", "uvx", ["docs-mcp"]],
            ["odd", "cmd", ["/c", "npx", "-y", "odd", "%USERPROFILE%"]],
        ])
    );
    assert!(imported.problems[0].left_out, "{:?}", imported.problems);
}

#[test]
fn the_files_of_all_clients_are_found() {
    let home = std::env::temp_dir().join(format!("trunkline-import-{}", std::process::id()));
    let put = |path: &str, text: &str| {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(
        ".config/Claude/claude_desktop_config.json",
        &sample(FileOwner::Client(Client::ClaudeDesktop)),
    );
    put(
        ".claude.json",
        &sample(FileOwner::Client(Client::ClaudeCode))
            .replace("/home/me", &home.display().to_string()),
    );
    put(".cursor/mcp.json", &sample(FileOwner::Client(Client::Cursor)));
    put(".config/Code/User/mcp.json", &sample(FileOwner::Client(Client::VsCode)));
    put(".config/Code/User/profiles/p1/mcp.json", "{\"servers\": {}}");
    put(".codeium/windsurf/mcp_config.json", &sample(FileOwner::Client(Client::Windsurf)));
    put(".config/zed/settings.json", &sample(FileOwner::Client(Client::Zed)));
    put(".codex/config.toml", &sample(FileOwner::Client(Client::Codex)));
    put(".gemini/settings.json", &sample(FileOwner::Client(Client::Gemini)));
    put(".config/goose/config.yaml", &sample(FileOwner::Client(Client::Goose)));
    put(".cline/data/settings/cline_mcp_settings.json", &sample(FileOwner::Client(Client::Cline)));
    put("site/.mcp.json", "{\"mcpServers\": {\"p\": {\"command\": \"x\"}}}");
    put("site/.vscode/mcp.json", "{ broken");
    let request = ImportRequest {
        sources: Sources::Clients(FileOwner::clients()),
        project: "site".into(),
        projects: Projects::This,
        taken: Vec::new(),
        folders: UserFolders::in_home(System::Linux, &home),
    };
    let report = import(&request).unwrap();
    let counts: Vec<_> = report
        .parts
        .iter()
        .map(|part| (part.owner.id(), part.scope == "user", part.servers.len()))
        .collect();
    assert_eq!(
        counts,
        [
            ("claude-desktop", true, 2),
            ("claude-code", true, 3),
            ("claude-code", false, 1),
            ("claude-code", false, 1),
            ("cursor", true, 2),
            ("vscode", true, 3),
            ("vscode", true, 0),
            ("vscode", false, 0),
            ("windsurf", true, 2),
            ("zed", true, 2),
            ("codex", true, 2),
            ("gemini", true, 3),
            ("goose", true, 2),
            ("cline", true, 3),
        ]
    );
    assert_eq!(report.elsewhere, []);
    let broken = report
        .parts
        .iter()
        .find(|part| part.owner == FileOwner::Client(Client::VsCode) && part.scope == "project");
    assert!(broken.unwrap().problems[0].message.starts_with("cannot be read: line 1"));
    std::fs::remove_dir_all(&home).unwrap();
}
