//! `WaitingLine`: requests of one client that wait until their server is up or known. They go on in the order in
//! which they came, and before those that came later.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;

use crate::lock::{Mutex, MutexGuard, rank};
use crate::pump::FlushSet;
use crate::registry::Registry;
use crate::upstream::Server;

/// `S`: the session, which a request is given when it goes on.
pub(super) struct WaitingLine<S, A = Awaited> {
    /// Requests wait, or are just going on.
    // Acquire where it is read: who sees it cleared comes behind those that have gone on. Cleared under `turn`.
    is_used: AtomicBool,
    /// Held while requests go on, and while a new one is handled behind them.
    // Above all that a request takes on its way to its server.
    turn: Mutex<(), rank::SessionTurn>,
    state: Mutex<LineState<S, A>, rank::SessionWaiting>,
}

/// What requests wait for.
#[derive(Clone, Debug)]
pub(super) enum Awaited {
    /// That this server is up, or has failed.
    Server(Arc<Server>),
    /// That another server is known than at this version of the registry.
    Listed(u64),
}

struct LineState<S, A> {
    last: u64,
    groups: Vec<Group<S, A>>,
}

struct Group<S, A> {
    awaited: A,
    /// By their places.
    requests: BTreeMap<u64, HeldRequest<S>>,
}

struct HeldRequest<S> {
    until: Instant,
    resume: Resume<S>,
}

/// Handles a request again, with its place in the line: if it has to wait once more, it has not lost it.
pub(super) type Resume<S> = Box<dyn FnOnce(&Arc<S>, u64, &mut FlushSet) + Send>;

impl Awaited {
    /// Can who waits for it go on?
    pub(super) fn is_over(&self, registry: &Registry) -> bool {
        match self {
            // Not only when it says that it runs: clients can find its connection a moment earlier.
            Self::Server(server) => server.is_settled() || server.connection().is_some(),
            Self::Listed(version) => registry.version() != *version || registry.is_listed(),
        }
    }
}

impl PartialEq for Awaited {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Server(one), Self::Server(other)) => Arc::ptr_eq(one, other),
            (Self::Listed(one), Self::Listed(other)) => one == other,
            _ => false,
        }
    }
}

impl<S, A> Default for WaitingLine<S, A> {
    fn default() -> Self {
        let state = LineState { last: 0, groups: Vec::new() };
        Self { is_used: AtomicBool::new(false), turn: Mutex::default(), state: Mutex::new(state) }
    }
}

impl<S, A> fmt::Debug for WaitingLine<S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingLine").field("is_used", &self.is_used).finish_non_exhaustive()
    }
}

impl<S, A: PartialEq> WaitingLine<S, A> {
    /// For a new request: those that came before it and can go on do so first. What is returned has to be held
    /// until the new one is with its server or waits; `None`: nobody waits.
    pub(super) fn behind(
        &self,
        session: &Arc<S>,
        is_over: impl Fn(&A) -> bool,
        touched: &mut FlushSet,
    ) -> Option<MutexGuard<'_, ()>> {
        self.is_used.load(Ordering::Acquire).then(|| self.advance(session, is_over, touched))
    }

    /// Requests that can go on do so.
    pub(super) fn go_on(
        &self,
        session: &Arc<S>,
        is_over: impl Fn(&A) -> bool,
        touched: &mut FlushSet,
    ) {
        drop(self.advance(session, is_over, touched));
    }

    fn advance(
        &self,
        session: &Arc<S>,
        is_over: impl Fn(&A) -> bool,
        touched: &mut FlushSet,
    ) -> MutexGuard<'_, ()> {
        let turn = self.turn.lock();
        let ready = self.state.lock().take_ready(is_over, Instant::now());
        for (place, request) in ready {
            (request.resume)(session, place, touched);
        }
        // Behind the last one: a new request that sees this comes after it.
        if self.state.lock().groups.is_empty() {
            self.is_used.store(false, Ordering::Release);
        }
        turn
    }

    /// A place for a request that waits for the first time.
    pub(super) fn place(&self) -> u64 {
        let mut state = self.state.lock();
        state.last += 1;
        state.last
    }

    /// Keeps a request at its place.
    pub(super) fn wait(&self, place: u64, awaited: A, until: Instant, resume: Resume<S>) {
        let mut state = self.state.lock();
        let request = HeldRequest { until, resume };
        match state.groups.iter_mut().find(|group| group.awaited == awaited) {
            Some(group) => drop(group.requests.insert(place, request)),
            None => {
                let requests = BTreeMap::from([(place, request)]);
                state.groups.push(Group { awaited, requests });
            }
        }
        self.is_used.store(true, Ordering::Release);
    }

    /// A request does not wait any more.
    pub(super) fn leave(&self, place: u64) {
        let mut left = None;
        let mut state = self.state.lock();
        for group in &mut state.groups {
            left = left.or_else(|| group.requests.remove(&place));
        }
        state.groups.retain(|group| !group.requests.is_empty());
        drop(state);
        drop(left); // what it holds takes locks of its own
    }

    /// Does a request wait for this?
    pub(super) fn waits_for(&self, awaited: &A) -> bool {
        self.is_used.load(Ordering::Acquire)
            && self.state.lock().groups.iter().any(|group| group.awaited == *awaited)
    }
}

