//! Kills and reaps what a killed keeper leaves: its servers become direct children of ours.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitOptions, getpid, wait};
use tokio::time::{Instant, sleep};

use super::link::{Keepers, Links};
use crate::family::{self, Process};
use crate::{limits, system};

/// Returns when no direct child is left but keepers, and all that have ended are reaped. Safe to
/// run more than once at a time, and to cancel.
pub(super) async fn clear(links: &Links) {
    let mut pause = limits::FIRST_KILL_PAUSE;
    while let Round::Strays = round(links) {
        sleep(pause).await;
        pause = (pause * 2).min(limits::LAST_KILL_PAUSE);
    }
}

/// Kills the strays once this keeper has ended. A dying process closes its sockets before its children get a
/// new parent; only then are they strays.
pub(super) async fn clear_after(keeper: Pid, links: &Links) {
    let deadline = Instant::now() + limits::DYING;
    // A failure means that it has ended and was reaped.
    if let Ok(end) = system::watch_end(keeper) {
        while !has_come(&end) && Instant::now() < deadline {
            sleep(limits::FIRST_KILL_PAUSE).await;
        }
    }
    clear(links).await;
}

fn has_come(end: &OwnedFd) -> bool {
    let at_once = Timespec::default();
    poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
}

enum Round {
    Strays,
    Nothing,
}

/// What was killed is a stray until it is reaped, by a later round.
fn round(links: &Links) -> Round {
    // Held throughout: a keeper that is being started is a stray until its number is noted.
    let mut known = links.lock();
    reap(&mut known);
    let children = system::children(getpid()).into_iter();
    let strays: Vec<Process> = children.filter(|child| !known.is_keeper(child.pid)).collect();
    for stray in &strays {
        family::kill(&system::family(stray.pid));
    }
    if strays.is_empty() { Round::Nothing } else { Round::Strays }
}

fn reap(known: &mut Keepers) {
    while let Ok(Some((pid, _))) = retry_on_intr(|| wait(WaitOptions::NOHANG)) {
        known.reaped(pid);
    }
}
