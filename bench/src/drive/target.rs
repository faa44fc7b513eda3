//! A running contender: the subject, the floor, a peer, or the children themselves.

use super::call::{Ask, Call, Likeness};
use super::connection::Connection;
use super::expected::Expected;
use super::launch;
use super::peers::Peer;
use super::process::{self, Own};
use super::ready::Ready;
use super::watchdog;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How many servers with how many tools each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) servers: usize,
    pub(super) tools: usize,
}

impl Shape {
    pub(super) fn label(self) -> String {
        format!("{} × {}", self.servers, self.tools)
    }
}

/// Who stands in the middle.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Nobody: one connection to each child.
    Direct,
    Floor,
    Subject,
    Peer(Peer),
}

impl Kind {
    pub(super) fn is_peer(&self) -> bool {
        matches!(self, Self::Peer(_))
    }
}

/// Programs and directories.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) child: PathBuf,
    pub(super) floor: PathBuf,
    pub(super) subject: PathBuf,
    pub(super) directory: PathBuf,
    /// The watchdog's zero.
    pub(super) start: Instant,
}

pub(super) struct Target {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) connections: Vec<Connection>,
    pub(super) ready: Ready,
    processes: Vec<Child>,
    log: PathBuf,
    start: Instant,
    /// Calls so far, for fresh ids.
    pub(super) count: u64,
}

impl Target {
    /// Starts the processes; nothing is sent yet.
    pub(super) fn spawn(place: &Place, kind: &Kind, shape: Shape) -> Result<Self, String> {
        let name = launch::label(place, kind);
        let log = place.directory.join(format!("{}.log", name.replace([' ', ','], "-")));
        let mut target = Self {
            kind: kind.clone(),
            name,
            shape,
            connections: Vec::new(),
            ready: Ready::default(),
            processes: Vec::new(),
            log,
            start: place.start,
            count: 0,
        };
        for command in launch::commands(place, kind, shape)? {
            target.add(command).map_err(|error| format!("{}: {error}", target.name))?;
        }
        target.ready = Ready::of(&target.connections).map_err(|error| error.to_string())?;
        Ok(target)
    }

    /// Starts, initializes and waits until every tool is listed.
    pub(super) fn ready(place: &Place, kind: &Kind, shape: Shape) -> Result<Self, String> {
        let mut target = Self::spawn(place, kind, shape)?;
        let ready = target.initialize().and_then(|()| target.wait_for_tools());
        ready.map_err(|error| target.blame(&error))?;
        Ok(target)
    }

    pub(super) fn initialize(&mut self) -> Result<(), String> {
        self.watch();
        self.connections.iter_mut().try_for_each(Connection::initialize)
    }

    /// Asks for the list, again and again, until it is complete.
    pub(super) fn wait_for_tools(&mut self) -> Result<(), String> {
        let wanted = self.shape.tools * self.shape.servers / self.connections.len();
        for connection in &mut self.connections {
            let started = Instant::now();
            loop {
                let mut tools = 0;
                connection.list(2, |page| {
                    tools += memchr::memmem::find_iter(page, b"\"inputSchema\"").count()
                })?;
                if tools == wanted {
                    break;
                }
                if started.elapsed() > Duration::from_secs(60) {
                    return Err(format!("{tools} of {wanted} tools after a minute"));
                }
                process::pause(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    /// Calls of tool `tool` of server `server`, one for each pair.
    pub(super) fn calls(
        &self,
        pairs: &[(usize, usize)],
        ask: Ask,
        expected: &Expected,
    ) -> Result<Vec<Call>, String> {
        pairs.iter().map(|&pair| self.call(pair, ask)?.expecting(expected.of(pair)?)).collect()
    }

    /// The middle's own processes.
    pub(super) fn own(&self) -> Own {
        process::own(self.pid())
    }

    /// Tells the watchdog whom to end if the next step takes too long.
    pub(super) fn watch(&self) {
        watchdog::watch(self.pid(), self.start);
    }

    /// The message with the target's name and the end of what it logged.
    pub(super) fn blame(&self, error: &str) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let end = lines[lines.len().saturating_sub(8)..].join("\n  | ");
        if end.is_empty() {
            format!("{}: {error}", self.name)
        } else {
            format!("{}: {error}\n  | {end}", self.name)
        }
    }

    /// One call, its answer yet unknown.
    pub(super) fn call(&self, (server, tool): (usize, usize), ask: Ask) -> Result<Call, String> {
        let call = match &self.kind {
            Kind::Direct => Call::new(server, &format!("tool_{tool}"), ask, Likeness::Bytes),
            Kind::Floor | Kind::Subject => {
                Call::new(0, &format!("s{server}:tool_{tool}"), ask, Likeness::Bytes)
            }
            Kind::Peer(peer) => Call::new(
                0,
                &format!("s{server}{}tool_{tool}", peer.separator),
                ask,
                Likeness::Text,
            ),
        };
        if call.connection < self.connections.len() {
            Ok(call)
        } else {
            Err("no such server".to_owned())
        }
    }

    fn pid(&self) -> i32 {
        self.processes.first().map_or(0, |process| process.id().cast_signed())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the driver starts what it measures, without a keeper"
    )]
    fn add(&mut self, mut command: Command) -> std::io::Result<()> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn()?;
        if let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) {
            self.connections.push(Connection::new(input.into(), output.into()));
        }
        self.processes.push(process);
        Ok(())
    }
}

/// Closing the pipes asks everybody to leave; who does not is killed. All are reaped before the next one starts.
impl Drop for Target {
    fn drop(&mut self) {
        watchdog::rest();
        let mains: Vec<i32> =
            self.processes.iter().map(|process| process.id().cast_signed()).collect();
        let mut all: Vec<i32> = mains.iter().flat_map(|&pid| process::descendants(pid)).collect();
        all.extend(mains);
        self.connections.clear();
        if !process::wait_gone(&all, Duration::from_secs(10)) {
            eprintln!("bench: {} had to be killed", self.name);
        }
    }
}
