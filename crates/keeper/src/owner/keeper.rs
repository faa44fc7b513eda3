//! The handle through which servers are started.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use super::attempt::{Attempt, attempt};
use super::link::Links;
use super::strays;
use super::tree::Tree;
use crate::error::LaunchError;
use crate::launch::Launch;
use crate::{limits, system};

/// Starts servers. Running servers do not depend on this handle: each lives as long as its [`Tree`].
#[derive(Clone, Debug)]
pub struct Keeper {
    links: Arc<Links>,
}

/// A running server. The descriptors are our ends of its pipes: non-blocking, and inherited by no
/// other process.
#[derive(Debug)]
pub struct Custody {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// The server's main process.
    pub pid: u32,
    pub tree: Tree,
}

impl Keeper {
    /// Makes this process the one that adopts what a lost keeper leaves, and starts a keeper.
    /// Needs the context of a tokio runtime. From here on, this process must not start or wait for
    /// other processes: direct children that are not keepers are taken for strays and killed.
    pub fn start() -> io::Result<Keeper> {
        system::adopt_orphans()?;
        let links = Arc::new(Links::default());
        links.current()?;
        Ok(Keeper { links })
    }

    /// Reaps and kills strays. Its owner runs it as long as there are trees; it ends only when
    /// dropped, or with an error if the runtime has no signal driver.
    pub async fn reap(self) -> io::Result<()> {
        let mut child_ended = signal(SignalKind::child())?;
        loop {
            strays::clear(&self.links).await;
            if child_ended.recv().await.is_none() {
                return Ok(());
            }
        }
    }

    /// Starts a server. Dropping the future cancels the launch: whatever was started is killed.
    pub async fn spawn(&self, launch: &Launch) -> Result<Custody, LaunchError> {
        let parcel = launch.pack()?;
        let launched = timeout(limits::LAUNCH, self.try_repeatedly(launch, &parcel)).await;
        launched.unwrap_or_else(|_| {
            let (command, seconds) = (launch.command.clone(), limits::LAUNCH.as_secs());
            Err(LaunchError::TimedOut { command, seconds })
        })
    }

    async fn try_repeatedly(&self, launch: &Launch, parcel: &[u8]) -> Result<Custody, LaunchError> {
        for _ in 0..limits::LAUNCH_ATTEMPTS {
            match attempt(&self.links, launch, parcel).await? {
                Attempt::Running(custody) => return Ok(*custody),
                Attempt::KeeperVanished => {}
            }
        }
        let source = io::Error::other("it was killed each time a server was to be started");
        Err(LaunchError::KeeperUnavailable { source })
    }
}
