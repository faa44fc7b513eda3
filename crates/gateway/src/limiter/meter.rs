//! `Meter`: what one caller, server, tool or address has used: a rate, open calls and a budget of bytes, as atomics.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use trunkline_catalog::config::LimitRules;

use super::refused::Limit;

// Relaxed, everywhere here: the counters guard no other memory, and each decision is one exchange of one of them.
const RELAXED: Ordering = Ordering::Relaxed;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// For so long a call counts that its caller has abandoned: see docs/decisions/abandoned-calls.md.
const ABANDONED: u64 = MINUTE;
/// As many may be abandoned in that time as may be open, and at least these: a person who changes their mind a few
/// times is not to be stopped where one call may be open.
const LEAST_ABANDONED: u32 = 16;

/// When calls are open that should not be more, one may end any moment: worth asking again after this.
const OPEN_AGAIN: Duration = Duration::from_secs(1);

/// Nanoseconds on the limiter's clock.
pub(crate) fn now() -> u64 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGAN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Rates are kept as GCRA keeps them: the moment at which everything taken so far would have been due at an even pace.
/// It may lie ahead by the burst, so that a pace is one number, and one whose moment is past is as good as new.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Is anything limited?
    is_on: AtomicBool,
    /// Nanoseconds from one call to the next at an even pace; 0: as fast as they come.
    pace: AtomicU64,
    /// How far ahead the moment may lie when a call comes.
    slack: AtomicU64,
    calls_due: AtomicU64,
    /// 0: any number.
    most_open: AtomicU32,
    open: AtomicU32,
    /// 0: any number.
    bytes_per_minute: AtomicU32,
    bytes_due: AtomicU64,
    /// When the calls that were abandoned count no more, at an even pace.
    abandoned_due: AtomicU64,
    refused: AtomicU64,
}

/// What a call was given: to be given back if another meter refuses it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    before: u64,
    after: u64,
}

/// Why a meter refuses a call, and when that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMuch {
    pub(super) limit: Limit,
    pub(super) again: Duration,
}

impl Meter {
    #[cfg(test)]
    pub(super) fn new(rules: LimitRules) -> Self {
        let meter = Self::default();
        meter.set(rules);
        meter
    }

    /// Other limits from now on; what was used stays used.
    pub(crate) fn set(&self, rules: LimitRules) {
        let per_kilosecond = u64::from(rules.calls_per_second.unwrap_or(0));
        let pace = (SECOND * 1_000).checked_div(per_kilosecond).unwrap_or(0);
        let burst = burst(rules);
        self.pace.store(pace, RELAXED);
        self.slack.store(pace.saturating_mul(u64::from(burst.saturating_sub(1))), RELAXED);
        self.most_open.store(rules.open_calls.unwrap_or(0), RELAXED);
        self.bytes_per_minute.store(rules.result_bytes_per_minute.unwrap_or(0), RELAXED);
        let is_on = pace > 0
            || rules.open_calls.unwrap_or(0) > 0
            || rules.result_bytes_per_minute.unwrap_or(0) > 0;
        self.is_on.store(is_on, RELAXED);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(RELAXED)
    }

