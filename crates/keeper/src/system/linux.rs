//! Linux: adopting orphans, watching a process end, and reading the table of processes.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, set_child_subreaper};

use crate::family::{self, Process};

/// The running program, also when its file was replaced or removed by an update.
pub(crate) const OWN_PROGRAM: &str = "/proc/self/exe";

/// Sending to a process that is gone is an error, and no signal; sending never waits.
pub(crate) const SEND: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);
/// Descriptors that are received are not inherited by programs started later; receiving never waits.
pub(crate) const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC.union(RecvFlags::DONTWAIT);
/// To open a directory that is to be entered later: it need not be readable for that.
pub(crate) const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// From now on, a process below this one whose parent dies becomes a child of this one, unless
/// another adopter is nearer. Children do not inherit this, but exec preserves it.
pub(crate) fn adopt_orphans() -> Result<(), Errno> {
    set_child_subreaper(Some(getpid()))
}

/// A descriptor that polls as readable once the process has ended *and* its children have a new
/// parent. It works for a process that has ended but is not yet reaped.
pub(crate) fn watch_end(pid: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// What `ps` and `top` show.
pub(crate) fn set_name(name: &CStr) -> io::Result<()> {
    Ok(rustix::thread::set_name(name)?)
}

/// `root` and all below it, nearest first. A process that is started, ended or orphaned meanwhile
/// may be missing, so who wants to be sure looks again.
pub(crate) fn family(root: Pid) -> Vec<Process> {
    process(root).into_iter().chain(family::below(root, children_lookup())).collect()
}

/// Processes and threads of `root` and all below it.
pub(crate) fn tasks(root: Pid) -> usize {
    let threads = |process: Process| {
        let entries = fs::read_dir(format!("/proc/{}/task", process.pid));
        entries.map_or(1, Iterator::count)
    };
    family(root).into_iter().map(threads).sum()
}

/// Whether a process, or a thread, lives and does not descend from `root`. Numbers that stand for groups are nobody's.
pub(crate) fn is_outside(root: Pid, pid: i32) -> bool {
    let mut at = Pid::from_raw(pid).filter(|_| pid > 0);
    // One that ends meanwhile, or leads nowhere, is not followed further.
    for _ in 0..MOST_ANCESTORS {
        match at {
            Some(found) if found == root => return false,
            Some(found) => match process(found) {
                Some(process) => at = Pid::from_raw(process.parent),
                None => return at != Pid::from_raw(pid),
            },
            None => return pid > 0,
        }
    }
    true
}

/// Processes from one to the first of its tree: no chain is so long.
const MOST_ANCESTORS: usize = 1_000;

pub(crate) fn children(parent: Pid) -> Vec<Process> {
    children_lookup()(parent)
}

/// The children of this process, which has one thread. Exact as long as nobody else reaps them: the
/// orphans of a child are in the list before its end can be seen.
pub(crate) fn own_children() -> Vec<Pid> {
    match fs::read_to_string(OWN_CHILDREN) {
        Ok(list) => list.split_ascii_whitespace().filter_map(pid).collect(),
        Err(_) => children(getpid()).into_iter().map(|child| child.pid).collect(),
    }
}

const OWN_CHILDREN: &str = "/proc/thread-self/children";

/// The kernel lists the children of a process (`CONFIG_PROC_CHILDREN`, in every distribution), so
/// that the cost depends on the tree only, also on a machine with thousands of processes. Where it
/// does not, all processes are looked at once.
fn children_lookup() -> Box<dyn Fn(Pid) -> Vec<Process>> {
    if Path::new(OWN_CHILDREN).exists() {
        return Box::new(listed_children);
    }
    let table = all_processes();
    Box::new(move |parent| table.iter().copied().filter(|p| p.is_child_of(parent)).collect())
}

/// Each thread has a list of its own.
fn listed_children(parent: Pid) -> Vec<Process> {
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else {
        return Vec::new();
    };
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let mut children = Vec::new();
    for list in lists {
        let pids = list.split_ascii_whitespace().filter_map(pid);
        children.extend(pids.filter_map(process).filter(|child| child.is_child_of(parent)));
    }
    children
}

fn all_processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| process(pid(&name)?)).collect()
}

fn pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

/// `None`: it has ended and was reaped.
fn process(pid: Pid) -> Option<Process> {
    // Enough for the first fields: the number and the name, of at most 64 bytes, come before them.
    let mut line = [0; 256];
    let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
    let length = file.read(&mut line).ok()?;
    parse(pid, line.get(..length)?)
}

/// `1234 (name) S 1 1234 1234 …`: state, parent and group follow the name. The name may
/// contain anything, also `) S 1`, so it ends at the last parenthesis.
fn parse(pid: Pid, stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let fields = str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let mut numbers = fields.split_ascii_whitespace().skip(1).map(str::parse::<i32>);
    Some(Process { pid, parent: numbers.next()?.ok()?, group: numbers.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{Pid, getpgrp, getpid};

    use super::{all_processes, listed_children, parse};
    use crate::family::Process;

    #[test]
    fn a_name_may_contain_anything() {
        let pid = Pid::from_raw(12).unwrap();
        let names: [&[u8]; 4] = [b"sh", b"a b", b"x) S 1 1 1 (", b"\xff\n)"];
        for name in names {
            let line = [b"12 (", name, b") S 3 4 5 0 -1 4194304\n"].concat();
            let expected = Process { pid, parent: 3, group: 4 };
            assert_eq!(parse(pid, &line), Some(expected));
        }
        assert_eq!(parse(pid, b"12 (sh) S 3"), None);
        assert_eq!(parse(pid, b""), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child to be looked up")]
    fn both_ways_find_the_same_child() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let expected = Process {
            pid: Pid::from_child(&child),
            parent: Pid::as_raw(Some(getpid())),
            group: Pid::as_raw(Some(getpgrp())),
        };
        let listed = listed_children(getpid());
        let all = all_processes();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(listed.contains(&expected), "{listed:?}");
        assert!(all.contains(&expected));
    }
}
