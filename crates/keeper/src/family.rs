//! Who descends from whom, and signals to whole families.

use std::collections::HashSet;

use rustix::process::{Pid, Signal, getpgrp, kill_process, kill_process_group};

/// One line of the table of processes. Parent and group may be 0: outside our view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) parent: i32,
    pub(crate) group: i32,
}

impl Process {
    pub(crate) fn is_child_of(&self, parent: Pid) -> bool {
        self.parent == parent.as_raw_nonzero().get()
    }
}

/// All below `root`, without it, nearest first.
pub(crate) fn below(root: Pid, children: impl Fn(Pid) -> Vec<Process>) -> Vec<Process> {
    let mut seen = HashSet::from([root]);
    let mut found = Vec::new();
    let mut next = Some(root);
    let mut visited = 0;
    while let Some(parent) = next {
        // One that is orphaned meanwhile can turn up twice.
        found.extend(children(parent).into_iter().filter(|child| seen.insert(child.pid)));
        next = found.get(visited).map(|process| process.pid);
        visited += 1;
    }
    found
}

/// SIGTERM to each, once: a second one makes some programs skip their clean-up. Who has ended
/// meanwhile, or belongs to another user, is left alone.
pub(crate) fn terminate(family: &[Process]) {
    for process in family {
        let _ = kill_process(process.pid, Signal::TERM);
    }
}

/// SIGKILL to each and to each group of the family. The group is what catches a chain of processes
/// that fork and end faster than they can be looked up.
pub(crate) fn kill(family: &[Process]) {
    for group in groups(family, getpgrp()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    for process in family {
        let _ = kill_process(process.pid, Signal::KILL);
    }
}

/// A group contains nobody but family, unless it is our own: each server founds one, and a program
/// does not join a group that it did not inherit or found, unless it wants to be killed with it.
fn groups(family: &[Process], our_own: Pid) -> HashSet<Pid> {
    let groups = family.iter().filter_map(|process| Pid::from_raw(process.group));
    // To the system call, group 1 would mean everybody.
    groups.filter(|&group| group != our_own && group != Pid::INIT).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rustix::process::Pid;

    use super::{Process, below, groups};

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    fn process((number, parent, group): (i32, i32, i32)) -> Process {
        Process { pid: pid(number), parent, group }
    }

    #[test]
    fn descendants_are_found_in_any_order_of_the_table() {
        let table = [(40, 30, 0), (30, 10, 0), (20, 10, 0), (50, 9, 0), (10, 1, 0)].map(process);
        let children = |parent| table.into_iter().filter(|p| p.is_child_of(parent)).collect();
        let found = |root| below(pid(root), children).into_iter().map(|process| process.pid);
        assert!(found(10).eq([30, 20, 40].map(pid)));
        assert!(found(40).eq([]));
    }

    #[test]
    fn our_own_group_and_everybody_are_spared() {
        let family =
            [(20, 10, 20), (21, 20, 20), (22, 20, 99), (23, 20, 10), (24, 1, 1), (25, 1, 0)]
                .map(process);
        assert_eq!(groups(&family, pid(10)), HashSet::from([20, 99].map(pid)));
    }
}