    /// Calls that it has refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(RELAXED)
    }

    /// Would nobody notice if it were made anew?
    pub(crate) fn is_unused(&self, now: u64) -> bool {
        self.open.load(RELAXED) == 0
            && self.calls_due.load(RELAXED) <= now
            && self.bytes_due.load(RELAXED) <= now
            && self.abandoned_due.load(RELAXED) <= now
    }

    /// Would a call be refused now? Takes nothing.
    pub(super) fn check(&self, now: u64) -> Result<(), TooMuch> {
        let most = self.most_open.load(RELAXED);
        if most > 0 && self.open.load(RELAXED) >= most {
            return Err(TooMuch { limit: Limit::OpenCalls, again: OPEN_AGAIN });
        }
        if let Some(cost) = cost_of_abandoning(most) {
            let due = self.abandoned_due.load(RELAXED).saturating_add(cost);
            if let Some(wait) = due.saturating_sub(ABANDONED).checked_sub(now).filter(|it| *it > 0)
            {
                let again = Duration::from_nanos(wait);
                return Err(TooMuch { limit: Limit::AbandonedCalls, again });
            }
        }
        if self.bytes_per_minute.load(RELAXED) > 0 {
            // A minute's worth may be used at once; then the budget comes back evenly.
            let earliest = self.bytes_due.load(RELAXED).saturating_sub(MINUTE);
            if earliest > now {
                let again = Duration::from_nanos(earliest - now);
                return Err(TooMuch { limit: Limit::ResultBytes, again });
            }
        }
        let (pace, due) = (self.pace.load(RELAXED), self.calls_due.load(RELAXED));
        if pace > 0 { self.is_in_time(due, now) } else { Ok(()) }
    }

    fn is_in_time(&self, due: u64, now: u64) -> Result<(), TooMuch> {
        let earliest = due.saturating_sub(self.slack.load(RELAXED));
        match earliest.checked_sub(now).filter(|wait| *wait > 0) {
            None => Ok(()),
            Some(wait) => {
                Err(TooMuch { limit: Limit::CallsPerSecond, again: Duration::from_nanos(wait) })
            }
        }
    }

    /// Takes what one call needs, or nothing.
    pub(super) fn take(&self, now: u64) -> Result<Taken, TooMuch> {
        let most = self.most_open.load(RELAXED);
        // Counted first and given back if it was one too many: two threads cannot both take the last. Counted without
        // a limit, too: one that is set meanwhile finds the right number.
        if self.open.fetch_add(1, RELAXED) >= most && most > 0 {
            self.release();
            return Err(TooMuch { limit: Limit::OpenCalls, again: OPEN_AGAIN });
        }
        let pace = self.pace.load(RELAXED);
        let mut due = self.calls_due.load(RELAXED);
        if pace == 0 {
            return Ok(Taken { before: due, after: due });
        }
        loop {
            if let Err(too_much) = self.is_in_time(due, now) {
                self.release();
                return Err(too_much);
            }
            let after = due.max(now).saturating_add(pace);
            match self.calls_due.compare_exchange_weak(due, after, RELAXED, RELAXED) {
                Ok(before) => return Ok(Taken { before, after }),
                Err(changed) => due = changed,
            }
        }
    }

    /// The call was refused elsewhere: it costs nothing here. The open call is released apart.
    pub(super) fn give_back(&self, taken: Taken) {
        // Only if nobody has taken since: what was added to a moment that has passed cannot be told from a pause, and
        // giving it back would let others have more than they may.
        let _ = self.calls_due.compare_exchange(taken.after, taken.before, RELAXED, RELAXED);
    }

    /// An open call has ended.
    pub(super) fn release(&self) {
        self.open.fetch_sub(1, RELAXED);
    }

    /// The caller of an open call has gone or does not want it any more. It counts as open no longer; but its
    /// server may go on with it, and nobody can see for how long, so that it counts as abandoned for a while.
    pub(super) fn abandon(&self, now: impl FnOnce() -> u64) {
        self.release();
        let Some(cost) = cost_of_abandoning(self.most_open.load(RELAXED)) else { return };
        let now = now();
        // Never fails: the closure always has a value.
        let _ = self
            .abandoned_due
            .fetch_update(RELAXED, RELAXED, |due| Some(due.max(now).saturating_add(cost)));
    }

    /// A result had so many bytes.
    pub(super) fn charge(&self, bytes: usize, now: impl FnOnce() -> u64) {
        let per_minute = u128::from(self.bytes_per_minute.load(RELAXED));
        let cost = (bytes as u128 * u128::from(MINUTE)).checked_div(per_minute);
        let Some(cost) = cost else { return };
        let (cost, now) = (u64::try_from(cost).unwrap_or(u64::MAX), now());
        // Never fails: the closure always has a value.
        let _ = self
            .bytes_due
            .fetch_update(RELAXED, RELAXED, |due| Some(due.max(now).saturating_add(cost)));
    }

    pub(super) fn count_refusal(&self) {
        self.refused.fetch_add(1, RELAXED);
    }

    /// A limit as it is now, in words.
    pub(super) fn in_words(&self, limit: Limit) -> String {
        match limit {
            Limit::CallsPerSecond => {
                let pace = self.pace.load(RELAXED).max(1);
                let per_second = 1_000 * SECOND / pace;
                let burst = self.slack.load(RELAXED) / pace + 1;
                format!("{} calls a second ({burst} at once)", thousandths(per_second))
            }
            Limit::OpenCalls => format!("{} open calls", self.most_open.load(RELAXED)),
            Limit::AbandonedCalls => {
                let most = most_abandoned(self.most_open.load(RELAXED)).unwrap_or_default();
                format!("{most} calls a minute that their caller abandons, for they may still run")
            }
            Limit::ResultBytes => {
                format!("{} bytes of results a minute", self.bytes_per_minute.load(RELAXED))
            }
            Limit::Sessions | Limit::Connections | Limit::Subscriptions => limit.name().to_owned(),
        }
    }

    #[cfg(test)]
    pub(super) fn open(&self) -> u32 {
        self.open.load(RELAXED)
    }
}

