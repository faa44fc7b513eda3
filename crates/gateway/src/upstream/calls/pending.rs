//! The calls one server has open, by the id we gave them.

use std::collections::HashMap;
use std::collections::hash_map::RandomState as Random;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;

use tokio::sync::oneshot;
use trunkline_wire::FaultKind;

use crate::call::ReplyTo;
use crate::deadlines::Tick;
use crate::limits::OPEN_CALLS;
use crate::upstream::calls::notices::Notices;
use crate::upstream::calls::table::CallTable;
use crate::upstream::questions::cancelled::CancelledCalls;
use crate::upstream::questions::parked::Parked;
use crate::upstream::transport::UpstreamId;

const FIRST: UpstreamId = 100_000_000;
const LAST: UpstreamId = 2_000_000_000;

/// Who waits for an answer.
#[derive(Debug)]
pub(crate) enum Waiter {
    Client(ReplyTo),
    /// Trunkline itself, during a handshake or a listing: the whole response, or why there is none.
    Own(oneshot::Sender<Result<Vec<u8>, String>>),
    /// Trunkline itself, with a request to be told of changes: answered when the server tells no more.
    Listening(oneshot::Sender<Result<Vec<u8>, String>>),
    /// Nobody at the moment: the server has asked something, and its client will come again.
    Parked(Arc<Parked>),
    /// A ping that tells how far the server has read: see `CancelledCalls`.
    Fence,
}

impl Waiter {
    /// Does a client get what the server answers, as it is?
    pub(in crate::upstream) fn is_of_client(&self) -> bool {
        matches!(self, Self::Client(_) | Self::Parked(_))
    }

    /// Is it open beside the calls, whatever comes?
    fn is_lasting(&self) -> bool {
        matches!(self, Self::Listening(_) | Self::Fence)
    }
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) waiter: Waiter,
    pub(crate) deadline: Option<Tick>,
    /// Position in the server's input behind this request: what was not written did not run.
    pub(crate) sent_at: u64,
}

/// What a call ends with if an answer without an id is its own.
#[derive(Debug)]
pub(crate) enum Unowned {
    /// The server's own error: the whole message.
    Refusal(Vec<u8>),
    Broken(FaultKind),
}

#[derive(Debug)]
pub(crate) struct Pending {
    open: CallTable<Entry>,
    last: UpstreamId,
    /// Numbers are being used again: each has to be looked up first.
    went_round: bool,
    /// The connection is over.
    pub(crate) closed: bool,
    pub(crate) cancelled: CancelledCalls,
    pub(crate) notices: Notices,
    /// Calls that an answer without an id may belong to: what they end with unless theirs comes soon.
    /// No more than are open, but for those that were answered within `REAL_ANSWER`.
    pub(crate) suspected: HashMap<UpstreamId, Unowned>,
}

impl Pending {
    pub(crate) fn new() -> Self {
        let random = Random::new().build_hasher().finish() % 100_000_000;
        let last = FIRST + UpstreamId::try_from(random).unwrap_or_default();
        Self {
            open: CallTable::default(),
            last,
            went_round: false,
            closed: false,
            cancelled: CancelledCalls::default(),
            notices: Notices::default(),
            suspected: HashMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// An id that is not in use, or `None` if too many are.
    pub(crate) fn next_id(&mut self) -> Option<UpstreamId> {
        if self.closed || self.open.len() >= OPEN_CALLS {
            return None;
        }
        loop {
            if self.last < LAST {
                self.last += 1;
            } else {
                self.last = FIRST;
                self.went_round = true;
                self.notices.start_over();
            }
            if !self.went_round || self.open.get(self.last).is_none() {
                return Some(self.last);
            }
        }
    }

    pub(crate) fn insert(&mut self, id: UpstreamId, entry: Entry) {
        self.open.insert(id, entry);
    }

    pub(crate) fn get(&self, id: UpstreamId) -> Option<&Entry> {
        self.open.get(id)
    }

    pub(crate) fn remove(&mut self, id: UpstreamId) -> Option<Entry> {
        self.open.remove(id)
    }

    /// Takes out the request that the server has answered.
    #[inline]
    pub(crate) fn take_answered(&mut self, id: UpstreamId) -> Option<Entry> {
        let entry = self.open.remove(id)?;
        self.notices.passed(id);
        Some(entry)
    }

    /// Something that has no answer is being sent.
    pub(crate) fn note_notice(&mut self) {
        self.notices.sent(self.last);
    }

    /// The only open call, if there is exactly one.
    pub(crate) fn only(&self) -> Option<UpstreamId> {
        let mut calls = self.open.iter().filter(|(_, entry)| !entry.waiter.is_lasting());
        calls.next().filter(|_| calls.next().is_none()).map(|(id, _)| id)
    }

    pub(crate) fn expired(&self, now: Tick) -> Vec<UpstreamId> {
        let late = |entry: &Entry| entry.deadline.is_some_and(|deadline| deadline <= now);
        self.open.iter().filter(|(_, entry)| late(entry)).map(|(id, _)| id).collect()
    }

    pub(crate) fn get_mut(&mut self, id: UpstreamId) -> Option<&mut Entry> {
        self.open.get_mut(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (UpstreamId, &Waiter)> {
        self.open.iter().map(|(id, entry)| (id, &entry.waiter))
    }

    /// Takes everything out, and nothing more in: whoever comes later is told at once.
    pub(crate) fn close(&mut self) -> Vec<(UpstreamId, Entry)> {
        self.closed = true;
        self.open.take()
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
    fn what_is_over_takes_nothing_more() {
        let mut pending = Pending::new();
        let id = pending.next_id().unwrap();
        pending.insert(id, entry());
        assert_eq!(pending.close().len(), 1);
        assert_eq!(pending.next_id(), None);
    }

    #[test]
    fn the_bound_holds() {
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
        assert!(pending.next_id().is_some());
    }
}
