//! `RuntimeLink`: finds the runtime of a front, or starts it, and connects to it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Pid;
use trunkline_gateway::{GREETING, LATEST_GREETING};
use trunkline_keeper::keep_descriptors_from_programs;

use crate::shared::directory::{RuntimeDirectory, draining_id};
use crate::shared::hello::{Ask, ClientHello, RuntimeHello, is_elsewhere, refused};
use crate::shared::launch::{LaunchReport, OWN_PROGRAM, launcher, shown_name};
use crate::shared::process::{
    RuntimeProcess, end_runtime, is_absence, is_at_work, is_runtime, is_traced, no_runtime, peer,
};

/// A runtime that needs longer to open its socket is of no use.
const PATIENCE: Duration = LATEST_GREETING;
/// Between two looks at a socket that another runtime is about to open or to give up.
const PAUSE: Duration = Duration::from_millis(5);
/// The answer to a hello is shorter.
const ANSWER: usize = 4096;

/// Which runtime is a client's, and how it is started.
#[derive(Debug)]
pub(super) struct RuntimeLocation {
    pub(super) directory: RuntimeDirectory,
    pub(super) key: [u8; 32],
    /// Keyed hashes of this client's variables.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) id: String,
    pub(super) arguments: Vec<OsString>,
    pub(super) cwd: PathBuf,
    /// What is odd about the config, for people.
    pub(super) warnings: String,
}

pub(super) struct RuntimeLink<'l> {
    pub(super) at: RuntimeLocation,
    pub(super) hello: ClientHello,
    /// Looks again which runtime it is. The config may have been edited.
    pub(super) locate: &'l dyn Fn() -> Result<Option<RuntimeLocation>, String>,
    /// Gateways that this process has started for its client alone, to be collected when they end.
    pub(super) started: Vec<Child>,
}

/// A connection to a runtime that has welcomed us, and what it said right behind.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) stream: UnixStream,
    pub(super) ahead: Vec<u8>,
}

/// One attempt to connect.
enum Attempt {
    Connected(Connected),
    /// There is no runtime, or there was one.
    Absent,
    /// It ends just now, or another one is being started.
    Passing,
    /// It is not this client's any more.
    Elsewhere,
}

impl RuntimeLink<'_> {
    /// Finds the runtime that is this client's now, and connects to it.
    pub(super) fn connect_again(&mut self, last_question: u32) -> Result<Connected, String> {
        self.look_again();
        self.connect(last_question)
    }

    fn look_again(&mut self) {
        // A config that is broken now leads to the runtime that had read it before.
        if let Ok(Some(at)) = (self.locate)() {
            self.at = at;
        }
    }

    /// The runtime with this process, if it hangs: it has greeted nobody for as long as it was waited for.
    pub(super) fn hung(&self, pid: Pid) -> Option<RuntimeProcess> {
        let number = u32::try_from(pid.as_raw_nonzero().get()).ok()?;
        let directory = &self.at.directory;
        // It may have been told to end, and hang in doing so.
        for id in [self.at.id.clone(), draining_id(&self.at.id, number)] {
            let Ok(stream) = directory.connect(&id) else { continue };
            if peer(&stream) != Ok(pid) {
                continue;
            }
            return match greeted(stream, pid, &RuntimeHello::Ask(Ask::Status)) {
                Err(error) if is_silence(&error) && !is_traced(pid) => {
                    let process = RuntimeProcess::of(directory, &id).ok().flatten();
                    process.filter(|process| process.pid == pid)
                }
                _ => None,
            };
        }
        None
    }

    /// The process that listens where this client's runtime is to be.
    pub(super) fn listener(&self) -> Option<Pid> {
        peer(&self.at.directory.connect(&self.at.id).ok()?).ok()
    }

    /// Waits for the runtime, bounded. The error says why there is none.
    pub(super) fn connect(&mut self, last_question: u32) -> Result<Connected, String> {
        self.hello.last_question = last_question;
        self.started.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.attempt()? {
                Attempt::Connected(connected) => return Ok(connected),
                Attempt::Absent => self.start()?,
                Attempt::Passing => {}
                Attempt::Elsewhere => self.look_again(),
            }
            if Instant::now() > deadline {
                let path = self.at.directory.file(&self.at.id, "sock");
                return Err(format!(
                    "no runtime answers at {} within {} s",
                    path.display(),
                    PATIENCE.as_secs()
                ));
            }
            // Blocks only this client, which waits for the runtime in any case.
            std::thread::park_timeout(PAUSE);
        }
    }

    fn attempt(&self) -> Result<Attempt, String> {
        let stream = match self.at.directory.connect(&self.at.id) {
            Ok(stream) => stream,
            Err(error) if is_absence(&error) => return Ok(Attempt::Absent),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionReset => {
                    return Ok(Attempt::Passing);
                }
                _ => {
                    let path = self.at.directory.file(&self.at.id, "sock");
                    return Err(format!("{} cannot be connected to: {error}", path.display()));
                }
            },
        };
        let pid = peer(&stream)?;
        // The key may be another one than at the last runtime.
        let variables = self.at.variables.clone();
        let hello = RuntimeHello::Client(ClientHello { variables, ..self.hello.clone() });
        match greeted(stream, pid, &hello) {
            Ok((_, line, _)) if is_elsewhere(&line) => Ok(Attempt::Elsewhere),
            Ok((stream, line, ahead)) => match refused(&line) {
                Some(why) => Err(format!("the shared runtime refuses this client: {why}")),
                None => Ok(Attempt::Connected(Connected { stream, ahead })),
            },
            Err(error) if is_silence(&error) && !is_runtime(pid, &self.at.id) => {
                let path = self.at.directory.file(&self.at.id, "sock");
                Err(format!("{}: {}", path.display(), no_runtime(pid)))
            }
            Err(error) if is_silence(&error) => Err(format!(
                "the shared runtime hangs (pid {pid} has not answered for {} s); `trunkline stop {pid}` ends it",
                GREETING.as_secs()
            )),
            // It went while we spoke.
            Err(_) => Ok(Attempt::Passing),
        }
    }

    /// Starts a runtime and waits until it listens, or says that another one does.
    #[expect(
        clippy::disallowed_methods,
        reason = "a runtime is no server: it outlives this process, which has no keeper"
    )]
    fn start(&mut self) -> Result<(), String> {
        let told = |error: io::Error| format!("the shared runtime cannot be started: {error}");
        // One front starts it; the others that have lost the same runtime wait for its socket.
        let starting = self.at.directory.lock_start(&self.at.id, &self.at.key).map_err(told)?;
        let Some(_starting) = starting else { return Ok(()) };
        // Whoever waits for the end of a pipe that our client has left open waits for the client, not for a
        // runtime that outlives it.
        keep_descriptors_from_programs();
        let mut command = launcher(&self.at.arguments);
        command.current_dir(&self.at.cwd);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(told)?;
        let mut report = LaunchReport::default();
        let has_ended = child.stdout.take().is_some_and(|stdout| listen_to(stdout, &mut report));
        if !has_ended {
            // It hangs. An error: it has ended just now.
            drop(child.kill());
            drop(child.wait());
            if let Some(pid) = report.pid() {
                end_runtime(pid, &self.at.id);
            }
            let seconds = PATIENCE.as_secs();
            return Err(format!("the shared runtime was not ready within {seconds} s"));
        }
        let mut why = String::new();
        if let Some(mut stderr) = child.stderr.take().filter(|_| !report.is_ready()) {
            // Not text: what can be read of it is told.
            drop(stderr.read_to_string(&mut why));
        }
        child.wait().map_err(told)?;
        match report.is_ready() || report.is_taken() {
            true => Ok(()),
            false => Err(format!("the shared runtime has ended at its start: {}", why.trim())),
        }
    }
}

