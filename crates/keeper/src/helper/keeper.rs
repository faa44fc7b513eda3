//! The keeper: starts a server for each control socket that the owner hands over, and sees to its
//! end. One thread, which waits for nothing but the next event of any tree.
//!
//! It sees the environments of servers, which may hold secrets, and drops each when it has started
//! the server.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};
use rustix::stdio::stdin;

use super::phase::{Blow, PhaseEvent, TreePhase};
use super::strays::{self, Strays};
use super::tree::{Stage, Tree};
use crate::exit::ProcessExit;
use crate::message::KeeperReport;
use crate::sandbox::{self, Removal};
use crate::{descriptors, family, limits, system};

/// Names a tree, for as long as the keeper lives.
pub(super) type TreeId = u64;

/// Serves the owner, at the other end of stdin, until it has closed that end and nothing of any tree
/// is left.
pub(super) fn run() -> io::Result<()> {
    let removals = sandbox::remove_abandoned(&std::env::temp_dir());
    let mut keeper = Keeper { has_owner: true, removals, ..Keeper::default() };
    while keeper.is_needed() {
        for source in keeper.wait()? {
            match source {
                WakeSource::Owner => keeper.accept(),
                WakeSource::Control(key) => keeper.listen(key),
                WakeSource::End => keeper.look_soon(),
                WakeSource::Question(key) => keeper.answer(key),
            }
        }
        // After the sources, so that an order that arrived just in time beats the timeout of its
        // phase.
        keeper.pass_time();
        keeper.settle();
        keeper.clean_up();
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Keeper {
    /// Whether anybody can still ask for servers.
    has_owner: bool,
    last_key: TreeId,
    trees: BTreeMap<TreeId, Tree>,
    strays: Strays,
    /// When to look for ended children and strays; never, while there is no reason to expect any.
    look_at: Option<Instant>,
    /// Private directories of trees that are gone.
    removals: Vec<Removal>,
    /// Until the look after that. Nothing tells the keeper when a stray ends.
    pause: Duration,
}

/// Who makes the keeper wake up.
#[derive(Clone, Copy)]
enum WakeSource {
    Owner,
    Control(TreeId),
    /// Of a server.
    End,
    /// A walled-in server asks whether it may.
    Question(TreeId),
}

impl Keeper {
    fn is_needed(&self) -> bool {
        self.has_owner
            || !self.trees.is_empty()
            || self.look_at.is_some()
            || !self.removals.is_empty()
    }

    /// Blocks until something happens or some time is up; without limit while all servers serve.
    fn wait(&self) -> io::Result<Vec<WakeSource>> {
        // What is to be removed is removed between the others' turns.
        let busy = (!self.removals.is_empty()).then(Instant::now);
        let times = self.trees.values().filter_map(|tree| tree.phase.until()).chain(self.look_at);
        let times = times.chain(busy);
        let left = times.min().map(|until| until.saturating_duration_since(Instant::now()));
        // `None` blocks without limit, which is right only because every deadline is among `times`.
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let sources = self.sources();
        let fds = sources.iter().map(|(_, fd)| PollFd::from_borrowed_fd(*fd, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = fds.collect();
        // SIGCHLD is not what wakes it: each server has a descriptor that becomes readable at its
        // end.
        retry_on_intr(|| poll(&mut fds, timeout.as_ref()))?;
        let ready = sources.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|((source, _), _)| *source).collect())
    }

    fn sources(&self) -> Vec<(WakeSource, BorrowedFd<'_>)> {
        let mut sources = Vec::with_capacity(1 + 2 * self.trees.len());
        sources.extend(self.has_owner.then(|| (WakeSource::Owner, stdin())));
        for (&key, tree) in &self.trees {
            let control = tree.control.as_ref();
            sources.extend(control.map(|control| (WakeSource::Control(key), control.as_fd())));
            let listener = tree.walled.as_ref().and_then(|walled| walled.listener.as_ref());
            sources.extend(listener.map(|it| (WakeSource::Question(key), it.fd())));
            if let Stage::Living { end, .. } = &tree.stage {
                sources.push((WakeSource::End, end.as_fd()));
            }
        }
        sources
    }

    /// Takes every control socket that the owner has handed over.
    fn accept(&mut self) {
        loop {
            // One byte per socket: a datagram without a byte could not be told from the end of the
            // stream.
            match descriptors::receive(stdin(), &mut [0]) {
                Ok((1.., mut passed)) => {
                    if let Some(control) = passed.pop() {
                        // Counted and never reused: a late event must not reach a tree that took an
                        // old number.
                        self.last_key += 1;
                        self.trees.insert(self.last_key, Tree::new(control, self.last_key));
                        // Most often its parcel is already there.
                        self.listen(self.last_key);
                    }
                }
                Err(Errno::WOULDBLOCK) => return,
                Ok((0, _)) | Err(_) => {
                    self.has_owner = false;
                    // A last look, so that the keeper certainly leaves nobody.
                    return self.look_soon();
                }
            }
        }
    }

    fn listen(&mut self, key: TreeId) {
        let Some(tree) = self.trees.get_mut(&key) else {
            // Its tree may have ended through an earlier source of the same round.
            return;
        };
        let events = tree.listen();
        if let Stage::Over = tree.stage {
            let over = self.trees.remove(&key);
            self.abandon(over);
            // A server that could not be watched is a stray.
            return self.look_soon();
        }
        for event in events {
            self.happen(key, event);
        }
    }

    fn pass_time(&mut self) {
        let now = Instant::now();
        let is_up = |tree: &Tree| tree.phase.until().is_some_and(|until| until <= now);
        let up = self.trees.iter().filter(|(_, tree)| is_up(tree)).map(|(&key, _)| key);
        // Collected first: an event may remove the tree that is being looked at.
        for key in up.collect::<Vec<TreeId>>() {
            self.happen(key, PhaseEvent::TimeUp);
        }
    }

    fn happen(&mut self, key: TreeId, event: PhaseEvent) {
        let Some(tree) = self.trees.get_mut(&key) else {
            return;
        };
        let (next, blow) = tree.phase.after(event, Instant::now());
        tree.phase = next;
        if let Some(blow) = blow {
            self.strike(key, blow);
        }
    }

    /// The family is looked up anew for each blow, so that what was being forked during one is found
    /// by the next.
    fn strike(&mut self, key: TreeId, blow: Blow) {
        let Some(tree) = self.trees.get(&key) else {
            return;
        };
        let mut family = match (tree.server(), blow) {
            (Some(server), _) => system::family(server),
            (None, Blow::Terminate) => self.strays.family(|keys| keys.contains(&key)),
            // With a dead server its strays are all that is left. One shared with another tree is
            // spared until both may kill.
            (None, Blow::Kill) => self
                .strays
                .family(|keys| keys.contains(&key) && keys.iter().all(|key| self.is_killed(*key))),
        };
        self.strays.recognize(key, &family);
        match blow {
            Blow::Terminate => {
                self.strays.tell_once(&mut family);
                family::terminate(&family);
            }
            Blow::Kill => family::kill(&family),
        }
        // The end of a server is told by its descriptor; that of strays has to be looked for.
        let soon = Instant::now() + limits::FIRST_KILL_PAUSE;
        // Only brought forward: without strays there is nothing to look for.
        self.look_at = self.look_at.map(|at| at.min(soon));
    }

    /// A stray that may have come with another tree, too, has the time which that one has.
    fn is_killed(&self, key: TreeId) -> bool {
        let phase = self.trees.get(&key).map(|tree| tree.phase);
        !matches!(
            phase,
            Some(TreePhase::Serving | TreePhase::Leaving { .. } | TreePhase::Terminating { .. })
        )
    }

    fn look_soon(&mut self) {
        self.look_at = Some(Instant::now());
        self.pause = limits::FIRST_KILL_PAUSE;
    }

    /// Reaps, looks for strays, and says of which trees nothing is left.
    fn settle(&mut self) {
        if self.look_at.is_none_or(|at| at > Instant::now()) {
            return;
        }
        let (ended, present) = self.look();
        let ending = self.trees.iter().filter(|(_, tree)| matches!(tree.stage, Stage::Ended));
        let ending: Vec<TreeId> = ending.map(|(&key, _)| key).collect();
        // If nothing ended in this look, a new stray can only come from a tree that was ending
        // already.
        let suspects = if ended.is_empty() { &ending } else { &ended };
        self.strays.look(present, suspects);
        for key in ended {
            if self.strays.has_any_of(key) {
                self.happen(key, PhaseEvent::ServerEnded);
            }
        }
        for key in ending {
            if !self.strays.has_any_of(key) {
                self.dismiss(key);
            }
        }
        self.look_again();
    }

    /// Returns the trees whose servers have ended, and the strays that are there. A server that ends
    /// between the one and the other would leave strays of which nobody knows whose they are; so
    /// both are done until they agree.
    fn look(&mut self) -> (Vec<TreeId>, Vec<Pid>) {
        let mut ended = self.reap();
        loop {
            let servers: HashSet<Pid> = self.trees.values().filter_map(Tree::server).collect();
            let present = strays::present(&servers);
            let more = self.reap();
            if more.is_empty() {
                return (ended, present);
            }
            ended.extend(more);
        }
    }

    /// Returns the trees whose servers have ended.
    fn reap(&mut self) -> Vec<TreeId> {
        let mut ended = Vec::new();
        // Any child: strays are reaped here as well, or they would stay zombies.
        while let Ok(Some((pid, status))) = retry_on_intr(|| wait(WaitOptions::NOHANG)) {
            self.strays.reaped(pid);
            let server = self.trees.iter_mut().find(|(_, tree)| tree.server() == Some(pid));
            if let Some((&key, tree)) = server {
                tree.stage = Stage::Ended;
                tree.report(KeeperReport::Exited(exit(status)));
                ended.push(key);
            }
        }
        ended
    }

    fn dismiss(&mut self, key: TreeId) {
        if let Some(mut tree) = self.trees.remove(&key) {
            if let Some(successor) = tree.successor(self.last_key + 1) {
                self.last_key += 1;
                self.trees.insert(self.last_key, successor);
            }
            tree.report(KeeperReport::Gone);
            self.abandon(Some(tree));
        }
        self.strays.forget(key);
    }

    /// The tree is over: nobody needs its private directory any more.
    fn abandon(&mut self, tree: Option<Tree>) {
        let walled = tree.and_then(|tree| tree.walled);
        self.removals.extend(walled.map(|walled| walled.private.removal()));
    }

    fn answer(&mut self, key: TreeId) {
        if let Some(tree) = self.trees.get_mut(&key) {
            tree.answer();
        }
    }

    fn clean_up(&mut self) {
        if let Some(removal) = self.removals.first_mut()
            && !removal.go_on(limits::REMOVED_AT_ONCE)
        {
            self.removals.swap_remove(0);
        }
    }

    fn look_again(&mut self) {
        if self.strays.is_empty() {
            self.look_at = None;
            return;
        }
        family::kill(&self.strays.family_of_nobody());
        // Strays end without telling, so they are polled; the pause doubles, for most end at once.
        self.look_at = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(limits::LAST_KILL_PAUSE);
    }
}

fn exit(status: WaitStatus) -> ProcessExit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ProcessExit::Code(code),
        (None, Some(signal)) => ProcessExit::Signal(signal),
        (None, None) => ProcessExit::Lost,
    }
}
