//! Whose strays are whose: what a dead server leaves becomes a child of the keeper, without a name.

use std::collections::{HashMap, HashSet};

use rustix::process::Pid;

use super::keeper::TreeId;
use crate::family::Process;
use crate::system;

/// Every child of the keeper that is not a living server is a stray: it came with a server that has
/// ended. With which one is known if it was seen below that one, or if only one has ended since the
/// last look. Otherwise all that may be are held for it: none of them is gone before it is.
#[derive(Debug, Default)]
pub(super) struct Strays {
    /// Those that were there at the last look.
    present: Vec<Pid>,
    /// Those of them that came with no tree, and were there at the look before, too. Such as one that
    /// was started but could not be watched.
    nobodys: Vec<Pid>,
    /// Also of processes that are not strays yet, because the server or stray above them lives.
    origins: HashMap<Pid, StrayOrigin>,
}

#[derive(Debug, Default)]
struct StrayOrigin {
    /// The trees that it may have come with.
    keys: Vec<TreeId>,
    /// Was sent SIGTERM.
    told: bool,
}

impl Strays {
    /// These were seen in a tree.
    pub(super) fn recognize(&mut self, key: TreeId, family: &[Process]) {
        for process in family {
            // The first tree stays: a process does not change the tree it was born in.
            self.origins.entry(process.pid).or_insert_with(|| StrayOrigin::of(&[key]));
        }
    }

    /// Leaves those out for which it was asked before.
    pub(super) fn tell_once(&mut self, family: &mut Vec<Process>) {
        family.retain(|process| {
            // SIGTERM twice makes some programs skip their orderly end and abort.
            let origin = self.origins.entry(process.pid).or_default();
            !std::mem::replace(&mut origin.told, true)
        });
    }

    /// These are there now; those not seen before came with one of `suspects`.
    pub(super) fn look(&mut self, present: Vec<Pid>, suspects: &[TreeId]) {
        if !suspects.is_empty() {
            for stray in &present {
                self.origins.entry(*stray).or_insert_with(|| StrayOrigin::of(suspects));
            }
        }
        let before = std::mem::replace(&mut self.present, present);
        // Only what was there at two looks: a server that is just being started is no stray.
        let is_nobodys = |stray: &Pid| !self.origins.contains_key(stray) && before.contains(stray);
        self.nobodys = self.present.iter().copied().filter(is_nobodys).collect();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    pub(super) fn has_any_of(&self, key: TreeId) -> bool {
        self.those(|keys| keys.contains(&key)).next().is_some()
    }

    /// The strays whose origins satisfy a condition, with all below them.
    pub(super) fn family(&self, condition: impl Fn(&[TreeId]) -> bool) -> Vec<Process> {
        self.those(condition).flat_map(system::family).collect()
    }

    pub(super) fn family_of_nobody(&self) -> Vec<Process> {
        self.nobodys.iter().copied().flat_map(system::family).collect()
    }

    fn those(&self, condition: impl Fn(&[TreeId]) -> bool) -> impl Iterator<Item = Pid> {
        let keys = |stray: &Pid| self.origins.get(stray).map_or(&[][..], |origin| &origin.keys);
        self.present.iter().copied().filter(move |stray| condition(keys(stray)))
    }

    /// A process was reaped: its number may come to mean another.
    pub(super) fn reaped(&mut self, pid: Pid) {
        self.origins.remove(&pid);
    }

    /// The tree is gone.
    pub(super) fn forget(&mut self, key: TreeId) {
        self.origins.retain(|_, origin| {
            origin.keys.retain(|&other| other != key);
            !origin.keys.is_empty()
        });
    }
}

impl StrayOrigin {
    fn of(keys: &[TreeId]) -> StrayOrigin {
        StrayOrigin { keys: keys.to_vec(), told: false }
    }
}

/// Children of the keeper that are not living servers. To be asked for after reaping.
pub(super) fn present(servers: &HashSet<Pid>) -> Vec<Pid> {
    let mut children = system::own_children();
    children.retain(|child| !servers.contains(child));
    children
}

#[cfg(test)]
mod tests {
    use rustix::process::Pid;

    use super::Strays;
    use crate::family::Process;

    const A: u64 = 1;
    const B: u64 = 2;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    fn of(strays: &Strays, key: u64) -> Vec<Pid> {
        strays.those(|keys| keys.contains(&key)).collect()
    }

    #[test]
    fn a_tree_is_held_for_what_may_have_come_with_it() {
        let mut strays = Strays::default();
        strays.recognize(A, &[Process { pid: pid(12), parent: 10, group: 10 }]);
        strays.look(vec![pid(11)], &[A]);
        strays.look(vec![pid(11), pid(21)], &[B]);
        assert_eq!((of(&strays, A), of(&strays, B)), (vec![pid(11)], vec![pid(21)]));

        // 12 was seen below A's server; 31 fell from nobody knows whom.
        strays.look(vec![pid(12), pid(21), pid(31)], &[A, B]);
        assert_eq!(of(&strays, A), [pid(12), pid(31)]);
        assert_eq!(of(&strays, B), [pid(21), pid(31)]);

        strays.look(vec![pid(31)], &[A, B]);
        strays.forget(A);
        assert_eq!(of(&strays, B), [pid(31)], "the other is still held");

        strays.forget(B);
        strays.look(vec![pid(31), pid(41)], &[]);
        assert_eq!(strays.nobodys, [pid(31)], "41 may be somebody's at the next look");

        strays.reaped(pid(31));
        strays.look(vec![pid(31)], &[A]);
        assert_eq!(
            (of(&strays, A), of(&strays, B)),
            (vec![pid(31)], vec![]),
            "a number used again"
        );
    }

    #[test]
    fn nobody_is_told_twice() {
        let process = |number| Process { pid: pid(number), parent: 10, group: 10 };
        let mut strays = Strays::default();
        for (family, expected) in [(vec![11, 12], vec![11, 12]), (vec![11, 13], vec![13])] {
            let mut family: Vec<Process> = family.into_iter().map(process).collect();
            strays.recognize(A, &family);
            strays.tell_once(&mut family);
            assert_eq!(family, expected.into_iter().map(process).collect::<Vec<_>>());
        }
    }
}