impl RuntimeLink<'_> {
    /// Starts a gateway for this client alone, which ends with this process. The error says why not; `None`: the config
    /// cannot be used.
    #[expect(
        clippy::disallowed_methods,
        reason = "it is no server: it has a keeper for those, and ends when its standard input does"
    )]
    pub(super) fn start_alone(&mut self) -> Result<Connected, Option<String>> {
        if matches!((self.locate)(), Ok(None)) {
            return Err(None);
        }
        let told = |error: io::Error| Some(format!("nor can servers be started: {error}"));
        let (stream, its_own) = UnixStream::pair().map_err(told)?;
        let mut command = Command::new(OWN_PROGRAM);
        command.arg0(shown_name()).args(["runtime", "--id", &self.at.id]);
        command.args(std::env::args_os().skip(1)).arg("--no-shared");
        command.stdin(OwnedFd::from(its_own.try_clone().map_err(told)?));
        command.stdout(OwnedFd::from(its_own));
        self.started.push(command.spawn().map_err(told)?);
        Ok(Connected { stream, ahead: Vec::new() })
    }
}

/// Takes what a runtime and its launcher say until the one is ready and the other has ended. `false`: they have not for
/// long.
fn listen_to(mut stdout: ChildStdout, report: &mut LaunchReport) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else { return false };
        match poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&left)) {
            Ok(0) => return false,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return false,
        }
        let mut piece = [0; 64];
        match stdout.read(&mut piece) {
            Ok(0) | Err(_) => return true,
            Ok(count) => report.add(piece.get(..count).unwrap_or_default()),
        }
    }
}

/// Says hello. The stream, the line of the answer, and what came behind it. An error that [`is_silence`]: the
/// runtime, which is this process, hangs.
pub(crate) fn greeted(
    mut stream: UnixStream,
    pid: Pid,
    hello: &RuntimeHello,
) -> io::Result<(UnixStream, Vec<u8>, Vec<u8>)> {
    let latest = Instant::now() + LATEST_GREETING;
    stream.set_read_timeout(Some(GREETING))?;
    stream.set_write_timeout(Some(GREETING))?;
    stream.write_all(hello.line().as_bytes())?;
    let mut heard = Vec::new();
    loop {
        if let Some(end) = heard.iter().position(|byte| *byte == b'\n') {
            let ahead = heard.split_off(end + 1);
            return Ok((stream, heard, ahead));
        }
        let mut piece = [0; ANSWER];
        match stream.read(&mut piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => heard.extend_from_slice(piece.get(..count).unwrap_or_default()),
            // Busy, like the machine perhaps: it is waited for.
            Err(error) if is_silence(&error) && Instant::now() < latest && is_at_work(pid) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Did the other end say nothing for as long as it was waited for?
pub(crate) fn is_silence(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}
