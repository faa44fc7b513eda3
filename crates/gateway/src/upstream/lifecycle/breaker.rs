//! When a server that has failed is tried again: soon, then ever later, and after too many failures in
//! a row only now and then (the circuit is open). Pure.

use std::time::Duration;

use crate::limits::{BACKOFF_FIRST, BACKOFF_LONGEST, FAILURES_IN_A_ROW};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Breaker {
    /// Failures since the server was last of use.
    failures: u32,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BreakerStep {
    /// Before it is tried again.
    pub(crate) pause: Duration,
    /// Too many failures in a row: nobody should wait for it.
    pub(crate) is_open: bool,
    pub(crate) failures: u32,
}

impl Breaker {
    /// A life has ended, or never began. `was_of_use`: it has answered somebody, or lasted a while. A
    /// server that only starts well and dies is none that came back.
    pub(crate) fn failed(&mut self, was_of_use: bool) -> BreakerStep {
        self.failures = if was_of_use { 1 } else { self.failures.saturating_add(1) };
        let is_open = self.failures >= FAILURES_IN_A_ROW;
        // Bounded, so that the shift cannot overflow.
        let doublings = self.failures.saturating_sub(1).min(16);
        let pause = match self.failures {
            // Open: one attempt after each pause, and if that fails as well, it stays open.
            FAILURES_IN_A_ROW => BACKOFF_LONGEST / 2,
            _ if is_open => BACKOFF_LONGEST,
            _ => BACKOFF_FIRST.saturating_mul(1 << doublings).min(BACKOFF_LONGEST),
        };
        BreakerStep { pause, is_open, failures: self.failures }
    }

    /// Somebody wants it tried again as if nothing had happened.
    pub(crate) fn close(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_the_fifth_failure_in_a_row_opens_the_circuit() {
        let mut breaker = Breaker::default();
        let steps: Vec<_> = (0..6).map(|_| breaker.failed(false)).collect();
        let pauses: Vec<_> = steps.iter().map(|step| step.pause.as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 30_000, 60_000]);
        let open: Vec<_> = steps.iter().map(|step| step.is_open).collect();
        assert_eq!(open, [false, false, false, false, true, true]);
    }

    #[test]
    fn a_life_of_use_closes_it_and_so_does_a_word() {
        let mut breaker = Breaker::default();
        for _ in 0..100 {
            assert!(!breaker.failed(true).is_open, "it was of use each time");
        }
        for _ in 0..4 {
            breaker.failed(false);
        }
        assert!(breaker.failed(false).is_open);
        breaker.close();
        assert_eq!(breaker.failed(false), Breaker::default().failed(false));
    }
}
