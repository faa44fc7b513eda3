//! Who waits for the answer to which of our ids: a slab, so that an id is an index.

#[derive(Debug)]
struct Slot<W> {
    waiter: W,
    /// The client's id as written; the allocation stays with the slot.
    id: Vec<u8>,
}

/// `W` says what to do with an answer.
#[derive(Debug)]
pub(super) struct Pending<W> {
    slots: Vec<Slot<W>>,
    free: Vec<usize>,
}

impl<W> Default for Pending<W> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<W: Copy> Pending<W> {
    /// Remembers a request and returns our id for it.
    pub(super) fn add(&mut self, waiter: W, id: &[u8]) -> usize {
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
    pub(super) fn take(&mut self, index: usize) -> Option<(W, &[u8])> {
        let slot = self.slots.get(index)?;
        self.free.push(index);
        Some((slot.waiter, &slot.id))
    }
}
