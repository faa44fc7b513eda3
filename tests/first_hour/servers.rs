//! The ten servers: ordinary ones that start without a key, as their users start them.

use std::path::Path;

use serde_json::{Value, json};

/// An entry of a client's file.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    command: &'static str,
    args: &'static [&'static str],
    /// Its last argument is a folder.
    takes_folder: bool,
}

pub(crate) const SERVERS: [Server; 10] = [
    npx("everything", &["-y", "@modelcontextprotocol/server-everything@2026.8.31"]),
    Server {
        takes_folder: true,
        ..npx("files", &["-y", "@modelcontextprotocol/server-filesystem@2026.8.31"])
    },
    npx("memory", &["-y", "@modelcontextprotocol/server-memory@2026.8.31"]),
    npx("thinking", &["-y", "@modelcontextprotocol/server-sequential-thinking@2026.8.31"]),
    npx("docs", &["-y", "@upstash/context7-mcp@4.1.1"]),
    npx("browser", &["-y", "@playwright/mcp@0.0.83"]),
    uvx("time", &["mcp-server-time==2026.10.19"]),
    uvx("git", &["mcp-server-git==2026.10.19"]),
    uvx("fetch", &["mcp-server-fetch==2026.10.24"]),
    uvx("calculator", &["mcp-server-calculator==0.2.1"]),
];

const fn npx(name: &'static str, args: &'static [&'static str]) -> Server {
    Server { name, command: "npx", args, takes_folder: false }
}

const fn uvx(name: &'static str, args: &'static [&'static str]) -> Server {
    Server { name, command: "uvx", args, takes_folder: false }
}

impl Server {
    pub(crate) fn named(name: &str) -> &'static Self {
        SERVERS.iter().find(|server| server.name == name).expect("one of the ten")
    }

    /// Its command line.
    pub(crate) fn line(&self, home: &Path) -> Vec<String> {
        let folder = self.takes_folder.then(|| home.join("notes").display().to_string());
        let words = std::iter::once(&self.command).chain(self.args);
        words.map(|word| (*word).to_owned()).chain(folder).collect()
    }

    pub(crate) fn entry(&self, home: &Path) -> Value {
        let line = self.line(home);
        json!({ "command": line[0], "args": line[1..] })
    }
}
