//! Looks into `/proc`: which processes belong to a target, what they cost, and how they are ended.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The target's own processes: the one we started and its helpers, but not the children it serves.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) main: i32,
    pub(super) helpers: Vec<i32>,
}

/// Resident memory in KiB.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    pub(super) resident: u64,
    /// Shared pages counted in proportion.
    pub(super) proportional: u64,
}

pub(super) fn own(main: i32) -> Own {
    let is_child = |pid: &i32| {
        let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        program.file_name().is_some_and(|name| name == "bench-child")
    };
    let helpers = descendants(main).into_iter().filter(|pid| !is_child(pid)).collect();
    Own { main, helpers }
}

impl Own {
    /// Processor time of all threads so far, in nanoseconds.
    pub(super) fn cpu(&self) -> u64 {
        self.all().map(cpu).sum()
    }

    /// Processor time so far of each thread whose name begins so, in nanoseconds, in the order of their numbers.
    pub(super) fn threads(&self, name: &str) -> Vec<u64> {
        let tasks =
            fs::read_dir(format!("/proc/{}/task", self.main)).into_iter().flatten().flatten();
        let mut named: Vec<(i32, u64)> = tasks
            .filter_map(|task| {
                let comm = fs::read_to_string(task.path().join("comm")).ok()?;
                let number = task.file_name().to_str()?.parse().ok()?;
                comm.starts_with(name).then_some((number, spent(&task.path())?))
            })
            .collect();
        named.sort_unstable();
        named.into_iter().map(|(_, time)| time).collect()
    }

    pub(super) fn memory_of_helpers(&self) -> Memory {
        self.helpers.iter().map(|&pid| memory(pid)).fold(Memory::default(), |sum, one| Memory {
            resident: sum.resident + one.resident,
            proportional: sum.proportional + one.proportional,
        })
    }

    fn all(&self) -> impl Iterator<Item = i32> {
        self.helpers.iter().copied().chain([self.main])
    }
}

pub(super) fn memory(pid: i32) -> Memory {
    Memory {
        resident: kib(&format!("/proc/{pid}/status"), "VmRSS:"),
        proportional: kib(&format!("/proc/{pid}/smaps_rollup"), "Pss:"),
    }
}

/// All processes below `pid`.
pub(super) fn descendants(pid: i32) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if let Some(child) = entry.file_name().to_str().and_then(|name| name.parse().ok())
            && let Some(parent) = parent(child)
        {
            children.entry(parent).or_default().push(child);
        }
    }
    let mut found = children.remove(&pid).unwrap_or_default();
    let mut next = 0;
    while let Some(&child) = found.get(next) {
        found.extend(children.remove(&child).unwrap_or_default());
        next += 1;
    }
    found
}

pub(super) fn kill(pid: i32) {
    signal(pid, Signal::KILL);
}

/// Asks it to end.
pub(super) fn terminate(pid: i32) {
    signal(pid, Signal::TERM);
}

fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Waits until none of `pids` exists; those that stay longer than `patience` are killed. True if none had to be.
pub(super) fn wait_gone(pids: &[i32], patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    let mut left = pids.to_vec();
    let mut willing = true;
    loop {
        left.retain(|&pid| !gone(pid));
        if left.is_empty() {
            return willing;
        }
        if Instant::now() > deadline {
            willing = false;
            left.iter().for_each(|&pid| kill(pid));
        }
        pause(Duration::from_micros(200));
    }
}

#[expect(clippy::disallowed_methods, reason = "the driver has no runtime to block")]
pub(super) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Reaps `pid` if it is ours (we adopt orphans) and says whether it no longer runs.
fn gone(pid: i32) -> bool {
    let Some(id) = Pid::from_raw(pid) else {
        return true;
    };
    match waitpid(Some(id), WaitOptions::NOHANG) {
        Ok(Some(_)) => true,
        Ok(None) => false,
        Err(_) => parent(pid).is_none(),
    }
}

/// The parent, `None` if the process does not exist.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn cpu(pid: i32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| spent(&task.path())).sum()
}

/// Processor time of the thread with this directory.
fn spent(task: &Path) -> Option<u64> {
    let text = fs::read_to_string(task.join("schedstat")).ok()?;
    text.split(' ').next()?.parse().ok()
}

fn kib(path: &str, field: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
