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

/// The keeper of the moment, if there is one, and all that have not ended.
#[derive(Debug, Default)]
pub(super) struct Links {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    /// To be asked for the next server.
    current: Option<Arc<Link>>,
    /// Every process of ours that is a keeper and not reaped: all other children are strays.
    keepers: Vec<Pid>,
}

#[derive(Debug)]
pub(super) struct Link {
    /// When this closes, the keeper ends, after the last of its trees.
    socket: UnixStream,
    pub(super) keeper: Pid,
}

impl Links {
    /// The keeper, started now if necessary.
    pub(super) fn current(&self) -> io::Result<Arc<Link>> {
        let mut known = self.known.lock();
        if let Some(link) = &known.current {
            return Ok(Arc::clone(link));
        }
        let link = Arc::new(start_keeper()?);
        known.keepers.push(link.keeper);
        known.current = Some(Arc::clone(&link));
        Ok(link)
    }

    /// The next launch shall not use this keeper.
    pub(super) fn forget(&self, link: &Arc<Link>) {
        self.known.lock().current.take_if(|current| Arc::ptr_eq(current, link));
    }

    /// No keeper is started while the guard is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }
}

impl Known {
    pub(super) fn is_keeper(&self, pid: Pid) -> bool {
        self.keepers.contains(&pid)
    }

    /// A child has ended and was reaped.
    pub(super) fn reaped(&mut self, pid: Pid) {
        self.keepers.retain(|&keeper| keeper != pid);
        self.current.take_if(|link| link.keeper == pid);
    }
}

impl Link {
    /// Asks the keeper for a tree: what to start will come through the control socket.
    pub(super) async fn hand_over(&self, control: OwnedFd) -> io::Result<()> {
        let send = || Ok(descriptors::send(&self.socket, &[0], &[control.as_fd()])?);
        self.socket.async_io(Interest::WRITABLE, send).await.map(|_one| ())
    }
}

#[expect(clippy::disallowed_methods, reason = "the process that starts all others")]
fn start_keeper() -> io::Result<Link> {
    let (ours, keepers) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let socket = UnixStream::from_std(ours)?;
    let child = Command::new(system::OWN_PROGRAM)
        .arg0(KEEPER_NAME)
        .arg(KEEPER_WORD)
        // Tells whose it is, to whoever reads `ps`.
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
