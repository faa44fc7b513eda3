//! The six servers of `cargo xtask peers`: where they are, and how they are started.

use std::path::{Path, PathBuf};
use std::process::Command;

use kit::room::MARK;
use serde_json::{Value, json};

use super::scene::Scene;

/// In the order of the config.
pub(super) const PEERS: [&str; 6] =
    ["everything", "filesystem", "memory", "sequential-thinking", "time", "git"];

/// The revision both sides speak to those of the older era.
pub(super) const REVISION: &str = "2025-11-25";

/// Which eras are spoken to the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eras {
    /// The older one to all of them.
    One,
    /// To each the newest it knows.
    Both,
}

impl Eras {
    /// The Python servers are of the stateless era, the others are not yet.
    pub(super) fn is_modern(self, name: &str) -> bool {
        self == Self::Both && matches!(name, "time" | "git")
    }

    pub(super) fn revision(self, name: &str) -> &'static str {
        if self.is_modern(name) { kit::modern::REVISION } else { REVISION }
    }
}

/// The program of a server; where it is missing, the test fails and says what to do.
pub(super) fn program(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers");
    let bin = match name {
        "time" | "git" => "venv/bin",
        _ => "node_modules/.bin",
    };
    let program = place.join(bin).join(format!("mcp-server-{name}"));
    assert!(
        program.exists(),
        "{} is missing: run `cargo xtask peers`, which installs the servers the tests talk to",
        program.display()
    );
    program
}

/// A server's entry in `mcpServers`.
pub(super) fn entry(scene: &Scene, name: &str) -> Value {
    let (fixed, work, repository) = (scene.path("fixed"), scene.path("work"), scene.repository());
    let args = match name {
        "filesystem" => json!([fixed, work]),
        "time" => json!(["--local-timezone", "Etc/UTC"]),
        "git" => json!(["--repository", repository]),
        _ => json!([]),
    };
    let mut env = scene.environment();
    env.insert(MARK.to_owned(), scene.marker().into());
    json!({ "command": program(name), "args": args, "env": env })
}

/// Starts the server without a gateway; it does not carry the mark of those behind one.
pub(super) fn command(entry: &Value) -> Command {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let mut command = Command::new(text(&entry["command"]));
    command.args(entry["args"].as_array().expect("arguments").iter().map(text));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let env = entry["env"].as_object().expect("an environment");
    command.envs(env.iter().map(|(name, value)| (name, text(value)))).env_remove(MARK);
    command
}
