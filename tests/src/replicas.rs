//! Replicas of a platform on one store, each with a data directory and a port of its own: they can be killed and
//! started again.

use std::net::SocketAddr;

use rustix::process::Signal;

use crate::LIMIT;
use crate::http::{Ask, Connection};
use crate::platform::Platform;
use crate::port;
use crate::process::wait_until;
use crate::room::Room;

/// The key of their store, in base64.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// One place for a replica.
#[derive(Debug)]
pub struct Replica {
    room: Room,
    port: u16,
    flags: Vec<String>,
    running: Option<Platform>,
}

impl Replica {
    /// Starts one that works with this store.
    #[track_caller]
    pub fn start(store: &str, flags: &[&str]) -> Self {
        Self::start_in(Room::new(), store, flags)
    }

    /// One whose long waits are short.
    #[track_caller]
    pub fn hurried(store: &str, flags: &[&str]) -> Self {
        Self::start_in(Room::hurried(), store, flags)
    }

    fn start_in(room: Room, store: &str, flags: &[&str]) -> Self {
        let mut all = vec!["--store".to_owned(), store.to_owned()];
        all.extend(["--allow-net", "127.0.0.0/8"].map(str::to_owned));
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let mut replica = Self { room, port: port::free(), flags: all, running: None };
        replica.again();
        replica
    }

    /// Starts it where it was.
    #[track_caller]
    pub fn again(&mut self) {
        let listen = format!("127.0.0.1:{}", self.port);
        let mut flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        flags.extend(["--listen", &listen]);
        let mut command = self.room.platform_command(&flags);
        command.env("TRUNKLINE_KEY", KEY);
        self.running = Some(Platform::start(command));
    }

    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    #[track_caller]
    pub fn platform(&self) -> &Platform {
        self.running.as_ref().expect("it runs")
    }

    /// As power is lost.
    pub fn kill(&mut self) {
        let Some(running) = self.running.take() else { return };
        running.serve().process().signal(Signal::KILL);
        running.serve().process().wait_exit(LIMIT);
    }

    /// As an operator ends it.
    pub fn stop(&mut self) {
        let Some(running) = self.running.take() else { return };
        running.serve().process().signal(Signal::TERM);
        running.serve().process().wait_exit(4 * LIMIT);
    }

    /// Waits until it says that it may get requests.
    #[track_caller]
    pub fn wait_ready(&self) {
        wait_until("the replica is ready", 2 * LIMIT, || {
            let Ok(mut connection) = Connection::try_open(self.address()) else { return false };
            connection.begin(&Ask::get("/readyz"));
            connection.try_response(LIMIT).is_some_and(|answer| answer.status() == 200)
        });
    }

    /// What `trunkline audit verify` has against the log, if anything.
    pub fn audit_fault(&self, store: &str) -> Option<String> {
        let mut command = std::process::Command::new(crate::bin::trunkline());
        command.args(["audit", "verify", "--store", store, "--data-dir"]);
        command.arg(self.room.path("data")).env("TRUNKLINE_KEY", KEY);
        let done = crate::run::run(command, b"");
        (done.code != Some(0)).then(|| done.to_string())
    }
}