impl<S, A> LineState<S, A> {
    /// Takes out those that need not wait any more, by their places.
    fn take_ready(
        &mut self,
        is_over: impl Fn(&A) -> bool,
        now: Instant,
    ) -> BTreeMap<u64, HeldRequest<S>> {
        let mut ready = BTreeMap::new();
        for group in &mut self.groups {
            if is_over(&group.awaited) {
                ready.append(&mut group.requests);
            }
            // Those that came first have waited longest.
            while let Some(first) = group.requests.first_entry()
                && first.get().until <= now
            {
                let (place, request) = first.remove_entry();
                ready.insert(place, request);
            }
        }
        self.groups.retain(|group| !group.requests.is_empty());
        ready
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What reached the servers, in this order.
    type Sent = Mutex<Vec<&'static str>, rank::ServerWarnings>;

    type TestLine = WaitingLine<Sent, &'static str>;

    fn wait(line: &TestLine, server: &'static str, name: &'static str, until: Instant) -> u64 {
        let place = line.place();
        let resume = Box::new(move |sent: &Arc<Sent>, _, _: &mut FlushSet| sent.lock().push(name));
        line.wait(place, server, until, resume);
        place
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[tokio::test]
    async fn requests_go_on_in_the_order_in_which_they_came_and_before_new_ones() {
        let (line, sent) = (TestLine::default(), Arc::new(Sent::default()));
        let mut touched = FlushSet::default();
        assert!(line.behind(&sent, |_| true, &mut touched).is_none(), "nobody waits");
        for (server, name) in [("a", "a1"), ("b", "b1"), ("a", "a2"), ("c", "c1"), ("b", "b2")] {
            wait(&line, server, name, later());
        }
        assert!(line.waits_for(&"a") && !line.waits_for(&"d"));
        line.go_on(&sent, |_| false, &mut touched);
        assert!(sent.lock().is_empty());
        let turn = line.behind(&sent, |server| *server != "c", &mut touched);
        assert_eq!(*sent.lock(), ["a1", "b1", "a2", "b2"]);
        assert!(turn.is_some() && !line.waits_for(&"a") && line.waits_for(&"c"));
        drop(turn);
        line.go_on(&sent, |_| true, &mut touched);
        assert_eq!(sent.lock().last(), Some(&"c1"));
        assert!(line.behind(&sent, |_| true, &mut touched).is_none());
    }

    #[tokio::test]
    async fn a_request_that_waits_once_more_keeps_its_place() {
        let (line, sent) = (Arc::new(TestLine::default()), Arc::new(Sent::default()));
        let (place, again) = (line.place(), Arc::clone(&line));
        let resume: Resume<Sent> = Box::new(move |_, place, _| {
            let resume =
                Box::new(|sent: &Arc<Sent>, _, _: &mut FlushSet| sent.lock().push("first"));
            again.wait(place, "a", later(), resume);
        });
        line.wait(place, "a", later(), resume);
        let mut touched = FlushSet::default();
        let turn = line.behind(&sent, |_| true, &mut touched);
        wait(&line, "a", "second", later());
        drop(turn);
        line.go_on(&sent, |_| true, &mut touched);
        assert_eq!(*sent.lock(), ["first", "second"]);
    }

    #[tokio::test]
    async fn who_has_waited_too_long_or_has_left_is_waited_for_by_nobody() {
        let (line, sent) = (TestLine::default(), Arc::new(Sent::default()));
        wait(&line, "a", "late", Instant::now());
        let left = wait(&line, "a", "left", later());
        wait(&line, "a", "waits", later());
        line.leave(left);
        let mut touched = FlushSet::default();
        line.go_on(&sent, |_| false, &mut touched);
        assert_eq!(*sent.lock(), ["late"]);
        line.go_on(&sent, |_| true, &mut touched);
        assert_eq!(*sent.lock(), ["late", "waits"]);
        line.leave(wait(&line, "a", "left", later()));
        assert!(!line.waits_for(&"a"));
        line.go_on(&sent, |_| true, &mut touched);
        assert!(line.behind(&sent, |_| true, &mut touched).is_none());
    }
}
