//! The loop of a front: one thread that waits for its client and its runtime, and moves what they say.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use trunkline_gateway::{RUNTIME_SIGNALLED, own_stdin, own_stdout};

use super::link::{Connected, RuntimeLink};
use super::relay::{Relay, RuntimeEnding};
use super::watch::SilenceWatch;
use crate::shared::directory::AttachedLock;
use crate::shared::process::{RuntimeProcess, peer};
use crate::{FAILED, OK, console, logging, memory};

/// A runtime that lived so long was well.
const LONG_LIFE: Duration = Duration::from_secs(10);
/// After so many in a row that were not, the next is started when the client needs it.
const MOST_CRASHES: u32 = 3;

/// After so many in a row that were lost before they said anything, the client gets servers of its own, and if those
/// are lost likewise, the front ends.
const MOST_MUTE: u32 = 5;

/// A front that has done nothing for so long gives memory back, once.
const IDLE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Reads of so many bytes are parts of large messages, which leave memory behind.
const LARGE_READ: usize = 32 * 1024;

/// The client's two streams and what is connected to them.
struct Front<'l> {
    relay: Relay,
    link: RuntimeLink<'l>,
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    /// `None`: the runtime has ended in order, and the client has not needed another one since.
    runtime: Option<UnixStream>,
    /// Held for as long as this front starts another runtime at once if this one is lost.
    attached: Option<AttachedLock>,
    connected_at: Instant,
    /// Nothing was done since memory was given back that takes much.
    is_small: bool,
    /// Runtimes in a row that have not lived long.
    crashes: u32,
    /// Runtimes in a row that have said nothing to the client.
    mute: u32,
    /// What was last passed on to standard error.
    last_notices: Vec<u8>,
    watch: Option<SilenceWatch>,
    /// The runtime was told that the client writes no more.
    is_half_closed: bool,
    /// The runtime ends and takes no more: the next one gets what waits.
    is_refused: bool,
}

/// How a front ends.
enum FrontEnd {
    Served,
    /// Nobody reads the answers.
    ClientGone(Option<Errno>),
    NoRuntime(String),
}

/// Serves the client until it goes.
pub(super) fn run(link: RuntimeLink<'_>, first: Connected, limit: usize) -> io::Result<u8> {
    let mut front = Front {
        relay: Relay::new(limit),
        link,
        stdin: Some(own_stdin()?),
        stdout: own_stdout()?,
        runtime: None,
        attached: None,
        connected_at: Instant::now(),
        is_small: false,
        crashes: 0,
        mute: 0,
        last_notices: Vec::new(),
        watch: SilenceWatch::new(),
        is_half_closed: false,
        is_refused: false,
    };
    front.adopt(first)?;
    front.attach();
    let end = front.serve();
    Ok(match end {
        Ok(FrontEnd::Served) | Ok(FrontEnd::ClientGone(None)) => OK,
        Ok(FrontEnd::ClientGone(Some(error))) => {
            let error = io::Error::from(error);
            let what = "answers could not be written to standard output";
            console::problem(&format!("error: {what}: {error}\n"), FAILED)
        }
        Ok(FrontEnd::NoRuntime(why)) => console::problem(&format!("error: {why}\n"), FAILED),
        Err(error) => return Err(error),
    })
}

