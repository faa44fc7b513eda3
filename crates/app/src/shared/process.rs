//! `RuntimeProcess`: the process behind a runtime's socket, to be waited for and ended.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

use super::directory::{RuntimeDirectory, own_id};

#[derive(Debug)]
pub(crate) struct RuntimeProcess {
    pub(crate) pid: Pid,
    /// Means this process also when its number is another's.
    handle: OwnedFd,
}

impl RuntimeProcess {
    /// The process that listens at the socket of this runtime: the kernel says which. `None`: it has gone.
    pub(crate) fn of(directory: &RuntimeDirectory, id: &str) -> Result<Option<Self>, String> {
        let listening = || match directory.connect(id) {
            Ok(stream) => peer(&stream).map(Some),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(format!("{}: {error}", directory.file(id, "sock").display())),
        };
        let Some(pid) = listening()? else { return Ok(None) };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(Errno::SRCH) => return Ok(None),
            Err(error) => return Err(format!("process {pid} cannot be watched: {error}")),
        };
        // Whatever else listens there is not ours to end.
        if !is_runtime(pid, id) {
            return Err(format!("{}: {}", directory.file(id, "sock").display(), no_runtime(pid)));
        }
        // The number was the listener's, and could be another process's by now; not if it still listens.
        Ok(listening()?.filter(|again| *again == pid).map(|pid| Self { pid, handle }))
    }

    /// Sends a signal; one that has gone needs none.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), String> {
        match pidfd_send_signal(&self.handle, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(format!("process {} cannot be ended: {error}", self.pid)),
        }
    }

    /// Has it ended within this time?
    pub(crate) fn ends_within(&self, time: Duration) -> bool {
        let Ok(time) = Timespec::try_from(time) else { return false };
        let ready = rustix::io::retry_on_intr(|| {
            poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&time))
        });
        matches!(ready, Ok(1..))
    }
}

/// Ends a process that was started as this runtime and does not come so far as to listen. Is it another one by now, it
/// stays.
pub(crate) fn end_runtime(pid: Pid, id: &str) {
    if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
        && is_runtime(pid, id)
    {
        // An error: it has ended just now.
        let _ = pidfd_send_signal(&handle, Signal::KILL);
    }
}

/// Is this the process of that number?
pub(crate) fn is_pid(pid: Pid, number: u64) -> bool {
    u64::try_from(pid.as_raw_nonzero().get()) == Ok(number)
}

/// Is there no runtime at all?
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// The process at the other end, which must be of this user.
pub(crate) fn peer(stream: &UnixStream) -> Result<Pid, String> {
    let peer = rustix::net::sockopt::socket_peercred(stream)
        .map_err(|error| format!("it cannot be told who owns the runtime's socket: {error}"))?;
    match peer.uid == geteuid() {
        true => Ok(peer.pid),
        false => {
            Err(format!("the runtime's socket belongs to another user (uid {})", peer.uid.as_raw()))
        }
    }
}

/// Does the first thread of this process run, or wait for a processor or a disk? One that does is not stuck, only
/// late.
pub(crate) fn is_at_work(pid: Pid) -> bool {
    matches!(state(pid), Some('R' | 'D'))
}

/// Does a debugger hold it? Then somebody wants it to be silent.
pub(crate) fn is_traced(pid: Pid) -> bool {
    state(pid) == Some('t')
}

fn state(pid: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind its name, which may contain anything (proc_pid_stat(5)).
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// The config that a runtime was started with, by its command line: one that hangs cannot be asked.
pub(crate) fn config_of(pid: Pid) -> Option<String> {
    let words = command_line(pid);
    // The last counts; its front has added it.
    let at = words.iter().rposition(|word| word == b"--config")?;
    words.get(at + 1).map(|path| String::from_utf8_lossy(path).into_owned())
}

/// Was this process started as the runtime of this id, or of the one that it had before it was told to end?
pub(crate) fn is_runtime(pid: Pid, id: &str) -> bool {
    let words = command_line(pid);
    let id = own_id(id).as_bytes();
    matches!(words.as_slice(), [_, word, flag, own, ..] if word == b"runtime" && flag == b"--id" && own == id)
}

/// What is said of another process that listens where a runtime should.
pub(crate) fn no_runtime(pid: Pid) -> String {
    format!("process {pid} listens there and is no runtime of Trunkline; remove the file")
}

fn command_line(pid: Pid) -> Vec<Vec<u8>> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}
