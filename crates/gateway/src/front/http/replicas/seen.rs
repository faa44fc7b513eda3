//! `SeenRequests`: the numbers of the requests that other replicas have passed on lately. Each is taken once.

use std::collections::{HashSet, VecDeque};

use foldhash::quality::RandomState;

use super::token::RequestNumber;

/// So many are remembered while they are good.
const FORWARDS_REMEMBERED: usize = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct SeenRequests {
    seen: HashSet<RequestNumber, RandomState>,
    /// In the order in which they came, each with the second after which nobody takes it any more.
    order: VecDeque<(u64, RequestNumber)>,
}

impl SeenRequests {
    /// False: it was here before, or too many came lately to remember another.
    pub(super) fn note(&mut self, number: RequestNumber, expires: u64, now: u64) -> bool {
        // They expire nearly in the order in which they come; one that is out of order is kept a little longer.
        while let Some((until, oldest)) = self.order.front()
            && *until <= now
        {
            self.seen.remove(oldest);
            self.order.pop_front();
        }
        // Forgetting one in time would let it be taken twice: none is taken that cannot be remembered.
        if self.order.len() >= FORWARDS_REMEMBERED || !self.seen.insert(number) {
            return false;
        }
        self.order.push_back((expires, number));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(which: usize) -> RequestNumber {
        let mut number = [0; 16];
        number[..8].copy_from_slice(&which.to_le_bytes());
        number
    }

    #[test]
    fn each_is_taken_once_while_it_is_valid() {
        let mut seen = SeenRequests::default();
        assert!(seen.note(number(1), 10, 0));
        assert!(!seen.note(number(1), 10, 9));
        assert!(seen.note(number(2), 20, 9));
        assert!(seen.note(number(1), 30, 10), "its seal has expired: it cannot come again");
        assert!(!seen.note(number(2), 20, 10));
    }

    #[test]
    fn what_cannot_be_remembered_is_not_taken() {
        let mut seen = SeenRequests::default();
        assert!((0..FORWARDS_REMEMBERED).all(|which| seen.note(number(which), 10, 0)));
        assert!(!seen.note(number(FORWARDS_REMEMBERED), 10, 0));
        assert!(seen.note(number(FORWARDS_REMEMBERED), 20, 10));
    }
}
