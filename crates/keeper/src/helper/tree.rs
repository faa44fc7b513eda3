//! One server as the keeper sees it: its control socket, its process, and the phase of its end.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use rustix::net::send;
use rustix::process::Pid;

use super::inbox::{Inbox, OwnerLine};
use super::phase::{PhaseEvent, TreePhase};
use super::start::{self, Failure, Running, Walled};
use crate::launch::Launch;
use crate::message::{KeeperReport, LaunchStep};
use crate::{limits, system};

#[derive(Debug)]
pub(super) struct Tree {
    /// Until the owner has closed it.
    pub(super) control: Option<OwnedFd>,
    inbox: Inbox,
    /// No other tree of this keeper has it.
    number: u64,
    pub(super) stage: Stage,
    pub(super) phase: TreePhase,
    /// What goes with its walls, if it has any.
    pub(super) walled: Option<Walled>,
    /// What is started when nothing is left of it.
    afterwards: Option<Launch>,
}

#[derive(Debug)]
pub(super) enum Stage {
    /// What to start has not arrived completely.
    Expected,
    /// The server lives; `end` is readable when it has ended.
    Living { server: Pid, end: OwnedFd },
    /// The server has ended and is reaped; strays may be left.
    Ended,
    /// It was never started, or nothing of it is left.
    Over,
}

impl Tree {
    pub(super) fn new(control: OwnedFd, number: u64) -> Tree {
        let (inbox, stage, phase) = (Inbox::default(), Stage::Expected, TreePhase::Serving);
        let (walled, afterwards) = (None, None);
        Tree { control: Some(control), inbox, number, stage, phase, walled, afterwards }
    }

    /// What is to be done after this one, as a tree that nobody asks about and that has so long.
    pub(super) fn successor(&mut self, number: u64) -> Option<Tree> {
        let launch = self.afterwards.take()?;
        let silent = || File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from);
        let stdio = [silent().ok()?, silent().ok()?, silent().ok()?];
        let Running { server, walled } = start::start(launch, &stdio, number, || ()).ok()?;
        let (server, end) = watched(server).ok()?;
        let until = Instant::now() + limits::AFTERWARDS;
        Some(Tree {
            control: None,
            inbox: Inbox::default(),
            number,
            stage: Stage::Living { server, end },
            phase: TreePhase::Leaving { until, term: limits::LEFTOVER_GRACE },
            walled,
            afterwards: None,
        })
    }

    /// The living main process.
    pub(super) fn server(&self) -> Option<Pid> {
        match self.stage {
            Stage::Living { server, .. } => Some(server),
            _ => None,
        }
    }

    /// Takes in what the owner has said.
    pub(super) fn listen(&mut self) -> Vec<PhaseEvent> {
        let Some(control) = &self.control else {
            return Vec::new();
        };
        let line = self.inbox.fill(control);
        if let Stage::Expected = self.stage {
            self.open_parcel();
        }
        let mut events = Vec::new();
        let mut closed = line == OwnerLine::Closed;
        while let Some(order) = self.orders_are_next().then(|| self.inbox.order()).flatten() {
            match order {
                Ok(order) => events.push(PhaseEvent::Ordered(order)),
                // Whoever says something else is nobody to take orders from.
                Err(_) => closed = true,
            }
        }
        if closed {
            self.control = None;
            events.push(PhaseEvent::Orphaned);
            if let Stage::Expected = self.stage {
                self.stage = Stage::Over;
            }
        }
        events
    }

    fn orders_are_next(&self) -> bool {
        matches!(self.stage, Stage::Living { .. } | Stage::Ended)
    }

    fn open_parcel(&mut self) {
        let started = match self.inbox.parcel() {
            None => return,
            Some(Ok((mut launch, stdio))) => {
                let afterwards = afterwards(&mut launch);
                let starting = || self.report(KeeperReport::Starting);
                let started = start::start(launch, &stdio, self.number, starting);
                self.afterwards = afterwards.filter(|_| started.is_ok());
                started
            }
            Some(Err(errno)) => Err(Failure::at(LaunchStep::Receive, &errno.into())),
        };
        let watched = started.and_then(|Running { server, walled }| {
            self.walled = walled;
            watched(server)
        });
        match watched {
            Ok((server, end)) => {
                self.stage = Stage::Living { server, end };
                self.report(KeeperReport::Started { server });
            }
            Err(Failure { step, errno }) => {
                self.stage = Stage::Over;
                self.report(KeeperReport::Failed { step, errno });
            }
        }
    }

    /// Answers one question of a walled-in server.
    pub(super) fn answer(&mut self) {
        let server = self.server();
        let Some(walled) = &mut self.walled else { return };
        let (Some(server), Some(listener)) = (server, walled.listener.as_mut()) else {
            // What is left of it is being killed: whatever it asks, the answer is no.
            walled.listener = None;
            return;
        };
        let count = || system::tasks(server);
        let is_outside = |pid| system::is_outside(server, pid);
        let refusal = listener.answer(limits::SANDBOX_TASKS, count, is_outside);
        if let Some(refusal) = refusal {
            self.report(KeeperReport::Refused(refusal));
        }
    }

    /// An owner that is gone needs no reports, and learns of an error by the end of the socket.
    pub(super) fn report(&self, report: KeeperReport) {
        if let Some(control) = &self.control {
            let _ = send(control, &report.pack(), system::SEND);
        }
    }
}

/// What a launch wants to be run when it is over. Of its variables only those that say where an engine is: the others
/// may be secrets of the server.
fn afterwards(launch: &mut Launch) -> Option<Launch> {
    const KEPT: [&str; 6] = ["PATH", "HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "TMPDIR"];
    const PREFIXES: [&[u8]; 3] = [b"DOCKER_", b"CONTAINER", b"PODMAN_"];
    let args = std::mem::take(&mut launch.afterwards);
    if args.is_empty() {
        return None;
    }
    let is_kept = |name: &OsStr| {
        KEPT.iter().any(|kept| name == *kept)
            || PREFIXES.iter().any(|prefix| name.as_bytes().starts_with(prefix))
    };
    let env = launch.env.iter().filter(|(name, _)| is_kept(name)).cloned().collect();
    let (command, cwd) = (launch.command.clone(), launch.cwd.clone());
    Some(Launch { command, args, env, cwd, ..Launch::default() })
}

/// Without a descriptor to spare its end would not be noticed: then it is a stray from the start.
fn watched(server: Pid) -> Result<(Pid, OwnedFd), Failure> {
    match system::watch_end(server) {
        Ok(end) => Ok((server, end)),
        Err(error) => Err(Failure::at(LaunchStep::Watch, &error)),
    }
}
