//! What calls and checks of one server said over the last five minutes, and minute by minute over the last
//! hour, in bounded memory. Checks are counted apart: their times are not those of calls.

use std::collections::VecDeque;
use std::time::Duration;

/// How far back it reaches.
pub const SPAN: Duration = Duration::from_secs(300);
/// What is older than `SPAN` goes in pieces of this length.
const SLOT: Duration = Duration::from_secs(10);
// As many as `SPAN` has.
const SLOTS: usize = 30;

/// The hour, for people who look back.
const MINUTE: Duration = Duration::from_secs(60);
const MINUTES: u64 = 60;

/// Times are counted in classes, each 2^(1/4) (19 %) wider than the one before: a percentile is off
/// by less than that. The first ends at 0.05 ms, the last but one above ten minutes.
const CLASSES: usize = 97;
const FIRST: f64 = 0.05;
const PER_DOUBLING: f64 = 4.0;

/// Times of checks that are kept: at the shortest interval (a second) those of `SPAN`.
const CHECK_TIMES: usize = 300;

/// Times (`now`) are monotonic, since any moment that the caller chooses.
#[derive(Debug, Clone)]
pub struct SlidingWindow {
    slots: Vec<Slot>,
    /// When checks were answered and how long that took, the oldest first.
    check_times: VecDeque<(Duration, Duration)>,
    /// Those in which something was measured, the oldest first.
    minutes: VecDeque<Minute>,
}

#[derive(Debug, Clone)]
struct Slot {
    /// Which piece of time it is about; an older one is not cleared before it is used again.
    number: u64,
    calls: Count,
    checks: Count,
    /// Times of calls, and the longest of them.
    classes: [u32; CLASSES],
    longest: Duration,
}

#[derive(Debug, Clone)]
struct Minute {
    number: u64,
    calls: Count,
    /// Only those that something fell into, by class: there are few, and sixty minutes.
    classes: Vec<(usize, u32)>,
    longest: Duration,
}

/// Times of calls that are added up, by class.
struct Times {
    classes: [u64; CLASSES],
    longest: Duration,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    all: u64,
    failed: u64,
    tool_errors: u64,
}

/// What came of one call or check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallQuality {
    Well,
    /// The server answered with a result that says `isError`.
    ToolError,
    /// The server did not do its part.
    Failed,
}

/// Times are in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WindowSummary {
    pub checks: u64,
    pub failed_checks: u64,
    pub calls: u64,
    pub failed_calls: u64,
    pub tool_errors: u64,
    /// Of calls.
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    /// Of checks that were answered.
    pub check_p50: Option<f64>,
    pub check_p95: Option<f64>,
}

/// A stretch of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WindowSlice {
    /// When it began, on the clock that the window is fed by.
    pub start: Duration,
    pub calls: u64,
    pub failed_calls: u64,
    pub tool_errors: u64,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
}

/// What all these windows say together, piece by piece, the oldest first; the last one is not over yet.
pub(super) fn pieces(windows: &[&SlidingWindow], now: Duration) -> Vec<WindowSlice> {
    let newest = number(now);
    let oldest = newest.saturating_sub(SLOTS as u64 - 1).max(1);
    let numbers = oldest..=newest;
    numbers.map(|number| piece(windows, number)).collect()
}

/// What all windows counted over the last hour, minute by minute.
pub(super) fn minutes(windows: &[&SlidingWindow], now: Duration) -> Vec<WindowSlice> {
    let newest = minute(now);
    let oldest = newest.saturating_sub(MINUTES - 1).max(1);
    let piece = |number| {
        let (mut calls, mut times) = (Count::default(), Times::default());
        let kept = windows.iter().flat_map(|window| &window.minutes);
        for kept in kept.filter(|kept| kept.number == number) {
            calls.join(kept.calls);
            times.add(kept.classes.iter().copied(), kept.longest);
        }
        WindowSlice::new(MINUTE, number, calls, &times)
    };
    (oldest..=newest).map(piece).collect()
}

fn piece(windows: &[&SlidingWindow], number: u64) -> WindowSlice {
    let (mut calls, mut times) = (Count::default(), Times::default());
    let slots = windows.iter().flat_map(|window| &window.slots);
    for slot in slots.filter(|slot| slot.number == number) {
        calls.join(slot.calls);
        times.add(slot.classes.into_iter().enumerate(), slot.longest);
    }
    WindowSlice::new(SLOT, number, calls, &times)
}

impl WindowSlice {
    fn new(length: Duration, number: u64, calls: Count, times: &Times) -> Self {
        Self {
            start: length.saturating_mul(u32::try_from(number - 1).unwrap_or(u32::MAX)),
            calls: calls.all,
            failed_calls: calls.failed,
            tool_errors: calls.tool_errors,
            p50: times.percentile(0.50),
            p95: times.percentile(0.95),
        }
    }
}

