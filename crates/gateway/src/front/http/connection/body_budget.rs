//! `BodyBudget`: the memory that large request bodies may take together while they arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::{LARGE_BODIES, LARGE_BODY};

#[derive(Debug, Default)]
pub(crate) struct BodyBudget(AtomicUsize);

/// The part of the budget that one body holds; returned when dropped.
#[derive(Debug)]
pub(crate) struct BodyShare {
    budget: Arc<BodyBudget>,
    bytes: usize,
}

impl BodyShare {
    pub(crate) fn new(budget: &Arc<BodyBudget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Grows the share to a body of `length`. False: the budget is exhausted.
    pub(crate) fn grow(&mut self, length: usize) -> bool {
        let more = length.saturating_sub(self.bytes);
        if length <= LARGE_BODY || more == 0 {
            return true;
        }
        // Relaxed: the counter guards no other memory, and a short overshoot is harmless.
        let before = self.budget.0.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        before + more <= LARGE_BODIES
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bodies_share_what_there_is() {
        let budget = Arc::new(BodyBudget::default());
        let mut one = BodyShare::new(&budget);
        assert!(one.grow(LARGE_BODIES / 2) && one.grow(LARGE_BODIES));
        let mut other = BodyShare::new(&budget);
        assert!(other.grow(LARGE_BODY), "small ones always fit");
        assert!(!other.grow(LARGE_BODY + 1));
        drop((one, other));
        assert!(BodyShare::new(&budget).grow(LARGE_BODIES));
    }
}
