//! A running contender: the subject, the floor, a peer, or the children themselves.

use super::call::{Ask, Call, Likeness};
use super::connection::Connection;
use super::contender::{Contender, Door, Eras, Kind};
use super::expected::Expected;
use super::launch::{self, Offer};
use super::listening;
use super::pool::Pool;
use super::post::{CALL, Desk, MCP};
use super::process::{self, Own};
use super::ready::Ready;
use super::rest::Rest;
use super::route::{Http, Route, Servers, Sessions};
use super::watchdog;
use std::fs::{self, File};
use std::mem::take;
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

/// A build of Trunkline, and the arguments that come before all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) args: Vec<String>,
}

impl Program {
    /// From words with spaces between them; a path with spaces cannot be given.
    pub(super) fn from_words(words: &str) -> Self {
        let mut words = words.split_whitespace().map(str::to_owned);
        Self { path: words.next().unwrap_or_default().into(), args: words.collect() }
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.args);
        command
    }
}

/// Programs and directories.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) child: PathBuf,
    pub(super) floor: PathBuf,
    pub(super) subject: Program,
    pub(super) before: Option<Program>,
    /// A file of policies, for those with guards.
    pub(super) policies: PathBuf,
    pub(super) directory: PathBuf,
    /// The watchdog's zero.
    pub(super) start: Instant,
}

pub(super) struct Target {
    pub(super) kind: Kind,
    pub(super) eras: Eras,
    pub(super) name: String,
    pub(super) shape: Shape,
    route: Route,
    pub(super) connections: Vec<Connection>,
    pub(super) pool: Pool,
    pub(super) ready: Ready,
    processes: Vec<Child>,
    /// Children over HTTP that a middle talks to and does not start.
    servers: Vec<Child>,
    /// Over HTTP, where the connections of each group go.
    ports: Vec<u16>,
    desk: Desk,
    log: PathBuf,
    start: Instant,
    /// Calls so far, for fresh ids.
    pub(super) count: u64,
}

impl Target {
    /// Starts the processes; nothing is sent yet.
    pub(super) fn spawn(
        place: &Place,
        contender: &Contender,
        shape: Shape,
        route: Route,
    ) -> Result<Self, String> {
        let Contender { kind, eras } = contender.clone();
        let name = launch::label(place, &kind);
        let log = format!("{name} {}.log", eras.label()).replace([' ', ','], "-");
        let mut target = Self {
            kind,
            eras,
            name,
            shape,
            route,
            connections: Vec::new(),
            pool: Pool::Shared,
            ready: Ready::default(),
            processes: Vec::new(),
            servers: Vec::new(),
            ports: Vec::new(),
            desk: Desk::OPEN,
            log: place.directory.join(log),
            start: place.start,
            count: 0,
        };
        match route {
            Route::Stdio => target.start_over_stdio(place)?,
            Route::Http(http) => {
                let started = target.start_over_http(place, http);
                started.map_err(|error| target.blame(&error))?;
            }
        }
        Ok(target)
    }

    /// Starts, initializes and waits until every tool is listed.
    pub(super) fn ready(
        place: &Place,
        contender: &Contender,
        shape: Shape,
        route: Route,
    ) -> Result<Self, String> {
        let mut target = Self::spawn(place, contender, shape, route)?;
        let ready = target.initialize().and_then(|()| target.wait_for_tools());
        ready.map_err(|error| target.blame(&error))?;
        Ok(target)
    }