impl Front<'_> {
    fn serve(&mut self) -> io::Result<FrontEnd> {
        loop {
            self.flush_notices();
            if let Err(error) = self.write_client() {
                return Ok(FrontEnd::ClientGone(Some(error).filter(|error| *error != Errno::PIPE)));
            }
            self.write_runtime();
            if self.is_done() {
                return Ok(FrontEnd::Served);
            }
            if self.runtime.is_none() && self.is_runtime_needed() {
                if let Err(why) = self.find_runtime() {
                    // In one line: a client may show it in one.
                    let in_one = why.split_whitespace().collect::<Vec<_>>().join(" ");
                    self.relay.give_up(Some(&in_one));
                    self.write_last_answers();
                    return Ok(FrontEnd::NoRuntime(why));
                }
                continue;
            }
            if self.runtime.is_some() && self.relay.has_open_requests() {
                self.watch.iter_mut().for_each(SilenceWatch::begin);
            }
            let ready = self.wait()?;
            if ready.client_gone {
                return Ok(FrontEnd::ClientGone(None));
            }
            if ready.is_idle {
                memory::shrink();
                self.is_small = true;
            }
            if ready.client {
                self.read_client()?;
            }
            if ready.runtime {
                self.read_runtime();
            } else if ready.watch {
                self.look_after_runtime();
            }
        }
    }

    /// Nothing was heard for long, and the client waits. A runtime that answers others is well, and the call takes
    /// its time. One that hangs would keep all its clients for ever: it is ended, which is then noticed like any loss.
    fn look_after_runtime(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        let (Some(runtime), true) = (&self.runtime, watch.take_silence()) else { return };
        if !self.relay.has_open_requests() {
            return;
        }
        let hung = peer(runtime).ok().and_then(|pid| self.link.hung(pid));
        let was_suspect = watch.note_hung(hung.is_some());
        // Twice in a row: the machine may have been busy.
        if let Some(process) = hung.filter(|_| was_suspect) {
            end_hung(&process);
        }
    }

    fn is_runtime_needed(&self) -> bool {
        !self.relay.to_runtime.is_empty() || self.relay.has_open_requests()
    }

    /// Nothing more will come of either side, and the client has all of it.
    fn is_done(&self) -> bool {
        self.stdin.is_none()
            && self.runtime.is_none()
            && self.relay.to_client.is_empty()
            && (self.is_half_closed || !self.is_runtime_needed())
    }

    /// Waits until one of the sides can be read or written.
    fn wait(&self) -> io::Result<Ready> {
        let (relay, none) = (&self.relay, PollFlags::empty());
        // Not read while the other side is behind: memory stays bounded, and nothing is lost.
        let read_client = !relay.to_runtime.is_crowded();
        let mut fds = Vec::with_capacity(4);
        let wants_out = |is_wanted: bool| if is_wanted { PollFlags::OUT } else { none };
        fds.push(PollFd::new(&self.stdout, wants_out(!relay.to_client.is_empty())));
        // Left out if nothing is wanted of it: its end would be told over and over.
        let read_runtime = !relay.to_client.is_crowded();
        let writes_runtime = !relay.to_runtime.is_empty() && !self.is_refused;
        let is_watched = read_runtime || writes_runtime;
        let runtime = self.runtime.as_ref().filter(|_| is_watched);
        if let Some(runtime) = runtime {
            let read = if read_runtime { PollFlags::IN } else { none };
            fds.push(PollFd::new(runtime, read | wants_out(writes_runtime)));
        }
        if let Some(stdin) = self.stdin.as_ref().filter(|_| read_client) {
            fds.push(PollFd::new(stdin, PollFlags::IN));
        }
        if let Some(watch) = &self.watch {
            fds.push(PollFd::new(watch, PollFlags::IN));
        }
        let idle = (!self.is_small).then_some(&IDLE);
        let is_idle = match poll(&mut fds, idle) {
            Ok(ready) => ready == 0,
            Err(Errno::INTR) => false,
            Err(error) => return Err(error.into()),
        };
        let mut events = fds.iter().map(PollFd::revents);
        let stdout = events.next().unwrap_or(none);
        let runtime = runtime.and_then(|_| events.next()).unwrap_or(none);
        let client = self.stdin.as_ref().filter(|_| read_client);
        let client = client.and_then(|_| events.next()).unwrap_or(none);
        let watch = events.next().unwrap_or(none);
        let readable = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
        Ok(Ready {
            // The reading end of a pipe is closed (ERR), or the other end of a socket (HUP): told also if
            // nothing is to be written.
            client_gone: stdout.intersects(PollFlags::ERR | PollFlags::HUP),
            client: client.intersects(readable),
            runtime: runtime.intersects(readable) && read_runtime,
            watch: watch.intersects(PollFlags::IN),
            is_idle,
        })
    }

    fn read_client(&mut self) -> io::Result<()> {
        let Some(stdin) = &self.stdin else { return Ok(()) };
        match read(stdin.as_fd(), self.relay.client_room()) {
            Ok(0) => {
                self.relay.client_ended();
                self.stdin = None;
            }
            Ok(count) => {
                self.is_small &= count < LARGE_READ;
                self.relay.take_from_client();
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            // A terminal that was closed.
            Err(Errno::IO) => {
                self.relay.client_ended();
                self.stdin = None;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn read_runtime(&mut self) {
        let Some(runtime) = &self.runtime else { return };
        match read(runtime.as_fd(), self.relay.runtime_room()) {
            Ok(count @ 1..) => {
                self.is_small &= count < LARGE_READ;
                self.watch.iter_mut().for_each(SilenceWatch::heard);
                self.relay.take_from_runtime();
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(0) | Err(_) => self.lose_runtime(),
        }
    }

    fn write_runtime(&mut self) {
        let Some(runtime) = self.runtime.as_ref().filter(|_| !self.is_refused) else { return };
        while !self.relay.to_runtime.is_empty() {
            match rustix::io::write(runtime, self.relay.to_runtime.rest()) {
                Ok(count) => self.relay.to_runtime.wrote(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // It takes no more, or has gone: reading tells when, after all that it still sends.
                Err(_) => return self.is_refused = true,
            }
        }
        if self.stdin.is_none() && !self.is_half_closed {
            self.is_half_closed = true;
            // An error: it has gone, which reading tells.
            drop(runtime.shutdown(std::net::Shutdown::Write));
        }
    }

    fn lose_runtime(&mut self) {
        self.runtime = None;
        if self.is_half_closed {
            // It has answered everything and closed, as it should; or else nothing more will be answered.
            self.relay.give_up(None);
            return;
        }
        let farewell = self.relay.farewell();
        let is_mute = farewell.is_none() && !self.relay.has_spoken;
        self.mute = if is_mute { self.mute + 1 } else { 0 };
        self.relay.runtime_lost();
        if self.connected_at.elapsed() > LONG_LIFE {
            self.crashes = 0;
        }
        self.crashes += u32::from(farewell.is_none());
        // An idle client hears of changes again as soon as it can; but one that only waits must not start
        // a runtime that cannot live over and over.
        let is_wanted_at_once = match farewell {
            Some(RuntimeEnding::WhenNeeded) => false,
            Some(RuntimeEnding::Again) => true,
            None => self.crashes < MOST_CRASHES,
        };
        let is_found = is_wanted_at_once && self.stdin.is_some() && self.reconnect().is_ok();
        // An error is told when the client needs a runtime and none is found then, either.
        if !is_found {
            self.attached = None;
        }
    }

    /// The client needs a runtime. The error: it can have none any more.
    fn find_runtime(&mut self) -> Result<(), String> {
        let found = match self.mute {
            0..MOST_MUTE => self.reconnect(),
            mute => Err(format!(
                "the shared runtime has closed {mute} connections in a row without a word (`trunkline stop` ends it)"
            )),
        };
        found.or_else(|why| match self.mute > MOST_MUTE {
            true => Err(why),
            false => self.go_on_alone(&why),
        })
    }

    fn reconnect(&mut self) -> Result<(), String> {
        let last_question = self.relay.last_question();
        let found = self.link.connect_again(last_question).or_else(|why| {
            // It has not greeted us; if it greets nobody, another one has to be started.
            let hung = self.link.listener().and_then(|pid| self.link.hung(pid)).ok_or(why)?;
            end_hung(&hung);
            self.link.connect_again(last_question)
        })?;
        self.relay.runtime_found();
        self.adopt(found).map_err(|error| format!("the shared runtime cannot be used: {error}"))?;
        self.attach();
        Ok(())
    }

    /// Lets commands know that another runtime is started if this one is lost.
    fn attach(&mut self) {
        // The one before is given up behind: somebody has it all the time.
        self.attached = self.link.at.directory.lock_attached(&self.link.at.id);
    }

    /// The client needs servers and no runtime can be had: it gets its own.
    fn go_on_alone(&mut self, why: &str) -> Result<(), String> {
        let found = self.link.start_alone().map_err(|also| match also {
            Some(also) => format!("{why}; {also}"),
            None => why.to_owned(),
        })?;
        let said = format!("servers are started for this client alone: {why}");
        console::problem(&format!("warning: {said}\n"), OK);
        self.relay.runtime_found();
        self.adopt(found).map_err(|error| format!("{why}; {error}"))
    }

    fn adopt(&mut self, connected: Connected) -> io::Result<()> {
        let Connected { stream, ahead } = connected;
        stream.set_nonblocking(true)?;
        self.connected_at = Instant::now();
        self.is_refused = false;
        self.watch.iter_mut().for_each(SilenceWatch::heard);
        self.is_small = false; // finding it took memory
        self.runtime = Some(stream);
        self.relay.runtime_room().extend_from_slice(&ahead);
        self.relay.take_from_runtime();
        Ok(())
    }

    fn write_client(&mut self) -> Result<(), Errno> {
        while !self.relay.to_client.is_empty() {
            match rustix::io::write(&self.stdout, self.relay.to_client.rest()) {
                Ok(count) => self.relay.to_client.wrote(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes what is left, waiting for a client that reads slowly, but not for ever.
    fn write_last_answers(&mut self) {
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        while self.write_client().is_ok() && !self.relay.to_client.is_empty() {
            let mut fds = [PollFd::new(&self.stdout, PollFlags::OUT)];
            if !matches!(poll(&mut fds, Some(&second)), Ok(1..)) {
                return;
            }
        }
    }

    fn flush_notices(&mut self) {
        let notices = self.relay.take_notices();
        // What each of several runtimes says that are lost one after the other is said once.
        if notices.is_empty() || (self.mute > 0 && notices == self.last_notices) {
            return;
        }
        logging::pass_to_stderr(&notices);
        self.last_notices = notices;
    }
}

/// Ends a runtime that hangs. Its keeper ends its servers.
fn end_hung(process: &RuntimeProcess) {
    let said = match process.signal(Signal::KILL) {
        Ok(()) => format!(
            "the shared runtime (pid {}) hung and was ended; another one is started",
            process.pid
        ),
        Err(why) => format!("the shared runtime hangs: {why}"),
    };
    console::problem(&format!("warning: {said}\n"), OK);
    // Until then its socket cannot be another's.
    process.ends_within(RUNTIME_SIGNALLED);
}

struct Ready {
    /// Nothing has happened for a while.
    is_idle: bool,
    /// The watch has rung.
    watch: bool,
    client: bool,
    runtime: bool,
    client_gone: bool,
}

fn read(fd: BorrowedFd<'_>, room: &mut Vec<u8>) -> Result<usize, Errno> {
    rustix::io::read(fd, spare_capacity(room))
}
