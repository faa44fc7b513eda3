//! The connection to the keeper process, which is started again when it has died.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, getpid};
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::helper::{KEEPER_NAME, KEEPER_WORD};
use crate::{descriptors, system};

/// The keeper of the moment, if there is one.
#[derive(Debug, Default)]
pub(super) struct Links {
    current: Mutex<Option<Arc<Link>>>,
}

#[derive(Debug)]
pub(super) struct Link {
    /// When this closes, the keeper ends.
    socket: UnixStream,
    pub(super) keeper: Pid,
}

impl Links {
    /// The keeper, started now if necessary.
    pub(super) fn current(&self) -> io::Result<Arc<Link>> {
        let mut current = self.current.lock();
        if let Some(link) = &*current {
            return Ok(Arc::clone(link));
        }
        let link = Arc::new(start_keeper()?);
        *current = Some(Arc::clone(&link));
        Ok(link)
    }

    /// The next launch shall not use this keeper.
    pub(super) fn forget(&self, link: &Arc<Link>) {
        self.current.lock().take_if(|current| Arc::ptr_eq(current, link));
    }

    /// No keeper is started while the guard is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Arc<Link>>> {
        self.current.lock()
    }
}

impl Link {
    /// Asks the keeper for a shim at the other end of a control socket.
    pub(super) async fn hand_over(&self, control: OwnedFd) -> io::Result<()> {
        let send = || Ok(descriptors::send(&self.socket, &[0], &[control.as_fd()])?);
        self.socket.async_io(Interest::WRITABLE, send).await.map(|_one| ())
    }
}

/// What makes a process recognizable as one of our helpers: the keeper is started with this command
/// line, and shims, being forks, show the same. Our number tells them from the helpers of a
/// Trunkline that runs as a server of this one.
pub(super) fn helper_command_line() -> Vec<u8> {
    format!("{KEEPER_NAME}\0{KEEPER_WORD}\0{}\0", getpid()).into_bytes()
}

#[expect(clippy::disallowed_methods, reason = "the process that starts all others")]
fn start_keeper() -> io::Result<Link> {
    let (ours, keepers) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let socket = UnixStream::from_std(ours)?;
    let child = Command::new(system::OWN_PROGRAM)
        .arg0(KEEPER_NAME)
        .arg(KEEPER_WORD)
        .arg(getpid().to_string())
        .stdin(OwnedFd::from(keepers))
        // It must not hold the pipes of our client open.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A SIGKILL to our group, or Ctrl-C, must not reach it.
        .process_group(0)
        .spawn()?;
    let keeper = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let keeper = keeper.ok_or_else(|| io::Error::other("a process number that is none"))?;
    Ok(Link { socket, keeper })
}
