//! A place of its own for one test: a directory, a marker on every process, a config file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::Client;
use crate::config::Fake;
use crate::service::Service;
use crate::{bin, process};

/// The directory's path is the marker: it stands in the arguments of the gateway (`--config`), of
/// every scripted server (`--script`) and of what those start, and in everyone's environment.
#[derive(Debug)]
pub struct Room {
    dir: PathBuf,
    /// Network servers that end with the room.
    services: Mutex<Vec<Service>>,
    /// Do its gateways wait shorter than they promise?
    is_hurried: bool,
    /// Do its clients share a runtime?
    is_shared: bool,
    /// Threads that move the messages of its `serve`s.
    threads: u8,
}

/// The variable that carries the marker into processes whose arguments do not.
pub const MARK: &str = "TRUNKLINE_TEST_ROOM";

/// The variable that says where a gateway remembers what servers said: never in the user's own cache.
pub const CACHE: &str = "TRUNKLINE_CACHE";
/// Where a gateway keeps what was approved of servers' definitions.
pub const PINS: &str = "TRUNKLINE_PINS";

/// The variable that says whether the clients of a config share a runtime. The kit says `off` unless a test
/// wants it: what a test starts must not outlive it, nor be found by another one.
pub const SHARED: &str = "TRUNKLINE_SHARED";

/// The variable by which a debug build of the product divides its long waits (`gateway/limits`).
const WAIT_DIVISOR: &str = "TRUNKLINE_TEST_WAIT_DIVISOR";

/// What [`Room::hurried`] divides them by.
pub const HURRY: u32 = 10;

