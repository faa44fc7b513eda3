//! The calls one server has open: a slab, so that an answer finds its caller without a search.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

use tokio::sync::oneshot;

use crate::call::ReturnPath;
use crate::deadlines::Tick;
use crate::limits::OPEN_CALLS;

/// Who waits for an answer.
#[derive(Debug)]
pub(crate) enum Waiter {
    Client(ReturnPath),
    /// Trunkline itself, during a handshake or a listing.
    Own(oneshot::Sender<Vec<u8>>),
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) waiter: Waiter,
    pub(crate) deadline: Option<Tick>,
    /// Position in the server's input behind this request: what was not written did not run.
    pub(crate) sent_at: u64,
}

/// An id is `generation << INDEX_BITS | index`. The generation starts at random, so that a number
/// in some payload is not mistaken for one of our ids, and never repeats in a connection's life;
/// the whole stays below 2^53, which every JSON parser reads exactly.
#[derive(Debug)]
pub(crate) struct Pending {
    slots: Vec<Slot>,
    free: Vec<usize>,
    generation: u64,
}

#[derive(Debug)]
struct Slot {
    id: u64,
    entry: Option<Entry>,
}

const INDEX_BITS: u32 = OPEN_CALLS.trailing_zeros();
const GENERATIONS: u64 = 1 << 35;
/// Slots kept when nothing is open any more.
const KEPT_SLOTS: usize = 1024;

impl Pending {
    pub(crate) fn new() -> Self {
        let random = RandomState::new().build_hasher().finish();
        Self { slots: Vec::new(), free: Vec::new(), generation: random % (GENERATIONS / 2) }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The id the next entry gets, or `None` if there are too many.
    pub(crate) fn next_id(&mut self) -> Option<u64> {
        let index = self.free.last().copied().unwrap_or(self.slots.len());
        if index >= OPEN_CALLS {
            return None;
        }
        self.generation += 1;
        Some(((self.generation % GENERATIONS) << INDEX_BITS) | index as u64)
    }

    /// Stores an entry under the id that `next_id` just gave.
    pub(crate) fn insert(&mut self, id: u64, entry: Entry) {
        let slot = Slot { id, entry: Some(entry) };
        match self.free.pop().and_then(|index| self.slots.get_mut(index)) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Entry> {
        let slot = self.slots.get(index(id))?;
        slot.entry.as_ref().filter(|_| slot.id == id)
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<Entry> {
        let slot = self.slots.get_mut(index(id)).filter(|slot| slot.id == id)?;
        let entry = slot.entry.take()?;
        self.free.push(index(id));
        if self.free.len() == self.slots.len() && self.slots.len() > KEPT_SLOTS {
            self.slots = Vec::new();
            self.free = Vec::new();
        }
        Some(entry)
    }

    /// The only open call, if there is exactly one.
    pub(crate) fn only(&self) -> Option<u64> {
        if self.len() != 1 {
            return None;
        }
        self.slots.iter().find(|slot| slot.entry.is_some()).map(|slot| slot.id)
    }

    pub(crate) fn expired(&self, now: Tick) -> Vec<u64> {
        let late = |entry: &Entry| entry.deadline.is_some_and(|deadline| deadline <= now);
        let open = self.slots.iter().filter(|slot| slot.entry.as_ref().is_some_and(late));
        open.map(|slot| slot.id).collect()
    }

    pub(crate) fn drain(&mut self) -> Vec<Entry> {
        self.free.clear();
        self.slots.drain(..).filter_map(|slot| slot.entry).collect()
    }
}

fn index(id: u64) -> usize {
    usize::try_from(id & ((1 << INDEX_BITS) - 1)).unwrap_or(usize::MAX)
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
    fn a_slot_used_again_has_another_id() {
        let mut pending = Pending::new();
        let first = pending.next_id().unwrap();
        pending.insert(first, entry());
        pending.remove(first);
        let second = pending.next_id().unwrap();
        pending.insert(second, entry());
        assert_ne!(first, second);
        assert!(pending.get(first).is_none());
        assert!(pending.get(second).is_some());
        assert!(second < 1 << 53);
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
        assert_eq!(pending.slots.capacity(), 0);
        assert!(pending.next_id().is_some());
    }
}
