//! `KeySchedule`: when the keys of an issuer are fetched again, and how long the last ones are good
//! without. Pure.

use std::time::{Duration, Instant};

use trunkline_gateway::shortened;

/// A token that names an unknown key makes us ask the issuer, and anybody can invent such tokens:
/// no more often than this.
const BETWEEN_TRIES: Duration = Duration::from_secs(30);

/// While the issuer cannot be reached, its last keys are good for this long. A key that it has
/// withdrawn in the meantime is good for as long.
const LONGEST_USE: Duration = Duration::from_secs(24 * 60 * 60);

/// How often keys are fetched for no other reason than that some may have been withdrawn.
const USUAL_USE: Duration = Duration::from_secs(10 * 60);

/// One fetch at a time, for all who wait.
#[derive(Debug, Default)]
pub(super) struct KeySchedule {
    /// When it was last tried, whatever came of it; a try under way counts.
    tried: Option<Instant>,
    /// When the keys at hand were fetched.
    fetched: Option<Instant>,
    is_under_way: bool,
}

impl KeySchedule {
    /// A key is missing: will there be other keys soon?
    pub(super) fn is_worth_waiting(&self, now: Instant) -> bool {
        self.is_under_way || self.may_try(now)
    }

    /// Begins a fetch if one is due, or if a key is missing and it is not too early. A try counts
    /// from here on, whatever comes of it.
    pub(super) fn begin(&mut self, now: Instant, is_wished: bool) -> bool {
        let is_old = |at| now.saturating_duration_since(at) >= USUAL_USE;
        let is_due = is_wished || self.fetched.is_none_or(is_old);
        let begins = is_due && self.may_try(now) && !self.is_under_way;
        if begins {
            self.is_under_way = true;
            self.tried = Some(now);
        }
        begins
    }

    pub(super) fn end(&mut self, now: Instant, has_come: bool) {
        self.is_under_way = false;
        if has_come {
            self.fetched = Some(now);
        }
    }

    /// True once: the keys at hand are too old to be used.
    pub(super) fn forget_expired(&mut self, now: Instant) -> bool {
        let is_old = |at: &mut Instant| now.saturating_duration_since(*at) > LONGEST_USE;
        self.fetched.take_if(is_old).is_some()
    }

    fn may_try(&self, now: Instant) -> bool {
        self.tried.is_none_or(|at| now.saturating_duration_since(at) >= shortened(BETWEEN_TRIES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `good`: tokens that name a key at hand are checked with it.
    #[test]
    fn keys_are_used_fetched_again_or_forgotten() {
        const DAY: u64 = 24 * 60 * 60;
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        for (now, tried, fetched, good, wish, due) in [
            // nothing yet
            (0, None, None, false, true, true),
            // failing from the start
            (29, Some(0), None, false, false, false),
            (30, Some(0), None, false, true, true),
            // fresh
            (1, Some(0), Some(0), true, false, false),
            (29, Some(0), Some(0), true, false, false),
            (30, Some(0), Some(0), true, true, false),
            (599, Some(0), Some(0), true, true, false),
            (600, Some(0), Some(0), true, true, true),
            // the issuer is gone
            (620, Some(600), Some(0), true, false, false),
            (DAY, Some(DAY - 30), Some(0), true, true, true),
            (DAY + 1, Some(DAY - 1), Some(0), false, false, false),
            (DAY + 1, Some(DAY - 29), Some(0), false, true, true),
        ] {
            let row = format!("{now} {tried:?} {fetched:?}");
            let schedule = || KeySchedule {
                tried: tried.map(at),
                fetched: fetched.map(at),
                is_under_way: false,
            };
            assert_eq!(schedule().begin(at(now), true), wish, "{row}");
            assert_eq!(schedule().begin(at(now), false), due, "{row}");
            let mut schedule = schedule();
            assert_eq!(schedule.forget_expired(at(now)), fetched.is_some() && !good, "{row}");
            assert_eq!(schedule.fetched.is_some(), good, "{row}");
        }
    }

    #[test]
    fn one_fetches_for_all_and_none_too_early() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut schedule = KeySchedule::default();
        assert!(schedule.is_worth_waiting(at(0)));
        assert!(schedule.begin(at(0), false));
        // under way: all wait for the same
        assert!(schedule.is_worth_waiting(at(1)) && !schedule.begin(at(40), true));
        schedule.end(at(2), false);
        for (seconds, wished, begins) in [(3, true, false), (29, false, false), (30, true, true)] {
            assert_eq!(schedule.is_worth_waiting(at(seconds)), begins, "{seconds}");
            assert_eq!(schedule.begin(at(seconds), wished), begins, "{seconds}");
        }
        schedule.end(at(31), true);
        // A wish is not too early half a minute after the last try; without one there is time.
        assert!(!schedule.is_worth_waiting(at(59)) && !schedule.begin(at(59), true));
        assert!(schedule.is_worth_waiting(at(60)) && !schedule.begin(at(60), false));
        assert!(schedule.begin(at(60), true));
        schedule.end(at(61), true);
        assert!(!schedule.begin(at(660), false) && schedule.begin(at(661), false));
    }

    #[test]
    fn keys_are_good_for_a_day_without_the_issuer_and_end_once() {
        let start = Instant::now();
        let mut schedule = KeySchedule::default();
        assert!(!schedule.forget_expired(start + LONGEST_USE * 2), "there are none");
        assert!(schedule.begin(start, false));
        schedule.end(start, true);
        let second = Duration::from_secs(1);
        assert!(!schedule.forget_expired(start + LONGEST_USE));
        assert!(schedule.forget_expired(start + LONGEST_USE + second));
        assert!(!schedule.forget_expired(start + LONGEST_USE + second * 2));
    }
}
