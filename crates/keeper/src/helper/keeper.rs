//! The keeper: forks a shim for each control socket that the owner hands over, and reaps it.
//!
//! It never sees what is to be started: the shim reads that from its control socket. So neither
//! the keeper nor the other shims hold a server's secrets in memory.

use std::io::{self, Write};
use std::iter;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{WaitOptions, wait};
use rustix::stdio::stdin;

use super::fork::{Fork, fork};
use crate::message::{Report, Step};
use crate::{descriptors, system};

/// What this process is when `run` returns.
pub(super) enum Role {
    /// The keeper, at its end.
    Keeper,
    /// A shim, at its beginning. Nothing of the keeper's is open in it but stdin.
    Shim(UnixStream),
}

/// Serves the owner, at the other end of stdin, until it closes that end.
///
/// The keeper also ends once a shim was killed: its orphans are the owner's to kill, and the end of
/// the keeper is what tells it. The other shims live on, and the next launch starts a new keeper.
pub(super) fn run() -> io::Result<Role> {
    let mut shims = Shims { watched: Vec::new(), lost: false };
    loop {
        let asked = shims.wait_for_request()?;
        shims.reap();
        if asked {
            let (count, mut passed) = descriptors::receive(stdin(), &mut [0])?;
            if count == 0 {
                return Ok(Role::Keeper);
            }
            if let Some(control) = passed.pop().map(UnixStream::from)
                && let Some(control) = shims.add(control)
            {
                return Ok(Role::Shim(control));
            }
        } else if shims.lost {
            return Ok(Role::Keeper);
        }
    }
}

struct Shims {
    watched: Vec<OwnedFd>,
    lost: bool,
}

impl Shims {
    /// Blocks until the owner asks for something or a shim ends. True: the owner asks.
    fn wait_for_request(&mut self) -> io::Result<bool> {
        // After a loss, only what is already asked for is still served.
        let timeout = self.lost.then(Timespec::default);
        let request = PollFd::from_borrowed_fd(stdin(), PollFlags::IN);
        let ends = self.watched.iter().map(|shim| PollFd::new(shim, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = iter::once(request).chain(ends).collect();
        retry_on_intr(|| poll(&mut fds, timeout.as_ref()))?;

        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        let asked = ready.next().unwrap_or(false);
        self.watched.retain(|_| !ready.next().unwrap_or(false));
        Ok(asked)
    }

    fn reap(&mut self) {
        while let Ok(Some((_, status))) = retry_on_intr(|| wait(WaitOptions::NOHANG)) {
            self.lost |= status.exit_status() != Some(0);
        }
    }

    /// `Some`: this process is the new shim.
    fn add(&mut self, mut control: UnixStream) -> Option<UnixStream> {
        match fork() {
            Ok(Fork::Child) => return Some(control),
            // Without a descriptor to spare, the shim is reaped when something else happens.
            Ok(Fork::Parent(shim)) => self.watched.extend(system::watch_end(shim)),
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::ENOTRECOVERABLE);
                // An owner that does not wait for the answer any more needs none.
                let _ = control.write_all(&Report::Failed { step: Step::Fork, errno }.pack());
            }
        }
        None
    }
}
