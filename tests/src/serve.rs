//! `trunkline serve` as a process: where it listens, who talks to it, how it ends.

use std::net::SocketAddr;
use std::process::Command;

use crate::client::Client;
use crate::legacy_sse::LegacySse;
use crate::mcp::Speak;
use crate::modern::Modern;
use crate::room::{CACHE, Room, patient};
use crate::streamable::Streamable;
use crate::{LIMIT, bin, process};

/// A running gateway with network fronts. Dropping it kills the process.
#[derive(Debug)]
pub struct Serve {
    process: Client,
    address: SocketAddr,
}

impl Room {
    /// `trunkline serve` on this room's `mcp.json`, not yet started.
    pub fn serve_command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(bin::trunkline());
        command.arg("serve").arg("--config").arg(self.path("mcp.json"));
        if !flags.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        self.add_threads(&mut command, flags);
        self.mark(&mut command);
        command.args(flags).env(CACHE, self.fresh_cache());
        for name in [
            "MCP_PROXY_CONFIG_PATH",
            "PORT",
            "TRUNKLINE_TOKEN",
            "KEEP_SERVER_OPEN",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// `trunkline serve` on a free port of the loopback.
    #[track_caller]
    pub fn serve(&self, flags: &[&str]) -> Serve {
        Serve::start(self.serve_command(&patient(flags)))
    }
}

impl Serve {
    /// Starts it with so many files, sockets among them. Nothing is raised beyond the hard limit.
    #[track_caller]
    pub fn start_with_files(plain: &Command, files: u32) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!(r#"ulimit -n {files}; exec "$0" "$@""#)]);
        command.arg(plain.get_program()).args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self::start(command)
    }

    #[track_caller]
    pub fn start(command: Command) -> Self {
        let process = Client::spawn(command);
        process.wait_stderr(&["listening on http"], LIMIT);
        // The whole line: it may be read in pieces.
        process::wait_until("the address", LIMIT, || {
            process.stderr().split("listening on http").nth(1).is_some_and(|it| it.contains('\n'))
        });
        let stderr = process.stderr();
        let said = stderr.split("listening on http").nth(1).unwrap_or_default();
        let said = said.trim_start_matches('s').trim_start_matches("://");
        let address = said.split(|c: char| c.is_whitespace() || c == '/').next();
        let address = address.and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address: {stderr}"));
        Self { process, address }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process, for its stderr, its pid and its end.
    pub fn process(&self) -> &Client {
        &self.process
    }

    /// A session at `/mcp`, not yet initialised.
    pub fn streamable(&self) -> Streamable {
        Streamable::new(self.address, "/mcp")
    }

    /// A session at `/mcp` with its GET stream.
    #[track_caller]
    pub fn http(&self) -> Streamable {
        self.http_with("{}")
    }

    /// [`Serve::http`] with these raw client capabilities.
    #[track_caller]
    pub fn http_with(&self, capabilities: &str) -> Streamable {
        let client = self.streamable();
        client.initialize_with("2025-11-25", capabilities).result();
        assert_eq!(client.listen(), 200, "the GET stream");
        client
    }

    /// A client of the stateless era with these raw capabilities.
    pub fn modern(&self, capabilities: &str) -> Modern {
        Modern::http(self.address, capabilities)
    }

    /// A session at `/sse`.
    #[track_caller]
    pub fn sse(&self) -> LegacySse {
        self.sse_with("{}")
    }

    /// [`Serve::sse`] with these raw client capabilities.
    #[track_caller]
    pub fn sse_with(&self, capabilities: &str) -> LegacySse {
        let client = LegacySse::open(self.address, "/sse");
        client.initialize_with("2025-11-25", capabilities).result();
        client
    }
}

/// A failed test says what the gateway has said.
impl Drop for Serve {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.process.describe());
        }
    }
}