/// How many calls may be abandoned in a while, where so many may be open; `None`: any number.
fn most_abandoned(most_open: u32) -> Option<u32> {
    (most_open > 0).then(|| most_open.max(LEAST_ABANDONED))
}

/// What abandoning a call adds to the moment.
fn cost_of_abandoning(most_open: u32) -> Option<u64> {
    ABANDONED.checked_div(u64::from(most_abandoned(most_open)?))
}

/// `1500` → `1.5`.
fn thousandths(number: u64) -> String {
    let text = format!("{}.{:03}", number / 1_000, number % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// How many calls may come at once: ten seconds' worth unless it is said, and one at least.
fn burst(rules: LimitRules) -> u32 {
    let said = rules.burst.filter(|burst| *burst > 0);
    said.unwrap_or_else(|| rules.calls_per_second.unwrap_or(0).div_ceil(100).max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(per_second: f64, burst: u32) -> LimitRules {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small numbers"
        )]
        let calls_per_second = Some((per_second * 1_000.0) as u32);
        LimitRules { calls_per_second, burst: Some(burst), ..LimitRules::default() }
    }

    fn wait(meter: &Meter, now: u64) -> Option<u64> {
        meter.take(now).err().map(|too_much| u64::try_from(too_much.again.as_nanos()).unwrap())
    }

    #[test]
    fn a_burst_then_an_even_pace_and_told_exactly_when() {
        let meter = Meter::new(rules(2.0, 3));
        let start = 7 * SECOND;
        assert!((0..3).all(|_| meter.take(start).is_ok()));
        assert_eq!(wait(&meter, start), Some(SECOND / 2));
        assert_eq!(wait(&meter, start + SECOND / 2 - 1), Some(1));
        assert_eq!(wait(&meter, start + SECOND / 2), None);
        assert_eq!(wait(&meter, start + SECOND / 2), Some(SECOND / 2));
        assert!((0..3).all(|_| meter.take(start + 60 * SECOND).is_ok()), "a pause fills it");
        assert_eq!(wait(&meter, start + 60 * SECOND), Some(SECOND / 2), "… and no more");
    }

    #[test]
    fn the_burst_is_ten_seconds_worth_unless_it_is_said() {
        for (per_kilosecond, said, expected) in
            [(50_000, Some(500), 500), (50_000, None, 500), (500, Some(0), 5), (1, None, 1)]
        {
            let rules = LimitRules {
                calls_per_second: Some(per_kilosecond),
                burst: said,
                ..LimitRules::default()
            };
            assert_eq!(burst(rules), expected, "{per_kilosecond} {said:?}");
        }
    }

    #[test]
    fn open_calls_are_counted_until_they_end() {
        let meter = Meter::new(LimitRules { open_calls: Some(2), ..LimitRules::default() });
        assert!(meter.take(0).is_ok() && meter.take(0).is_ok());
        assert_eq!(meter.take(0).unwrap_err().limit, Limit::OpenCalls);
        assert_eq!(meter.check(0).unwrap_err().limit, Limit::OpenCalls);
        meter.release();
        assert!(meter.check(0).is_ok() && meter.take(0).is_ok());
        assert_eq!(meter.open(), 2);
    }

    #[test]
    fn abandoned_calls_free_their_place_and_are_bounded_by_themselves() {
        let start = 7 * SECOND;
        for (open_calls, most) in [(1, 16), (16, 16), (30, 30)] {
            let rules = LimitRules { open_calls: Some(open_calls), ..LimitRules::default() };
            let meter = Meter::new(rules);
            for _ in 0..most {
                assert!(meter.check(start).is_ok() && meter.take(start).is_ok());
                meter.abandon(|| start);
            }
            assert_eq!(meter.open(), 0);
            let too_much = meter.check(start).unwrap_err();
            assert_eq!(too_much.limit, Limit::AbandonedCalls);
            assert_eq!(too_much.again, Duration::from_nanos(MINUTE / most));
            assert!(meter.check(start + MINUTE / most).is_ok(), "one of them counts no more");
            assert!(!meter.is_unused(start + SECOND) && meter.is_unused(start + MINUTE));
        }
        let free = Meter::new(rules(1.0, 90));
        for _ in 0..90 {
            free.take(start).unwrap();
            free.abandon(|| start);
        }
        assert!(free.check(start + SECOND).is_ok(), "without a limit of open calls there is none");
    }

    #[test]
    fn bytes_are_paid_after_the_result_and_come_back_evenly() {
        let budget = LimitRules { result_bytes_per_minute: Some(600), ..LimitRules::default() };
        let meter = Meter::new(budget);
        let start = 5 * SECOND;
        meter.charge(600, || start);
        assert!(meter.check(start).is_ok(), "a minute's worth at once");
        meter.charge(10, || start);
        let too_much = meter.check(start).unwrap_err();
        assert_eq!((too_much.limit, too_much.again), (Limit::ResultBytes, Duration::from_secs(1)));
        assert!(meter.check(start + SECOND - 1).is_err() && meter.check(start + SECOND).is_ok());
        meter.charge(usize::MAX, || start);
        assert!(meter.check(u64::MAX / 2).is_err(), "no overflow");
    }

    #[test]
    fn other_limits_keep_what_was_used() {
        let meter = Meter::new(rules(1.0, 4));
        assert!((0..4).all(|_| meter.take(SECOND).is_ok()) && meter.take(SECOND).is_err());
        meter.set(rules(1.0, 5));
        assert!(meter.take(SECOND).is_ok() && meter.take(SECOND).is_err(), "one more at once");
        meter.set(LimitRules::default());
        assert!(!meter.is_on() && meter.take(SECOND).is_ok());
        meter.set(rules(1.0, 5));
        assert!(meter.take(SECOND).is_err(), "as full as before");
    }

    #[test]
    fn limits_are_said_in_words() {
        let rules = LimitRules {
            open_calls: Some(8),
            result_bytes_per_minute: Some(1_000_000),
            ..rules(0.5, 3)
        };
        let meter = Meter::new(rules);
        for (limit, expected) in [
            (Limit::CallsPerSecond, "0.5 calls a second (3 at once)"),
            (Limit::OpenCalls, "8 open calls"),
            (Limit::ResultBytes, "1000000 bytes of results a minute"),
        ] {
            assert_eq!(meter.in_words(limit), expected);
        }
    }

    #[test]
    fn threads_together_get_no_more_than_one_would() {
        let meter = Meter::new(LimitRules { open_calls: Some(700), ..rules(1.0, 1_000) });
        let taken = AtomicU32::new(0);
        let one = |_| {
            if meter.take(SECOND).is_err() {
                return;
            }
            if taken.fetch_add(1, RELAXED).is_multiple_of(2) {
                meter.release();
            }
            assert!(meter.open() <= 700 + 8, "each thread counts one too many for a moment");
        };
        let many = || (0..2_000).for_each(one);
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(many))));
        assert!(taken.load(RELAXED) <= 1_000, "{taken:?}");
        assert!(taken.load(RELAXED) >= 700, "{taken:?}");
    }

    proptest! {
        /// In any window of time: at most the burst and what the pace gives.
        #[test]
        fn never_more_than_burst_and_rate(
            per_second in 1_u32..200,
            burst in 1_u32..50,
            gaps in proptest::collection::vec(0_u64..200_000_000, 1..400),
        ) {
            let meter = Meter::new(rules(f64::from(per_second), burst));
            let mut taken: Vec<u64> = Vec::new();
            let mut now = SECOND;
            for gap in gaps {
                now += gap;
                match meter.take(now) {
                    Ok(_) => taken.push(now),
                    Err(too_much) => {
                        // Exactly then it passes, and not a nanosecond before.
                        let again = now + u64::try_from(too_much.again.as_nanos()).unwrap();
                        prop_assert!(meter.check(again).is_ok() && meter.check(again - 1).is_err());
                    }
                }
            }
            let pace = 1_000 * SECOND / u64::from(per_second * 1_000);
            for (first, from) in taken.iter().enumerate() {
                for (last, to) in taken.iter().enumerate().skip(first) {
                    let most = u64::from(burst) + (to - from) / pace;
                    prop_assert!((last - first + 1) as u64 <= most, "{first}..={last} of {taken:?}");
                }
            }
        }

        /// A call that is refused, or given back, changes nothing for those that follow.
        #[test]
        fn what_is_refused_or_given_back_costs_nothing(
            burst in 1_u32..10,
            steps in proptest::collection::vec((0_u64..2_000_000_000, 0_u8..3), 1..100),
        ) {
            let (meter, plain) = (Meter::new(rules(3.0, burst)), Meter::new(rules(3.0, burst)));
            let mut now = SECOND;
            for (gap, what) in steps {
                now += gap;
                match what {
                    // Asked and not wanted, or refused again and again.
                    0 => { let _ = meter.check(now); }
                    1 => if let Ok(taken) = meter.take(now) {
                        meter.give_back(taken);
                        meter.release();
                    },
                    _ => {
                        let (one, other) = (meter.take(now), plain.take(now));
                        prop_assert_eq!(one.map(|_| ()), other.map(|_| ()));
                    }
                }
                prop_assert_eq!(meter.check(now), plain.check(now));
            }
        }
    }
}
