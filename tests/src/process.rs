//! Counting processes: by a marker they carry, and by descent.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use crate::limit::{Deadline, Limit};

/// One process as `/proc` shows it.
#[derive(Debug, Clone)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub state: char,
    /// The argument vector, each followed by a NUL.
    pub arguments: Vec<u8>,
}

impl Process {
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    pub fn command_line(&self) -> String {
        String::from_utf8_lossy(&self.arguments).replace('\0', " ")
    }

    pub fn kill(&self, signal: Signal) {
        kill(self.pid, signal);
    }

    fn carries(&self, marker: &str) -> bool {
        let environment = std::fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        contains(&self.arguments, marker) || contains(&environment, marker)
    }
}

/// Sends a signal; a process that has gone meanwhile is no error.
pub fn kill(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Stops a process (SIGSTOP) and waits until none of its threads runs: the signal reaches them one after the other.
#[track_caller]
pub fn halt(pid: i32) {
    kill(pid, Signal::STOP);
    wait_until("each of its threads has stopped", crate::LIMIT, || {
        let threads =
            std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        threads.into_iter().all(|thread| stat(&thread.path()).is_none_or(|(state, _)| state == 'T'))
    });
}

pub fn is_alive(pid: i32) -> bool {
    read(pid).is_some_and(|process| !process.is_zombie())
}

/// Does its first thread wait for something?
pub fn is_asleep(pid: i32) -> bool {
    read(pid).is_some_and(|process| process.state == 'S')
}

/// Every living process (no zombies) that carries the marker in its arguments or environment.
pub fn marked(marker: &str) -> Vec<Process> {
    all().into_iter().filter(|p| !p.is_zombie() && p.carries(marker)).collect()
}

/// Every living process whose arguments carry the marker.
pub fn with_argument(marker: &str) -> Vec<Process> {
    let carries = |p: &Process| contains(&p.arguments, marker);
    all().into_iter().filter(|p| !p.is_zombie() && carries(p)).collect()
}

/// Every process below `pid`, zombies included.
pub fn descendants(pid: i32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            parents.push(child.pid);
            found.push(child.clone());
        }
    }
    found
}

/// The processes strictly between `ancestor` and `pid`, nearest to `pid` first; nothing when the
/// one does not descend from the other.
pub fn between(ancestor: i32, pid: i32) -> Vec<i32> {
    let mut way = Vec::new();
    let mut at = pid;
    while let Some(process) = read(at) {
        match process.parent {
            parent if parent == ancestor => return way,
            0 | 1 => return Vec::new(),
            parent => {
                way.push(parent);
                at = parent;
            }
        }
    }
    Vec::new()
}

/// Waits until no living process carries the marker; says how long it took, or who is left.
pub fn wait_gone(marker: &str, limit: impl Into<Limit>) -> Result<Duration, Vec<Process>> {
    wait_all_gone(marker, &[], limit)
}

/// [`wait_gone`] for processes known by their ids as well: a helper need not carry any marker.
pub fn wait_all_gone(
    marker: &str,
    pids: &[i32],
    limit: impl Into<Limit>,
) -> Result<Duration, Vec<Process>> {
    let (start, deadline) = (Instant::now(), limit.into().begin());
    loop {
        let known = pids.iter().filter_map(|pid| read(*pid)).filter(|p| !p.is_zombie());
        let left: Vec<Process> = marked(marker).into_iter().chain(known).collect();
        if left.is_empty() {
            return Ok(start.elapsed());
        }
        if deadline.is_over() {
            return Err(left);
        }
        deadline.pause();
    }
}

/// Lets this process have as many files and sockets as the system allows.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).expect("the soft limit can be raised to the hard one");
}

/// Waits until `state` holds.
#[track_caller]
pub fn wait_until(what: &str, limit: impl Into<Limit>, state: impl FnMut() -> bool) {
    let deadline = limit.into().begin();
    assert!(comes_true_by(deadline, state), "not within {deadline}: {what}");
}

/// Looks again and again, until it is so or the time is over.
pub fn comes_true(limit: impl Into<Limit>, state: impl FnMut() -> bool) -> bool {
    comes_true_by(limit.into().begin(), state)
}

fn comes_true_by(deadline: Deadline, mut state: impl FnMut() -> bool) -> bool {
    while !state() {
        if deadline.is_over() {
            return false;
        }
        deadline.pause();
    }
    true
}

/// The most memory the process has ever had resident, in KiB.
pub fn peak_memory_kib(pid: i32) -> u64 {
    status_kib(pid, "VmHWM:")
}

/// The memory of its own that the process has now, in KiB: without the pages of its program, which are many in a
/// debug build.
pub fn own_memory_kib(pid: i32) -> u64 {
    status_kib(pid, "RssAnon:")
}

/// The memory the process has resident now, in KiB.
pub fn memory_kib(pid: i32) -> u64 {
    status_kib(pid, "VmRSS:")
}

fn status_kib(pid: i32, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn all() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").expect("/proc is mounted");
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(read)
        .collect()
}

fn read(pid: i32) -> Option<Process> {
    let dir = Path::new("/proc").join(pid.to_string());
    let (state, parent) = stat(&dir)?;
    let arguments = std::fs::read(dir.join("cmdline")).unwrap_or_default();
    Some(Process { pid, parent, state, arguments })
}

/// State and parent of the process or thread whose directory this is.
fn stat(dir: &Path) -> Option<(char, i32)> {
    let stat = std::fs::read(dir.join("stat")).ok()?;
    // "pid (name) state parent …"; the name may hold anything, so look from its last bracket on.
    let after = stat.iter().rposition(|&byte| byte == b')')? + 2;
    let rest = String::from_utf8_lossy(stat.get(after..)?).into_owned();
    let mut fields = rest.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// The standard library's search is compiled with optimisation, unlike a loop of ours: every process of
/// the machine is looked through again and again.
fn contains(haystack: &[u8], needle: &str) -> bool {
    String::from_utf8_lossy(haystack).contains(needle)
}
