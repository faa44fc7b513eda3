//! Servers that move, and come back.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use trunkline_catalog::client::{Client, System};

use super::{ConsolidateRequest, consolidate};
use crate::install::{
    EntryTarget, Extent, InstallError, InstallRequest, Launch, UserFolders, locate, restore,
};

struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-consolidate-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(std::fs::canonicalize(path).unwrap())
    }

    fn put(&self, file: &str, text: &str) -> PathBuf {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn request(&self, client: Client) -> InstallRequest {
        InstallRequest {
            target: EntryTarget {
                client,
                name: None,
                project: None,
                file: None,
                dry_run: false,
                force: false,
            },
            launch: Launch::Command {
                config: "all.json".into(),
                variables: Vec::new(),
                flags: Vec::new(),
            },
            executable: "/opt/bin/trunkline".into(),
            folders: UserFolders::in_home(System::Linux, &self.0),
            now: UNIX_EPOCH + Duration::from_secs(1_794_736_800),
        }
    }

    fn consolidate(&self, install: InstallRequest) -> Result<Value, InstallError> {
        let variables = |_: &str| vec!["A_TOKEN".to_owned()];
        let request = ConsolidateRequest { install, variables: &variables };
        consolidate(&request).map(|done| done.json())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

const FILES: [(Client, &str, &str); 4] = [
    (
        Client::Cursor,
        ".cursor/mcp.json",
        "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\", \"env\": {\"K\": \"s3cret\"}}, // one\n    \
         \"b\": {\"url\": \"https://h/mcp\"},\n  },\n}\n",
    ),
    (
        Client::ClaudeCode,
        ".claude.json",
        "{\"numStartups\":3,\"mcpServers\":{\"a\":{\"command\":\"x\",\"env\":{\"K\":\"s3cret\"}},\"b\":{\"type\":\"http\",\"url\":\"https://h/mcp\"}}}",
    ),
    (
        Client::VsCode,
        ".config/Code/User/mcp.json",
        "{\n\t\"servers\": {\n\t\t\"a\": {\"command\": \"x\", \"env\": {\"K\": \"s3cret\"}},\n\t\t\"b\": {\"url\": \"https://h/mcp\"}\n\t}\n}\n",
    ),
    (
        Client::Codex,
        ".codex/config.toml",
        "# top\n[mcp_servers.a]\ncommand = \"x\"\nenv = { K = \"s3cret\" }\n\n# second\n[mcp_servers.b]\nurl = \"https://h/mcp\"\n\n[tui]\nx = 1\n",
    ),
];

#[test]
fn servers_move_and_restore_brings_every_byte_back() {
    for (client, file, before) in FILES {
        let home = Home::new();
        let path = home.put(file, before);
        let told = home.consolidate(home.request(client)).unwrap();
        assert_eq!(told["moved"], json!(["a", "b"]), "{client}");
        let config: Value = serde_json::from_str(&text(&home.0.join("all.json"))).unwrap();
        assert_eq!(config["mcpServers"]["a"]["env"]["K"], "s3cret", "{client}");
        assert_eq!(config["mcpServers"]["b"]["url"], "https://h/mcp", "{client}");
        let now = text(&path);
        assert!(now.contains("/opt/bin/trunkline") && !now.contains("s3cret"), "{client}: {now}");
        let request = home.request(client);
        restore(&request.target, None, Extent::AsFits, &request.folders, request.now).unwrap();
        assert_eq!(text(&path), before, "{client}");
    }
}

/// Wherever this test runs: from where the client has its file on each system, and back.
#[test]
fn servers_move_and_come_back_on_every_system() {
    for system in System::ALL {
        for (client, _, before) in FILES {
            let home = Home::new();
            let mut request = home.request(client);
            request.folders = UserFolders::in_home(system, &home.0);
            let file = locate(&request.target, &request.folders).unwrap().file;
            let before = format!("\u{FEFF}{}", before.replace('\n', "\r\n"));
            home.put(file.to_str().unwrap(), &before);
            let told = home.consolidate(request.clone()).unwrap();
            assert_eq!(told["moved"], json!(["a", "b"]), "{client} {system:?}");
            let now = text(&file);
            assert!(now.starts_with('\u{FEFF}') && !now.contains("s3cret"), "{client}: {now}");
            let (target, folders) = (&request.target, &request.folders);
            restore(target, None, Extent::AsFits, folders, request.now).unwrap();
            assert_eq!(text(&file), before, "{client} {system:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_the_config() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.put(FILES[0].1, FILES[0].2);
    home.consolidate(home.request(Client::Cursor)).unwrap();
    let mode = std::fs::metadata(home.0.join("all.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_config_that_is_there_keeps_what_it_has() {
    let home = Home::new();
    let all = "{\n  // kept\n  \"mcpServers\": {\n    \"same\": {\"command\": \"x\", \"env\": {\"K\": \"s3cret\"}},\n    \"b\": {\"command\": \"other\"}\n  }\n}\n";
    home.put("all.json", all);
    home.put(FILES[0].1, FILES[0].2);
    let told = home.consolidate(home.request(Client::Cursor)).unwrap();
    assert_eq!((&told["moved"], &told["added"]), (&json!(["a", "b"]), &json!(["b-cursor"])));
    let now = text(&home.0.join("all.json"));
    assert!(now.contains("// kept") && now.contains("\"b-cursor\""), "{now}");
    let again = home.consolidate(home.request(Client::Cursor)).unwrap();
    assert_eq!(again["moved"], json!([]));
    assert_eq!(text(&home.0.join("all.json")), now);
}

#[test]
fn a_dry_run_writes_nothing_and_shows_no_value() {
    let home = Home::new();
    let path = home.put(FILES[0].1, FILES[0].2);
    let mut install = home.request(Client::Cursor);
    install.target.dry_run = true;
    let request = ConsolidateRequest { install, variables: &|_| Vec::new() };
    let words = consolidate(&request).unwrap().to_string();
    assert!(words.contains("-    \"a\": { … }  (command, env)"), "{words}");
    assert!(words.contains("+    \"trunkline\": {") && !words.contains("s3cret"), "{words}");
    assert_eq!(text(&path), FILES[0].2);
    assert!(!home.0.join("all.json").exists());
}

#[test]
fn what_cannot_move_stays() {
    let home = Home::new();
    let path = home.put(
        ".claude.json",
        "{\"mcpServers\": {\"ws\": {\"type\": \"ws\", \"url\": \"wss://h\"}, \"a\": {\"command\": \"x\"}}}",
    );
    let told = home.consolidate(home.request(Client::ClaudeCode)).unwrap();
    assert_eq!(told["moved"], json!(["a"]));
    let now: Value = serde_json::from_str(&text(&path)).unwrap();
    let names: Vec<&String> = now["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["ws", "trunkline"]);
    let missing = home.consolidate(home.request(Client::Zed)).unwrap_err();
    assert!(missing.to_string().contains("trunkline install zed"), "{missing}");
}