    /// Makes every connection able to carry calls.
    pub(super) fn initialize(&mut self) -> Result<(), String> {
        self.watch();
        let Route::Http(http) = self.route else {
            return self.connections.iter_mut().try_for_each(Connection::initialize);
        };
        self.pool = Pool::exclusive(self.ports.len());
        for group in 0..self.ports.len() {
            for _ in 0..http.connections.div_ceil(self.ports.len()) {
                let index = self.open(group)?;
                self.pool.release(group, index);
            }
        }
        self.ready = Ready::of(&self.connections).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Asks for the list, again and again, until it is complete.
    pub(super) fn wait_for_tools(&mut self) -> Result<(), String> {
        if let Kind::Platform(_) = self.kind {
            // Seen before there was a key.
            return Ok(());
        }
        let groups = if matches!(self.kind, Kind::Direct) { self.shape.servers } else { 1 };
        let wanted = self.shape.tools * self.shape.servers / groups;
        for group in 0..groups {
            let connection = self.connection(group);
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

    /// Opens again what was closed while others had their turn. No call may be under way.
    pub(super) fn refresh(&mut self) -> Result<(), String> {
        let mut changed = false;
        for connection in &mut self.connections {
            changed |= connection.refresh()?;
        }
        if changed {
            self.ready = Ready::of(&self.connections).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// A connection for one call at a time.
    pub(super) fn connection(&mut self, group: usize) -> &mut Connection {
        let index = self.pool.last(group).unwrap_or(group);
        &mut self.connections[index]
    }

    /// A connection for a call beside others; over HTTP nobody else uses it until it is released.
    pub(super) fn acquire(&mut self, group: usize) -> Result<usize, String> {
        if let Some(index) = self.pool.take(group) {
            return Ok(index);
        }
        let index = self.open(group)?;
        self.ready = Ready::of(&self.connections).map_err(|error| error.to_string())?;
        Ok(index)
    }

    /// Calls of tool `tool` of server `server`, one for each pair.
    pub(super) fn calls(
        &self,
        pairs: &[(usize, usize)],
        ask: Ask,
        expected: &Expected,
    ) -> Result<Vec<Call>, String> {
        let era = self.eras.children;
        pairs.iter().map(|&pair| self.call(pair, ask)?.expecting(expected.of(era, pair)?)).collect()
    }

    /// Over HTTP, where the middle listens.
    pub(super) fn port(&self) -> Result<u16, String> {
        self.ports.first().copied().ok_or_else(|| "no port".to_owned())
    }

    pub(super) fn is_over_http(&self) -> bool {
        matches!(self.route, Route::Http(_))
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
        let eras = if self.eras.crossed() { self.eras.label() } else { String::new() };
        let who = format!("{} {eras}", self.name);
        if end.is_empty() {
            format!("{}: {error}", who.trim_end())
        } else {
            format!("{}: {error}\n  | {end}", who.trim_end())
        }
    }

    /// One call, its answer yet unknown.
    pub(super) fn call(&self, (server, tool): (usize, usize), ask: Ask) -> Result<Call, String> {
        if server >= self.shape.servers {
            return Err("no such server".to_owned());
        }
        let name = |separator: &str| format!("s{server}{separator}tool_{tool}");
        let era = self.eras.client;
        let likeness =
            if self.eras.crossed() { Likeness::Translated(era) } else { Likeness::Bytes };
        let (group, name, likeness) = match &self.kind {
            Kind::Direct => (server, format!("tool_{tool}"), likeness),
            Kind::Floor
            | Kind::Subject
            | Kind::Before
            | Kind::Shared
            | Kind::Guarded(_)
            | Kind::Threads(_) => (0, name(self.route.separator()), likeness),
            Kind::Platform(Door::Rest) => {
                return Ok(Call::rest(&name(self.route.separator()), ask));
            }
            Kind::Platform(Door::Mcp) => (0, name(self.route.separator()), likeness),
            Kind::Peer(peer) => (0, name(peer.separator), Likeness::Text),
        };
        Ok(Call::new(group, &name, ask, era).like(likeness))
    }

    fn pid(&self) -> i32 {
        self.processes.first().map_or(0, |process| process.id().cast_signed())
    }

    fn offer(&self) -> Offer {
        Offer { shape: self.shape, era: self.eras.children }
    }

    fn start_over_stdio(&mut self, place: &Place) -> Result<(), String> {
        for mut command in launch::commands(place, &self.kind, self.offer())? {
            let process = self.start(command.stdout(Stdio::piped()));
            let mut process = process.map_err(|error| format!("{}: {error}", self.name))?;
            if let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) {
                let era = self.eras.client;
                self.connections.push(Connection::pipes(input.into(), output.into(), era));
            }
            self.processes.push(process);
        }
        self.ready = Ready::of(&self.connections).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn start_over_http(&mut self, place: &Place, http: Http) -> Result<(), String> {
        let direct = matches!(self.kind, Kind::Direct);
        let mut ports = Vec::new();
        if direct || http.servers == Servers::Http {
            for server in 0..self.shape.servers {
                let mut command = launch::over_http(place, server, self.offer());
                let process = self.start(command.stdout(Stdio::piped()));
                let mut process = process.map_err(|error| error.to_string())?;
                let output = process.stdout.take();
                if direct { &mut self.processes } else { &mut self.servers }.push(process);
                ports.push(listening::of_child(output.ok_or("no stdout")?)?);
            }
        }
        if direct {
            self.ports = ports;
            return Ok(());
        }
        let said = fs::metadata(&self.log).map_or(0, |log| log.len() as usize);
        let free = listening::free()?;
        let mut command = launch::serve(place, &self.kind, self.offer(), &ports, free)?;
        let log = File::options().create(true).append(true).open(&self.log);
        let process = log.and_then(|log| self.start(command.stdout(log)));
        let mut process = process.map_err(|error| error.to_string())?;
        let port = match self.kind {
            Kind::Peer(_) => listening::at(&mut process, free),
            _ => listening::of_log(&mut process, &self.log, said),
        };
        self.processes.push(process);
        self.ports.push(port?);
        if let Kind::Platform(door) = self.kind {
            self.desk = self.enter_platform(door)?;
        }
        Ok(())
    }

    /// Waits until the platform has all tools, and has it make a key for a caller.
    fn enter_platform(&self, door: Door) -> Result<Desk, String> {
        let port = *self.ports.first().ok_or("no port")?;
        let mut admin = Rest::to(port, launch::ADMIN)?;
        admin.wait_for_tools(self.shape.tools * self.shape.servers)?;
        let path = if door == Door::Mcp { MCP } else { CALL };
        Ok(Desk { path, token: Some(admin.make_key("caller")?) })
    }

    /// Opens one more connection over HTTP; returns its index.
    fn open(&mut self, group: usize) -> Result<usize, String> {
        let mut connection =
            Connection::http(self.ports[group], self.eras.client, self.desk.clone())
                .map_err(|error| format!("no connection: {error}"))?;
        let one_each = matches!(self.route, Route::Http(Http { sessions: Sessions::OneEach, .. }));
        match self.pool.last(group).filter(|_| !one_each) {
            Some(first) => connection.join(&self.connections[first]),
            None => connection.initialize()?,
        }
        self.connections.push(connection);
        Ok(self.connections.len() - 1)
    }

    /// Starts a process that ends with its stdin, or is told to.
    #[expect(
        clippy::disallowed_methods,
        reason = "the driver starts what it measures, without a keeper"
    )]
    fn start(&self, command: &mut Command) -> std::io::Result<Child> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        command.stdin(Stdio::piped()).stderr(log).spawn()
    }
}

/// Closing the pipes asks everybody to leave, a signal those over HTTP; who does not is killed. All are reaped before
/// the next one starts, a middle before its children.
impl Drop for Target {
    fn drop(&mut self) {
        watchdog::rest();
        self.connections.clear();
        for mut processes in [take(&mut self.processes), take(&mut self.servers)] {
            let mains: Vec<i32> =
                processes.iter().map(|process| process.id().cast_signed()).collect();
            let mut all: Vec<i32> =
                mains.iter().flat_map(|&pid| process::descendants(pid)).collect();
            all.extend(&mains);
            processes.iter_mut().for_each(|process| drop(process.stdin.take()));
            if self.is_over_http() {
                mains.iter().for_each(|&pid| process::terminate(pid));
            }
            if !process::wait_gone(&all, Duration::from_secs(10)) {
                eprintln!("bench: {} had to be killed", self.name);
            }
        }
    }
}
