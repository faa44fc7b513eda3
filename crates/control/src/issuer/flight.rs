//! `Flight`: whether keys are being fetched, may be fetched, and are still good. Pure.

use std::time::Instant;

use crate::access::{Fetches, KeysDecision, LONGEST_USE, decide_keys, is_due};

/// One at a time, for all who wait.
#[derive(Debug, Default)]
pub(super) struct Flight {
    fetches: Fetches,
    is_under_way: bool,
}

impl Flight {
    /// A key is missing: will there be other keys soon?
    pub(super) fn is_worth_waiting(&self, now: Instant) -> bool {
        self.is_under_way || decide_keys(now, self.fetches, false) == KeysDecision::Refetch
    }

    /// Begins a fetch if one is due, or if a key is missing and it is not too early. A try counts
    /// from here on, whatever comes of it.
    pub(super) fn begin(&mut self, now: Instant, is_wished: bool) -> bool {
        let may = match is_wished {
            true => decide_keys(now, self.fetches, false) == KeysDecision::Refetch,
            false => is_due(now, self.fetches),
        };
        let begins = may && !self.is_under_way;
        if begins {
            self.is_under_way = true;
            self.fetches.tried = Some(now);
        }
        begins
    }

    pub(super) fn end(&mut self, now: Instant, has_come: bool) {
        self.is_under_way = false;
        if has_come {
            self.fetches.fetched = Some(now);
        }
    }

    /// True once: the keys at hand are too old to be used.
    pub(super) fn take_expired(&mut self, now: Instant) -> bool {
        let is_old = |at: &mut Instant| now.saturating_duration_since(*at) > LONGEST_USE;
        self.fetches.fetched.take_if(is_old).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn one_fetches_for_all_and_none_too_early() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut flight = Flight::default();
        assert!(flight.is_worth_waiting(at(0)));
        assert!(flight.begin(at(0), false));
        // under way: all wait for the same
        assert!(flight.is_worth_waiting(at(1)) && !flight.begin(at(40), true));
        flight.end(at(2), false);
        for (seconds, wished, begins) in [(3, true, false), (29, false, false), (30, true, true)] {
            assert_eq!(flight.is_worth_waiting(at(seconds)), begins, "{seconds}");
            assert_eq!(flight.begin(at(seconds), wished), begins, "{seconds}");
        }
        flight.end(at(31), true);
        // A wish is not too early half a minute after the last try; without one there is time.
        assert!(!flight.is_worth_waiting(at(59)) && !flight.begin(at(59), true));
        assert!(flight.is_worth_waiting(at(60)) && !flight.begin(at(60), false));
        assert!(flight.begin(at(60), true));
        flight.end(at(61), true);
        assert!(!flight.begin(at(660), false) && flight.begin(at(661), false));
    }

    #[test]
    fn keys_are_good_for_a_day_without_the_issuer_and_end_once() {
        let start = Instant::now();
        let mut flight = Flight::default();
        assert!(!flight.take_expired(start + LONGEST_USE * 2), "there are none");
        assert!(flight.begin(start, false));
        flight.end(start, true);
        let second = Duration::from_secs(1);
        assert!(!flight.take_expired(start + LONGEST_USE));
        assert!(flight.take_expired(start + LONGEST_USE + second));
        assert!(!flight.take_expired(start + LONGEST_USE + second * 2));
    }
}
