//! `trunkline serve --demo`: everything shown with servers inside the program, and nothing left behind.

mod platform;
mod servers;

use std::path::PathBuf;
use std::process::Command;

use kit::bin;
use kit::mcp::Speak;
use kit::room::{MARK, Room};
use kit::serve::Serve;
use serde_json::Value;

/// The names of all servers.
const SERVERS: [&str; 5] = ["clock", "flaky", "notes", "tables", "weather"];

/// A running demo whose temporary directory is in the room.
struct Demo {
    serve: Serve,
    temporary: PathBuf,
}

impl Demo {
    #[track_caller]
    fn start(room: &Room, flags: &[&str]) -> Self {
        let temporary = room.path("temporary");
        std::fs::create_dir_all(&temporary).expect("the room can be written");
        let mut command = program(room, &["serve", "--demo", "--listen", "127.0.0.1:0"]);
        command.args(["--start-timeout", "25"]).args(flags).env("TMPDIR", &temporary);
        Self { serve: Serve::start(command), temporary }
    }

    /// What the temporary directory holds.
    fn left(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.temporary).expect("it is there");
        entries.flatten().map(|entry| entry.path()).collect()
    }
}

/// The program with nothing of our own environment that it would heed.
fn program(room: &Room, arguments: &[&str]) -> Command {
    let mut command = Command::new(bin::trunkline());
    command.args(arguments).env(MARK, room.marker());
    for name in [
        "MCP_PROXY_CONFIG_PATH",
        "PORT",
        "TRUNKLINE_TOKEN",
        "TRUNKLINE_KEY",
        "TRUNKLINE_STORE",
        "TRUNKLINE_ADMIN_TOKEN",
        "KEEP_SERVER_OPEN",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    ] {
        command.env_remove(name);
    }
    command
}

/// The result of a call as a value.
#[track_caller]
fn called(client: &impl Speak, tool: &str, arguments: &str) -> Value {
    let answer = client.call(tool, arguments);
    serde_json::from_slice(answer.result()).expect("a result is JSON")
}
