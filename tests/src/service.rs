//! A scripted server over the network: a process that listens, can be killed, and comes back.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::Client;
use crate::room::{MARK, Room};
use crate::{LIMIT, bin, port};

/// Which transport a network server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// Dropping it kills the process.
#[derive(Debug)]
pub struct Service {
    process: Client,
    script: PathBuf,
    marker: String,
    wire: Wire,
    url: String,
}

impl Service {
    #[track_caller]
    pub(crate) fn start(room: &Room, name: &str, script: &Path, wire: Wire) -> Self {
        let marker = room.marker().to_owned();
        // Of its own: while it is down, nobody else may get it.
        let address = format!("127.0.0.1:{}", port::free());
        let process = spawn(script, &marker, &address, wire);
        let url = url_of(&process, name);
        Self { process, script: script.to_owned(), marker, wire, url }
    }

    /// `http://127.0.0.1:PORT/mcp` or `…/sse`.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn wire(&self) -> Wire {
        self.wire
    }

    pub fn address(&self) -> SocketAddr {
        let rest = self.url.trim_start_matches("http://");
        let address = rest.split('/').next().and_then(|address| address.parse().ok());
        address.expect("the server has said where it listens")
    }

    /// The server's entry in a config.
    pub fn entry(&self) -> Value {
        let kind = if self.wire == Wire::Http { "http" } else { "sse" };
        json!({ "type": kind, "url": self.url })
    }

    pub fn pid(&self) -> i32 {
        self.process.pid().as_raw_nonzero().get()
    }

    /// Kills the process and waits until it is gone.
    pub fn kill(&self) {
        self.process.signal(Signal::KILL);
        self.process.wait_exit(LIMIT);
    }

    /// A new process at the same address; it remembers nothing.
    #[track_caller]
    pub fn restart(&mut self) {
        self.kill();
        let address = self.address().to_string();
        self.process = spawn(&self.script, &self.marker, &address, self.wire);
        url_of(&self.process, "the server");
    }
}

fn spawn(script: &Path, marker: &str, address: &str, wire: Wire) -> Client {
    let mut command = Command::new(bin::fake_mcp());
    command.arg("--script").arg(script).args(["--listen", address]);
    command.arg(if wire == Wire::Http { "--http" } else { "--sse" });
    command.env(MARK, marker);
    Client::spawn(command)
}

#[track_caller]
fn url_of(process: &Client, name: &str) -> String {
    process.wait_stderr(&["listening http", "\n"], LIMIT);
    let stderr = process.stderr();
    let url = stderr.lines().find_map(|line| line.strip_prefix("listening "));
    url.unwrap_or_else(|| panic!("{name} does not say where it listens: {stderr}")).to_owned()
}