/// What all these windows say together.
pub(super) fn together(windows: &[&SlidingWindow], now: Duration) -> WindowSummary {
    let mut all = SlidingWindow::default();
    for slot in windows.iter().flat_map(|window| &window.slots) {
        all.join(slot);
    }
    all.check_times = windows.iter().flat_map(|window| &window.check_times).copied().collect();
    all.summary(now)
}

impl WindowSummary {
    /// The share of calls that ended in an error, of the protocol or of the tool, from 0 to 1; none if
    /// there were no calls.
    pub fn error_rate(&self) -> Option<f64> {
        rate(self.failed_calls + self.tool_errors, self.calls)
    }
}

impl Default for SlidingWindow {
    fn default() -> Self {
        Self {
            slots: vec![Slot::new(0); SLOTS],
            check_times: VecDeque::new(),
            minutes: VecDeque::new(),
        }
    }
}

impl SlidingWindow {
    pub fn call(&mut self, now: Duration, ended: CallQuality, took: Duration) {
        if let Some(slot) = self.slot(now) {
            slot.calls.add(ended);
            slot.time(took);
        }
        if let Some(minute) = self.minute(now) {
            minute.calls.add(ended);
            minute.time(took);
        }
    }

    /// A check without an answer has taken no time that would say something.
    pub fn check(&mut self, now: Duration, ok: bool, took: Option<Duration>) {
        if let Some(slot) = self.slot(now) {
            slot.checks.add(if ok { CallQuality::Well } else { CallQuality::Failed });
        }
        if let Some(took) = took {
            if self.check_times.len() == CHECK_TIMES {
                self.check_times.pop_front();
            }
            self.check_times.push_back((now, took));
        }
    }

    pub fn summary(&self, now: Duration) -> WindowSummary {
        let newest = number(now);
        let oldest = newest.saturating_sub(SLOTS as u64 - 1);
        let (mut calls, mut checks) = (Count::default(), Count::default());
        let mut times = Times::default();
        for slot in self.slots.iter().filter(|slot| (oldest..=newest).contains(&slot.number)) {
            calls.join(slot.calls);
            checks.join(slot.checks);
            times.add(slot.classes.into_iter().enumerate(), slot.longest);
        }
        let recent = self.check_times.iter().filter(|(at, _)| *at + SPAN >= now);
        let mut check_times: Vec<Duration> = recent.map(|(_, took)| *took).collect();
        check_times.sort_unstable();
        WindowSummary {
            checks: checks.all,
            failed_checks: checks.failed,
            calls: calls.all,
            failed_calls: calls.failed,
            tool_errors: calls.tool_errors,
            p50: times.percentile(0.50),
            p95: times.percentile(0.95),
            p99: times.percentile(0.99),
            check_p50: nearest_rank(&check_times, 50),
            check_p95: nearest_rank(&check_times, 95),
        }
    }

    fn minute(&mut self, now: Duration) -> Option<&mut Minute> {
        let number = minute(now);
        if self.minutes.back().is_none_or(|last| last.number < number) {
            self.minutes.retain(|kept| kept.number + MINUTES > number);
            let calls = Count::default();
            let new = Minute { number, calls, classes: Vec::new(), longest: Duration::ZERO };
            self.minutes.push_back(new);
        }
        self.minutes.back_mut()
    }

    fn slot(&mut self, now: Duration) -> Option<&mut Slot> {
        self.slot_of(number(now))
    }

    /// Adds what another window has counted in a slot; of two times the later one counts.
    fn join(&mut self, other: &Slot) {
        let Some(slot) = self.slot_of(other.number) else { return };
        slot.calls.join(other.calls);
        slot.checks.join(other.checks);
        slot.longest = slot.longest.max(other.longest);
        for (sum, count) in slot.classes.iter_mut().zip(other.classes) {
            *sum = sum.saturating_add(count);
        }
    }

    fn slot_of(&mut self, number: u64) -> Option<&mut Slot> {
        let place = usize::try_from(number % SLOTS as u64).ok()?;
        let slot = self.slots.get_mut(place).filter(|slot| slot.number <= number)?;
        if slot.number != number {
            *slot = Slot::new(number);
        }
        Some(slot)
    }
}

impl Slot {
    fn new(number: u64) -> Self {
        Self {
            number,
            calls: Count::default(),
            checks: Count::default(),
            classes: [0; CLASSES],
            longest: Duration::ZERO,
        }
    }

