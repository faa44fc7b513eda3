//! The connection to the keeper process, which is started again when it has died.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rustix::io::Errno;
use rustix::process::{Pid, getpid};
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::helper::{KEEPER_NAME, KEEPER_WORD};
use crate::{descriptors, open_files, system};

/// The keeper of the moment, if there is one, and all that have not ended.
#[derive(Debug, Default)]
pub(super) struct Links {
    // The only lock of this crate. A keeper is started under it, which takes milliseconds.
    known: Mutex<Keepers>,
}

#[derive(Debug, Default)]
pub(super) struct Keepers {
    /// To be asked for the next server.
    current: Option<Arc<Link>>,
    /// Every process of ours that is a keeper and not reaped: all other children are strays.
    keepers: Vec<Pid>,
}

#[derive(Debug)]
pub(super) struct Link {
    /// When this closes, the keeper ends, after the last of its trees. Nothing is heard through it.
    socket: StdUnixStream,
    pub(super) keeper: Pid,
}

impl Links {
    /// The keeper, started now if necessary.
    pub(super) fn current(&self) -> io::Result<Arc<Link>> {
        // Held while the keeper is started: two launches at once must not start two, and the hunt
        // for strays must not see one whose number is not noted yet.
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
    pub(super) fn lock(&self) -> MutexGuard<'_, Keepers> {
        self.known.lock()
    }
}

impl Keepers {
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
        let send = |socket: BorrowedFd<'_>| descriptors::send(socket, &[0], &[control.as_fd()]);
        match send(self.socket.as_fd()) {
            Err(Errno::AGAIN) => {}
            sent => return Ok(sent.map(|_one| ())?),
        }
        // Hundreds are asked for at once: the keeper has to take some first.
        let socket = UnixStream::from_std(self.socket.try_clone()?)?;
        socket.async_io(Interest::WRITABLE, || Ok(send(socket.as_fd())?)).await.map(|_one| ())
    }
}

#[expect(clippy::disallowed_methods, reason = "the process that starts all others")]
fn start_keeper() -> io::Result<Link> {
    let (socket, keepers) = StdUnixStream::pair()?;
    socket.set_nonblocking(true)?;
    let child = Command::new(system::OWN_PROGRAM)
        .arg0(KEEPER_NAME)
        .arg(KEEPER_WORD)
        // Tells whose it is, to whoever reads `ps`.
        .arg(getpid().to_string())
        .arg(open_files::for_servers())
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

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn more_than_the_socket_takes_are_handed_over_when_there_is_room() {
        let (socket, keepers) = StdUnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        let link = Link { socket, keeper: getpid() };
        let control = || OwnedFd::from(StdUnixStream::pair().unwrap().0);
        let mut handed_over = 0;
        let received = loop {
            let mut last = pin!(link.hand_over(control()));
            if last.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                handed_over += 1;
                continue;
            }
            let mut received = 0;
            while let Ok((1.., passed)) = descriptors::receive(&keepers, &mut [0]) {
                received += passed.len();
            }
            last.await.unwrap();
            break received;
        };
        assert_eq!(received, handed_over, "what was taken before");
        assert_eq!(descriptors::receive(&keepers, &mut [0]).unwrap().1.len(), 1, "and the last");
    }
}
