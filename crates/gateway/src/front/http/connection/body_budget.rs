//! `BodyBudget`: the memory that request bodies may take together while they arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::{CALLERS_BODIES, STRANGERS_BODIES};

#[derive(Debug, Default)]
pub(crate) struct BodyBudget {
    callers: AtomicUsize,
    strangers: AtomicUsize,
}

/// Who sends a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodySender {
    /// Somebody who may send it.
    Caller,
    /// Not known, or not yet: what they send must not take the room of callers.
    Stranger,
}

/// The part of the budget that one body holds; returned when dropped.
#[derive(Debug)]
pub(crate) struct BodyShare {
    budget: Arc<BodyBudget>,
    sender: BodySender,
    bytes: usize,
}

impl BodyBudget {
    /// What is in use by senders of this kind, and how much they may use.
    fn part(&self, sender: BodySender) -> (&AtomicUsize, usize) {
        match sender {
            BodySender::Caller => (&self.callers, CALLERS_BODIES),
            BodySender::Stranger => (&self.strangers, STRANGERS_BODIES),
        }
    }
}

impl BodyShare {
    pub(crate) fn new(budget: &Arc<BodyBudget>, sender: BodySender) -> Self {
        Self { budget: Arc::clone(budget), sender, bytes: 0 }
    }

    /// Grows the share to what has come of a body. False: the budget is exhausted.
    pub(crate) fn grow(&mut self, length: usize) -> bool {
        let more = length.saturating_sub(self.bytes);
        let (used, most) = self.budget.part(self.sender);
        // Relaxed: the counter guards no other memory, and a short overshoot is harmless.
        let before = used.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        more == 0 || before + more <= most
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        // Relaxed: the counter guards no other memory.
        self.budget.part(self.sender).0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_what_there_is_and_strangers_have_their_own() {
        let budget = Arc::new(BodyBudget::default());
        for (sender, most) in
            [(BodySender::Caller, CALLERS_BODIES), (BodySender::Stranger, STRANGERS_BODIES)]
        {
            let mut one = BodyShare::new(&budget, sender);
            assert!(one.grow(most / 2) && one.grow(most) && one.grow(most));
            let mut other = BodyShare::new(&budget, sender);
            assert!(other.grow(0) && !other.grow(1), "small ones count, too");
            drop((one, other));
            assert!(BodyShare::new(&budget, sender).grow(most));
        }
        let mut strangers = BodyShare::new(&budget, BodySender::Stranger);
        assert!(!strangers.grow(STRANGERS_BODIES + 1));
        assert!(BodyShare::new(&budget, BodySender::Caller).grow(1), "callers have their room");
    }
}
