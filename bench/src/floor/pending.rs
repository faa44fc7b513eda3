//! Who waits for the answer to which of our ids: a slab, so that an id is an index.

/// What to do with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiter {
    /// Give it to the client under the id kept in the slot.
    Client,
    /// A child's answer to `initialize`.
    Initialize,
    /// A child's answer to `tools/list`.
    List,
}

#[derive(Debug)]
struct Slot {
    waiter: Waiter,
    /// The client's id as written; the allocation stays with the slot.
    id: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Pending {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

impl Pending {
    /// Remembers a request and returns our id for it.
    pub(super) fn add(&mut self, waiter: Waiter, id: &[u8]) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { waiter, id: Vec::with_capacity(24) });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[index];
        slot.waiter = waiter;
        slot.id.clear();
        slot.id.extend_from_slice(id);
        index
    }

    /// Forgets a request; the id is valid until the next `add`.
    pub(super) fn take(&mut self, index: usize) -> Option<(Waiter, &[u8])> {
        let slot = self.slots.get(index)?;
        self.free.push(index);
        Some((slot.waiter, &slot.id))
    }
}
