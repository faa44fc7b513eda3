//! A home directory to install into, and readers that share no code with the writer.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;
use trunkline_catalog::client::{Client, System};

use crate::install::error::InstallError;
use crate::install::report::InstallReport;
use crate::install::{EntryTarget, InstallRequest, Launch, UserFolders, run as install};

/// A home directory that is removed again.
pub(super) struct Home {
    pub(super) path: PathBuf,
}

impl Home {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-install-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        // where the system's own folder is a link, as on macOS
        let path = fs::canonicalize(path).unwrap();
        fs::write(path.join("mcp.json"), r#"{"mcpServers": {}}"#).unwrap();
        Self { path }
    }

    pub(super) fn request(&self, client: Client) -> InstallRequest {
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
                config: "mcp.json".into(),
                variables: Vec::new(),
                flags: Vec::new(),
            },
            executable: "/opt/bin/trunkline".into(),
            folders: UserFolders::in_home(System::Linux, &self.path),
            // 2026-11-15 10:00:00 UTC
            now: UNIX_EPOCH + Duration::from_secs(1_794_736_800),
        }
    }

    pub(super) fn install(&self, client: Client) -> Result<InstallReport, InstallError> {
        run(&self.request(client))
    }

    pub(super) fn write(&self, file: &str, text: &str) -> PathBuf {
        let file = self.path.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    pub(super) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path.join(file)).unwrap()
    }

    /// All files beside `file`, itself too.
    pub(super) fn beside(&self, file: &str) -> Vec<String> {
        let folder = fs::read_dir(self.path.join(file).parent().unwrap()).unwrap();
        let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != "mcp.json").collect();
        names.sort();
        names
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Installs with a config that has none of the client's servers.
pub(super) fn run(request: &InstallRequest) -> Result<InstallReport, InstallError> {
    install(request, &|_, _| Vec::new())
}

/// Reads a client's file as the client would.
pub(super) fn parsed(file: &Path) -> Value {
    let text = fs::read_to_string(file).unwrap();
    if file.extension().is_some_and(|extension| extension == "toml") {
        basic_toml::from_str(&text).unwrap()
    } else {
        serde_json::from_str(&without_comments(&text)).unwrap()
    }
}

/// JSON from JSON with comments and trailing commas.
fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.trim_start_matches('\u{FEFF}');
    while let Some(c) = rest.chars().next() {
        let line = rest.find('\n').unwrap_or(rest.len());
        let (length, keep) = match c {
            '"' => (string_length(rest), true),
            '/' if rest.starts_with("//") => (line, false),
            '/' if rest.starts_with("/*") => (rest.find("*/").unwrap() + 2, false),
            c => (c.len_utf8(), true),
        };
        if c == '}' || c == ']' {
            plain.truncate(plain.trim_end().trim_end_matches(',').len());
        }
        let (piece, after) = rest.split_at(length);
        plain.push_str(if keep { piece } else { "" });
        rest = after;
    }
    plain
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let closing = |(at, c): (usize, char)| {
        let closes = c == '"' && !escaped && at > 0;
        escaped = c == '\\' && !escaped;
        closes.then_some(at + 1)
    };
    text.char_indices().find_map(closing).unwrap()
}