    fn time(&mut self, took: Duration) {
        self.longest = self.longest.max(took);
        if let Some(count) = self.classes.get_mut(class(took)) {
            *count = count.saturating_add(1);
        }
    }
}

impl Minute {
    fn time(&mut self, took: Duration) {
        self.longest = self.longest.max(took);
        let class = class(took);
        match self.classes.iter_mut().find(|(known, _)| *known == class) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.classes.push((class, 1)),
        }
    }
}

impl Count {
    fn add(&mut self, ended: CallQuality) {
        self.all += 1;
        self.failed += u64::from(ended == CallQuality::Failed);
        self.tool_errors += u64::from(ended == CallQuality::ToolError);
    }

    fn join(&mut self, other: Self) {
        self.all += other.all;
        self.failed += other.failed;
        self.tool_errors += other.tool_errors;
    }
}

/// From 1: 0 is a slot that was never used.
fn number(now: Duration) -> u64 {
    now.as_secs() / SLOT.as_secs() + 1
}

fn minute(now: Duration) -> u64 {
    now.as_secs() / MINUTE.as_secs() + 1
}

fn class(took: Duration) -> usize {
    let millis = millis(took);
    let is_below = |class: &usize| millis <= end(*class);
    (0..CLASSES).find(is_below).unwrap_or(CLASSES - 1)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Where a class ends, in milliseconds.
fn end(class: usize) -> f64 {
    let class = u32::try_from(class).map_or(f64::MAX, f64::from);
    FIRST * (class / PER_DOUBLING).exp2()
}

impl Default for Times {
    fn default() -> Self {
        Self { classes: [0; CLASSES], longest: Duration::ZERO }
    }
}

impl Times {
    fn add(&mut self, counts: impl Iterator<Item = (usize, u32)>, longest: Duration) {
        for (class, count) in counts {
            if let Some(sum) = self.classes.get_mut(class) {
                *sum += u64::from(count);
            }
        }
        self.longest = self.longest.max(longest);
    }

    /// The end of the class in which the one lies that is slower than this share, in milliseconds; none is
    /// slower than the longest.
    fn percentile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.classes.iter().sum();
        let mut below = 0;
        let reached = self.classes.iter().position(|count| {
            below += count;
            rate(below, all).is_some_and(|reached| reached >= share)
        });
        reached.map(|class| end(class).min(millis(self.longest)))
    }
}

/// The time that so many of a hundred stay at or below, in milliseconds.
fn nearest_rank(sorted: &[Duration], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map(|took| millis(*took))
}

