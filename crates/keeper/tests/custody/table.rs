//! The table of processes as the test sees it, and waiting on its states.

use std::fs;

use kit::limit::Limit;
use rustix::event::{Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::Pid;

/// One look at all processes.
pub(crate) struct Table {
    processes: Vec<Process>,
}

#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    parent: i32,
    zombie: bool,
}

impl Table {
    pub(crate) fn read() -> Table {
        let entries = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name());
        let pids = entries.filter_map(|name| Pid::from_raw(name.to_str()?.parse().ok()?));
        Table { processes: pids.filter_map(Process::read).collect() }
    }

    pub(crate) fn children(&self, parent: Pid) -> Vec<Pid> {
        let parent = parent.as_raw_nonzero().get();
        let children = self.processes.iter().filter(|process| process.parent == parent);
        children.map(|process| process.pid).collect()
    }

    pub(crate) fn zombies(&self, parents: &[Pid]) -> Vec<Pid> {
        let children = parents.iter().flat_map(|&parent| self.children(parent));
        children.filter(|&pid| self.processes.iter().any(|p| p.pid == pid && p.zombie)).collect()
    }

    /// Living processes whose file in /proc (`cmdline`, `environ`) satisfies a condition.
    pub(crate) fn with(&self, file: &str, condition: impl Fn(&[u8]) -> bool) -> Vec<Pid> {
        let living = self.processes.iter().filter(|process| !process.zombie);
        let text = |pid: Pid| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        living.map(|process| process.pid).filter(|&pid| condition(&text(pid))).collect()
    }

    /// Without those by which it looks into /proc for a moment.
    pub(crate) fn descriptors(pid: Pid) -> usize {
        let entries = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let targets = entries.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        targets.filter(|target| !target.starts_with("/proc")).count()
    }

    /// How many descriptors a process passes on: those without `O_CLOEXEC`.
    pub(crate) fn inheritable(pid: Pid) -> usize {
        let infos = fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap();
        let infos = infos.filter_map(|info| fs::read_to_string(info.unwrap().path()).ok());
        infos.filter(|info| !flags(info).contains(OFlags::CLOEXEC)).count()
    }

    /// A set of signals from the status of a process, without the real-time ones, two of which
    /// glibc ignores for its own purposes.
    pub(crate) fn signals(pid: Pid, set: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let mut lines = status.lines().filter_map(|line| line.split_once(":\t"));
        let (_, signals) = lines.find(|&(name, _)| name == set).unwrap();
        u64::from_str_radix(signals, 16).unwrap() & 0x7fff_ffff
    }

    /// How often the threads of a process were scheduled.
    pub(crate) fn switches(pid: Pid) -> u64 {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let status = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("status"));
        let lines = threads.map(|thread| status(thread.unwrap()).unwrap());
        let count = |text: String| -> u64 {
            let lines = text.lines().filter(|line| line.contains("ctxt_switches"));
            lines.map(|line| line.split_whitespace().last().unwrap().parse::<u64>().unwrap()).sum()
        };
        lines.map(count).sum()
    }
}

fn flags(info: &str) -> OFlags {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    OFlags::from_bits_retain(u32::from_str_radix(flags.trim(), 8).unwrap())
}

impl Process {
    fn read(pid: Pid) -> Option<Process> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat).into_owned();
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let zombie = matches!(fields.next()?, "Z" | "X");
        Some(Process { pid, parent: fields.next()?.parse().ok()?, zombie })
    }
}

/// Waits for a state, and fails when it does not come within the limit.
#[track_caller]
pub(crate) fn wait_until(limit: impl Into<Limit>, what: &str, mut state: impl FnMut() -> bool) {
    let deadline = limit.into().begin();
    while !state() {
        assert!(!deadline.is_over(), "waited {deadline} in vain: {what}");
        let pause = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
        poll(&mut [], Some(&pause)).unwrap();
    }
}
