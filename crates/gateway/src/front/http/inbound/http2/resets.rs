//! `ResetBudget`: how many requests a client may take back before they are answered.

use super::bounds::{RESETS, RESETS_PER_SECOND};

/// A request that is taken back frees its place among the open streams at once, while what it has begun may
/// still run: without a bound, a client could begin any number (CVE-2023-44487).
#[derive(Debug)]
pub(super) struct ResetBudget {
    left: u32,
    /// Seconds of the front's clock.
    since: u32,
}

impl ResetBudget {
    pub(super) fn new(now: u32) -> Self {
        Self { left: RESETS, since: now }
    }

    /// False: these were too many.
    pub(super) fn take(&mut self, now: u32) -> bool {
        let grown = now.saturating_sub(self.since).saturating_mul(RESETS_PER_SECOND);
        self.left = self.left.saturating_add(grown).min(RESETS);
        self.since = now;
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_at_once_and_so_many_a_second() {
        let mut budget = ResetBudget::new(7);
        assert!((1..RESETS).all(|_| budget.take(7)) && !budget.take(7));
        let mut slow = ResetBudget::new(7);
        for second in 8..100 {
            assert!((0..RESETS_PER_SECOND).all(|_| slow.take(second)), "{second}");
        }
        assert!((0..RESETS).any(|_| !slow.take(100)));
    }
}