fn rate(part: u64, all: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "counts of five minutes are far below 2^52")]
    let share = part as f64 / all as f64;
    (all > 0).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn an_empty_window_says_nothing() {
        let summary = SlidingWindow::default().summary(seconds(0));
        assert_eq!(summary, WindowSummary::default());
        assert_eq!(summary.error_rate(), None);
    }

    #[test]
    fn calls_and_checks_are_counted_and_forgotten_after_five_minutes() {
        let mut window = SlidingWindow::default();
        for second in 0..1_000 {
            let ended = if second % 4 == 0 { CallQuality::Failed } else { CallQuality::Well };
            window.call(seconds(second), ended, Duration::from_millis(10));
        }
        window.check(seconds(999), false, None);
        let now = window.summary(seconds(999));
        assert_eq!((now.calls, now.failed_calls, now.checks, now.failed_checks), (300, 75, 1, 1));
        assert_eq!(now.error_rate(), Some(0.25));
        window.call(seconds(999), CallQuality::ToolError, Duration::from_millis(10));
        let now = window.summary(seconds(999));
        assert_eq!((now.calls, now.failed_calls, now.tool_errors), (301, 75, 1));
        assert_eq!(now.error_rate(), Some(76.0 / 301.0), "both kinds of errors count");
        assert_eq!(window.summary(seconds(1_199)).calls, 101);
        assert_eq!(window.summary(seconds(1_300)), WindowSummary::default());
        window.call(seconds(5_000), CallQuality::Well, Duration::ZERO);
        assert_eq!(window.summary(seconds(5_000)).calls, 1, "what was in the slot before is gone");
    }

    #[test]
    fn several_windows_are_one_piece_by_piece() {
        let (mut one, mut other) = (SlidingWindow::default(), SlidingWindow::default());
        one.call(seconds(5), CallQuality::Well, Duration::from_millis(1));
        one.call(seconds(1_005), CallQuality::Well, Duration::from_millis(10));
        other.call(seconds(1_006), CallQuality::Failed, Duration::from_millis(10));
        other.call(seconds(1_011), CallQuality::Well, Duration::from_millis(100));
        let found = pieces(&[&one, &other], seconds(1_012));
        assert_eq!(found.len(), SLOTS);
        let told: Vec<_> = found.iter().filter(|piece| piece.calls > 0).collect();
        let counts: Vec<_> = told
            .iter()
            .map(|piece| (piece.start.as_secs(), piece.calls, piece.failed_calls))
            .collect();
        assert_eq!(counts, [(1_000, 2, 1), (1_010, 1, 0)]);
        assert!(told.iter().all(|piece| piece.p50 <= piece.p95 && piece.p50.is_some()));
        let all = together(&[&one, &other], seconds(1_012));
        assert_eq!((all.calls, all.failed_calls), (3, 1));
        assert_eq!(together(&[&other, &one], seconds(1_012)), all);
        assert_eq!(pieces(&[], seconds(0)).len(), 1);
    }

    #[test]
    fn an_hour_is_kept_minute_by_minute() {
        let (mut one, mut other) = (SlidingWindow::default(), SlidingWindow::default());
        for second in 0..7_200 {
            let ended = if second % 60 == 0 { CallQuality::Failed } else { CallQuality::Well };
            one.call(seconds(second), ended, Duration::from_millis(10));
        }
        other.call(seconds(7_190), CallQuality::Well, Duration::from_millis(500));
        other.check(seconds(7_191), true, Some(Duration::from_millis(500)));
        let found = minutes(&[&one, &other], seconds(7_199));
        assert_eq!((found.len(), one.minutes.len()), (60, 60));
        let counts: Vec<_> = found.iter().map(|piece| (piece.calls, piece.failed_calls)).collect();
        assert!(counts[..59].iter().all(|counts| *counts == (60, 1)), "{counts:?}");
        assert_eq!(counts[59], (61, 1));
        assert_eq!((found[0].start, found[59].start), (seconds(3_600), seconds(7_140)));
        assert!(found[59].p50 < Some(20.0) && found[59].p95 < Some(500.0), "{:?}", found[59]);
        assert_eq!(minutes(&[&other], seconds(20_000)).iter().map(|it| it.calls).sum::<u64>(), 0);
        assert_eq!(minutes(&[], seconds(0)).len(), 1);
    }

    #[test]
    fn percentiles_are_those_of_what_was_measured() {
        let mut window = SlidingWindow::default();
        for millis in 1..=100 {
            window.call(seconds(7), CallQuality::Well, Duration::from_millis(millis));
        }
        let summary = window.summary(seconds(7));
        for (found, exact) in [(summary.p50, 50.0), (summary.p95, 95.0), (summary.p99, 99.0)] {
            let found = found.unwrap();
            assert!((exact..exact * 1.19).contains(&found), "{found} for {exact}");
        }
        window.call(seconds(7), CallQuality::Well, Duration::from_secs(100_000));
        assert!(window.summary(seconds(7)).p99.is_some());
    }

    #[test]
    fn no_percentile_is_longer_than_the_longest_call() {
        for took in [3, 1_210, 600_000] {
            let (mut window, exact) =
                (SlidingWindow::default(), Some(millis(Duration::from_millis(took))));
            window.call(seconds(7), CallQuality::Well, Duration::from_millis(took));
            let all = [window.summary(seconds(7)), together(&[&window], seconds(7))];
            for summary in all {
                assert_eq!((summary.p50, summary.p95, summary.p99), (exact, exact, exact));
            }
            for pieces in [pieces(&[&window], seconds(7)), minutes(&[&window], seconds(7))] {
                let piece = pieces.last().unwrap();
                assert_eq!((piece.p50, piece.p95), (exact, exact));
            }
        }
    }

    #[test]
    fn checks_are_no_calls_and_have_times_of_their_own() {
        let mut window = SlidingWindow::default();
        for second in 1..=400 {
            window.check(seconds(second), true, Some(Duration::from_millis(second)));
        }
        let summary = window.summary(seconds(400));
        assert_eq!((summary.calls, summary.error_rate(), summary.p50), (0, None, None));
        assert_eq!((summary.check_p50, summary.check_p95), (Some(250.0), Some(385.0)));
        assert_eq!(window.check_times.len(), CHECK_TIMES);
        assert!(minutes(&[&window], seconds(400)).iter().all(|it| it.p50.is_none()));
        assert_eq!(window.summary(seconds(701)).check_p50, None, "those are too long ago");
    }

    proptest! {
        #[test]
        fn every_time_lies_in_its_class(micros in 1u64..600_000_000) {
            let took = Duration::from_micros(micros);
            let (class, millis) = (class(took), took.as_secs_f64() * 1_000.0);
            prop_assert!(millis <= end(class));
            prop_assert!(class == 0 || end(class - 1) < millis);
        }
    }
}
