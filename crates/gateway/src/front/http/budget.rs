//! The memory that large bodies on their way in may take together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::{LARGE_BODIES, LARGE_BODY};

#[derive(Debug, Default)]
pub(super) struct Budget(AtomicUsize);

/// What one body has of it; given back when dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Share {
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Makes it enough for a body of `length`. False: there is no room for that now.
    pub(super) fn grow(&mut self, length: usize) -> bool {
        let more = length.saturating_sub(self.bytes);
        if length <= LARGE_BODY || more == 0 {
            return true;
        }
        let before = self.budget.0.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        before + more <= LARGE_BODIES
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bodies_share_what_there_is() {
        let budget = Arc::new(Budget::default());
        let mut one = Share::new(&budget);
        assert!(one.grow(LARGE_BODIES / 2) && one.grow(LARGE_BODIES));
        let mut other = Share::new(&budget);
        assert!(other.grow(LARGE_BODY), "small ones always fit");
        assert!(!other.grow(LARGE_BODY + 1));
        drop((one, other));
        assert!(Share::new(&budget).grow(LARGE_BODIES));
    }
}