impl Room {
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-it-{}-{number}-", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).expect("the temporary directory can be written");
        Self { dir, services: Mutex::default(), is_hurried: false, is_shared: false, threads: 1 }
    }

    /// A room whose gateways wait only a tenth of what they promise, where a test would have to sit
    /// it out: [`HURRY`]. What is promised stands in the tests of the waits themselves.
    pub fn hurried() -> Self {
        let mut room = Self::new();
        room.is_hurried = true;
        room
    }

    /// A room whose `serve`s move messages on several threads, however few processors there are. What two connections
    /// send then has no order, which most tests count on.
    pub fn threaded() -> Self {
        let mut room = Self::new();
        room.threads = 3;
        room
    }

    /// A room whose stdio clients share a runtime, which ends with the last of them.
    pub fn shared() -> Self {
        let mut room = Self::new();
        room.is_shared = true;
        std::fs::create_dir_all(room.path("run")).expect("the room can be written");
        room
    }

    /// [`Room::shared`] and [`Room::hurried`] in one.
    pub fn shared_hurried() -> Self {
        let mut room = Self::shared();
        room.is_hurried = true;
        room
    }

    /// The shared runtimes of this room.
    pub fn runtimes(&self) -> Vec<process::Process> {
        let mut all = process::marked(self.marker());
        all.retain(|process| process.command_line().contains(" runtime --id "));
        all
    }

    /// Says how many threads move messages, whatever this machine would have.
    pub(crate) fn add_threads(&self, command: &mut Command, flags: &[&str]) {
        if !flags.contains(&"--threads") {
            command.arg("--threads").arg(self.threads.to_string());
        }
    }

    /// What every gateway of this room has in its environment.
    pub(crate) fn mark(&self, command: &mut Command) {
        command.env(MARK, self.marker()).env(PINS, self.fresh_pins());
        if self.is_hurried {
            command.env(WAIT_DIVISOR, HURRY.to_string());
        }
        if self.is_shared {
            command.env(SHARED, "on").env("XDG_RUNTIME_DIR", self.path("run"));
            command.env("TRUNKLINE_LINGER", "0");
        } else {
            command.env(SHARED, "off");
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn marker(&self) -> &str {
        self.dir.to_str().expect("the temporary directory is UTF-8")
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("the room can be written");
        path
    }

    /// A program that is this shell script. Another process writes it: what this one has open for writing while
    /// another test starts something cannot be executed (ETXTBSY).
    #[track_caller]
    pub fn script(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path(name);
        let mut write = Command::new("sh");
        write.args(["-c", r#"printf %s "$1" > "$0" && chmod 755 "$0""#]).arg(&path);
        let written = write.arg(format!("#!/bin/sh\n{script}")).status().expect("a shell");
        assert!(written.success(), "the room can be written");
        path
    }

    /// A scripted server called `name`.
    pub fn fake(&self, name: &str) -> Fake<'_> {
        Fake::new(self, name)
    }

    /// Keeps a network server running as long as the room.
    pub fn keep(&self, service: Service) {
        self.services.lock().unwrap_or_else(PoisonError::into_inner).push(service);
    }

    /// The ledger of the scripted server called `name`.
    pub fn ledger(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.ledger"))
    }

    /// Writes `mcp.json` with these servers, in this order.
    pub fn config<const N: usize>(&self, servers: [(&str, Value); N]) -> PathBuf {
        self.config_of(servers.into_iter().map(|(key, entry)| (key.to_owned(), entry)).collect())
    }

    /// Writes `mcp.json` with these servers and these custom tools.
    pub fn config_with<const N: usize>(
        &self,
        servers: [(&str, Value); N],
        tools: Value,
    ) -> PathBuf {
        let servers = servers.into_iter().map(|(key, entry)| (key.to_owned(), entry)).collect();
        let config = json!({ "mcpServers": Value::Object(servers), "tools": tools });
        self.write("mcp.json", config.to_string())
    }

    pub fn config_of(&self, servers: Vec<(String, Value)>) -> PathBuf {
        let servers = Value::Object(servers.into_iter().collect());
        self.write("mcp.json", json!({ "mcpServers": servers }).to_string())
    }

    /// The gateway on this room's `mcp.json`, not yet started.
    pub fn trunkline(&self, flags: &[&str]) -> Command {
        self.program(&bin::trunkline(), flags)
    }

    /// Another program with the same command line.
    pub fn program(&self, program: &Path, flags: &[&str]) -> Command {
        self.program_of(program, &self.path("mcp.json"), flags)
    }

    /// … and with another config.
    pub fn program_of(&self, program: &Path, config: &Path, flags: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.arg("--config").arg(config).args(flags);
        self.mark(&mut command);
        command.env_remove("MCP_PROXY_CONFIG_PATH").env(CACHE, self.fresh_cache());
        command
    }

    /// A cache of its own for each gateway: what one has remembered must not change what another does,
    /// unless a test is about that. Clients that share a runtime have one cache.
    pub(crate) fn fresh_cache(&self) -> PathBuf {
        if self.is_shared {
            return self.path("remembered");
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        self.path(&format!("remembered-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Pins of its own for each gateway, for the same reason.
    fn fresh_pins(&self) -> PathBuf {
        if self.is_shared {
            return self.path("pins");
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        self.path(&format!("pins-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The gateway, started and initialised with the newest legacy revision.
    #[track_caller]
    pub fn start(&self, flags: &[&str]) -> Client {
        let client = Client::spawn(self.trunkline(&patient(flags)));
        client.initialize("2025-11-25");
        client
    }

    /// [`Room::start`], and every server has answered for its tools.
    #[track_caller]
    pub fn start_ready(&self, flags: &[&str]) -> Client {
        let client = self.start(flags);
        client.list();
        client
    }

    /// Opens the gate a script waits at with [`crate::say::gate`].
    pub fn open_gate(&self, name: &str) {
        self.write(name, "");
    }
}

/// The first list waits five seconds for servers that are still starting, which on a busy machine
/// may be all of them; a test that asks for it means all. Less than [`crate::LIMIT`].
pub(crate) fn patient<'f>(flags: &[&'f str]) -> Vec<&'f str> {
    let is_said = flags.contains(&"--start-timeout");
    let more: &[&str] = if is_said { &[] } else { &["--start-timeout", "25"] };
    [flags, more].concat()
}

impl Drop for Room {
    fn drop(&mut self) {
        // What a failed test left behind must not disturb the next one.
        for left in process::marked(self.marker()) {
            left.kill(Signal::KILL);
        }
        drop(std::fs::remove_dir_all(&self.dir));
    }
}
