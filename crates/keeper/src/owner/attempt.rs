//! One attempt to have a server started by the keeper.

use std::io::{self, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::ioctl_fionbio;

use super::control::Control;
use super::keeper::Custody;
use super::link::Links;
use super::strays;
use super::tree::Tree;
use crate::error::LaunchError;
use crate::launch::Launch;
use crate::message::KeeperReport;

pub(super) enum Attempt {
    Running(Box<Custody>),
    /// It was killed, or was about to end, before the command was executed: nothing has run.
    KeeperVanished,
}

pub(super) async fn attempt(
    links: &Arc<Links>,
    launch: &Launch,
    parcel: &[u8],
) -> Result<Attempt, LaunchError> {
    let keeper_fails = |source| LaunchError::KeeperUnavailable { source };
    let system_fails = |source| LaunchError::System { command: launch.command.clone(), source };

    let pipes = Pipes::new().map_err(system_fails)?;
    let (mut control, keepers_end) = Control::pair().map_err(system_fails)?;
    let link = links.current().map_err(keeper_fails)?;
    let stdio = pipes.servers.each_ref().map(AsFd::as_fd);
    let sent = control.begin_parcel(parcel, stdio).map_err(system_fails)?;
    drop(pipes.servers);
    match link.hand_over(keepers_end).await {
        Ok(()) => {
            // Should this fail, the keeper has ended or refused, and what it said is read below.
            let _ = control.finish_parcel(parcel.get(sent..).unwrap_or_default()).await;
        }
        // Then the control socket has no other end any more, which is read below as well.
        Err(error) if is_disconnection(&error) => {}
        Err(error) => return Err(keeper_fails(error)),
    }

    match control.next_report().await {
        Some(KeeperReport::Starting) => {}
        Some(KeeperReport::Failed { step, errno }) => {
            return Err(launch.failed_at(step, errno));
        }
        _ => {
            links.forget(&link);
            return Ok(Attempt::KeeperVanished);
        }
    }
    match control.next_report().await {
        Some(KeeperReport::Started { server }) => {
            let [stdin, stdout, stderr] = pipes.ours;
            let pid = server.as_raw_nonzero().get().cast_unsigned();
            let tree = Tree::new(control, link.keeper, Arc::clone(links));
            Ok(Attempt::Running(Box::new(Custody { stdin, stdout, stderr, pid, tree })))
        }
        Some(KeeperReport::Failed { step, errno }) => Err(launch.failed_at(step, errno)),
        _ => {
            strays::clear_after(link.keeper, links).await;
            Err(LaunchError::Lost { command: launch.command.clone() })
        }
    }
}

fn is_disconnection(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// stdin, stdout and stderr of a server, both ends.
struct Pipes {
    ours: [OwnedFd; 3],
    servers: [OwnedFd; 3],
}

impl Pipes {
    fn new() -> io::Result<Pipes> {
        let (stdin, stdout, stderr) = (pipe()?, pipe()?, pipe()?);
        let ours: [OwnedFd; 3] = [stdin.1.into(), stdout.0.into(), stderr.0.into()];
        for end in &ours {
            // Each end has its own status flags: the server's ends stay blocking, as it expects.
            ioctl_fionbio(end, true)?;
        }
        Ok(Pipes { ours, servers: [stdin.0.into(), stdout.1.into(), stderr.1.into()] })
    }
}
