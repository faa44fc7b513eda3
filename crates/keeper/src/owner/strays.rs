//! Kills and reaps what a killed shim leaves: its descendants become direct children of ours.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitOptions, getpid, wait};
use tokio::time::{Instant, sleep};

use super::link::{Link, Links, helper_command_line};
use crate::family::{self, Process};
use crate::{limits, system};

/// Returns when no direct child is left but helpers, and all that have ended are reaped. Safe to
/// run more than once at a time, and to cancel.
pub(super) async fn clear(links: &Links) {
    let mut pause = limits::FIRST_KILL_PAUSE;
    while let Found::Strays = round(links) {
        sleep(pause).await;
        pause = (pause * 2).min(limits::LAST_KILL_PAUSE);
    }
}

/// The same, once the shim has ended. A dying process closes its sockets before its children get a
/// new parent; only then are they strays.
pub(super) async fn clear_after(shim: Pid, links: &Links) {
    let deadline = Instant::now() + limits::DYING;
    // A failure means that it has ended and was reaped.
    if let Ok(end) = system::watch_end(shim) {
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

enum Found {
    Strays,
    Nothing,
}

fn round(links: &Links) -> Found {
    // Held throughout: until it executes its program, a keeper that is being started looks like a
    // stray, and until its number is noted, it could be reaped unnoticed.
    let mut current = links.lock();
    reap(&mut current);
    let keeper = current.as_ref().map(|link| link.keeper);
    let strays: Vec<Process> = system::children(getpid())
        .into_iter()
        .filter(|child| Some(child.pid) != keeper && !is_helper(child.pid))
        .collect();
    for stray in &strays {
        family::kill(&system::descendants(stray.pid));
    }
    family::kill(&strays);
    if strays.is_empty() { Found::Nothing } else { Found::Strays }
}

fn reap(current: &mut Option<Arc<Link>>) {
    while let Ok(Some((pid, _))) = retry_on_intr(|| wait(WaitOptions::NOHANG)) {
        current.take_if(|link| link.keeper == pid);
    }
}

/// A shim whose keeper died is our child, and no stray; so is one that has not reported yet. It
/// looks after itself. A server just forked by its shim still shows the same command line, but then
/// it also still holds the control socket, so that its end is noticed after the exec.
fn is_helper(pid: Pid) -> bool {
    system::command_line(pid).is_ok_and(|line| line == helper_command_line())
}
