//! The calls one server has open, by the id we gave them.

use std::collections::hash_map::RandomState as Random;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::{Arc, Weak};
use std::time::Instant;

use foldhash::fast::RandomState;
use tokio::sync::oneshot;

use crate::call::{Client, ReturnPath};
use crate::deadlines::Tick;
use crate::limits::{ABANDONED, MOST_ABANDONED, OPEN_CALLS};

/// An id of ours. Counts up from a random nine-digit number: a small number in some payload or a
/// stray answer is not mistaken for one of ours, and a server that keeps ids in 32 bits, or prints
/// numbers with 14 digits, still answers under the right one.
pub(crate) type UpstreamId = u32;

const FIRST: UpstreamId = 100_000_000;
const LAST: UpstreamId = 2_000_000_000;

/// Who waits for an answer.
#[derive(Debug)]
pub(crate) enum Waiter {
    Client(ReturnPath),
    /// Trunkline itself, during a handshake or a listing: the whole response, or why there is none.
    Own(oneshot::Sender<Result<Vec<u8>, String>>),
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) waiter: Waiter,
    pub(crate) deadline: Option<Tick>,
    /// Position in the server's input behind this request: what was not written did not run.
    pub(crate) sent_at: u64,
}

#[derive(Debug)]
pub(crate) struct Pending {
    open: HashMap<UpstreamId, Entry, RandomState>,
    last: UpstreamId,
    /// Numbers are being used again: each has to be looked up first.
    went_round: bool,
    /// Calls nobody waits for any more, which the server may still be at.
    abandoned: VecDeque<Abandoned>,
}

#[derive(Debug)]
struct Abandoned {
    id: UpstreamId,
    client: Weak<Client>,
    since: Instant,
}

/// Room kept when nothing is open any more.
const KEPT_CAPACITY: usize = 1024;

impl Pending {
    pub(crate) fn new() -> Self {
        let random = Random::new().build_hasher().finish() % 100_000_000;
        let last = FIRST + UpstreamId::try_from(random).unwrap_or_default();
        Self { open: HashMap::default(), last, went_round: false, abandoned: VecDeque::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// An id that is not in use, or `None` if too many are.
    pub(crate) fn next_id(&mut self) -> Option<UpstreamId> {
        if self.open.len() >= OPEN_CALLS {
            return None;
        }
        loop {
            if self.last < LAST {
                self.last += 1;
            } else {
                self.last = FIRST;
                self.went_round = true;
            }
            if !self.went_round || !self.open.contains_key(&self.last) {
                return Some(self.last);
            }
        }
    }

    pub(crate) fn insert(&mut self, id: UpstreamId, entry: Entry) {
        self.open.insert(id, entry);
    }

    pub(crate) fn get(&self, id: UpstreamId) -> Option<&Entry> {
        self.open.get(&id)
    }

    pub(crate) fn remove(&mut self, id: UpstreamId) -> Option<Entry> {
        let entry = self.open.remove(&id);
        if self.open.is_empty() && self.open.capacity() > KEPT_CAPACITY {
            self.open.shrink_to(KEPT_CAPACITY / 2);
        }
        entry
    }

    /// Nobody waits for this call any more. Until the server answers it, or for a good while, what
    /// the server says may still belong to it.
    pub(crate) fn abandon(&mut self, id: UpstreamId, client: &Arc<Client>) {
        let late = |held: &Abandoned| held.since.elapsed() >= ABANDONED;
        while self.abandoned.len() >= MOST_ABANDONED || self.abandoned.front().is_some_and(late) {
            self.abandoned.pop_front();
        }
        let client = Arc::downgrade(client);
        self.abandoned.push_back(Abandoned { id, client, since: Instant::now() });
    }

    /// The server has answered a call nobody waits for.
    pub(crate) fn is_over(&mut self, id: UpstreamId) {
        self.abandoned.retain(|held| held.id != id);
    }

    /// Is the server perhaps still at a call that somebody else than `client` has given up?
    pub(crate) fn may_be_anothers(&self, client: Option<&Arc<Client>>) -> bool {
        let client = client.map(Arc::downgrade);
        let others = |held: &&Abandoned| {
            held.since.elapsed() < ABANDONED
                && !client.as_ref().is_some_and(|client| held.client.ptr_eq(client))
        };
        self.abandoned.iter().any(|held| others(&held))
    }

    /// The only open call, if there is exactly one.
    pub(crate) fn only(&self) -> Option<UpstreamId> {
        let mut ids = self.open.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    pub(crate) fn expired(&self, now: Tick) -> Vec<UpstreamId> {
        let late = |entry: &Entry| entry.deadline.is_some_and(|deadline| deadline <= now);
        self.open.iter().filter(|(_, entry)| late(entry)).map(|(id, _)| *id).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.open.values()
    }

    pub(crate) fn drain(&mut self) -> Vec<(UpstreamId, Entry)> {
        std::mem::take(&mut self.open).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        let (sender, _) = oneshot::channel();
        Entry { waiter: Waiter::Own(sender), deadline: None, sent_at: 0 }
    }

    #[test]
    fn an_id_finds_its_entry_once() {
        let mut pending = Pending::new();
        let id = pending.next_id().unwrap();
        pending.insert(id, entry());
        assert_eq!(pending.only(), Some(id));
        assert!(pending.get(id).is_some());
        assert!(pending.remove(id).is_some());
        assert!(pending.remove(id).is_none());
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn k20_what_was_given_up_may_still_speak() {
        let (one, two) = (Arc::new(Client::default()), Arc::new(Client::default()));
        let mut pending = Pending::new();
        assert!(!pending.may_be_anothers(Some(&one)));
        pending.abandon(7, &one);
        assert!(!pending.may_be_anothers(Some(&one)), "its own");
        assert!(pending.may_be_anothers(Some(&two)));
        assert!(pending.may_be_anothers(None));
        pending.is_over(7);
        assert!(!pending.may_be_anothers(Some(&two)), "it was answered");
        for id in 0..5000 {
            pending.abandon(id, &two);
        }
        assert_eq!(pending.abandoned.len(), MOST_ABANDONED);
    }

    #[test]
    fn ids_go_round_and_skip_what_is_open() {
        let mut pending = Pending::new();
        pending.last = LAST - 1;
        let first = pending.next_id().unwrap();
        pending.insert(first, entry());
        assert_eq!(first, LAST);
        pending.insert(FIRST, entry());
        assert_eq!(pending.next_id(), Some(FIRST + 1));
        assert!(i32::try_from(LAST).is_ok());
    }

    #[test]
    fn the_bound_holds_and_a_burst_is_given_back() {
        let mut pending = Pending::new();
        let mut ids = Vec::new();
        while let Some(id) = pending.next_id() {
            pending.insert(id, entry());
            ids.push(id);
        }
        assert_eq!(ids.len(), OPEN_CALLS);
        for id in ids {
            assert!(pending.remove(id).is_some());
        }
        assert!(pending.open.capacity() <= KEPT_CAPACITY);
        assert!(pending.next_id().is_some());
    }
}
