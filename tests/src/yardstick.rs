//! How busy this machine is: a promise of a time is made for one that does nothing else.
//!
//! A thread works now and then, always the same amount, and sees how long that takes. On a quiet
//! machine it takes what it has taken at best. Waiting for a processor, sharing one with a
//! neighbour and being stopped by a hypervisor all count.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What a test measures a time against; made when the time begins.
#[derive(Debug)]
pub struct Yardstick {
    start: Instant,
}

/// Long enough to be made to share the processor like everybody else, and seldom enough to be no
/// load itself.
const WORK: Duration = Duration::from_millis(5);
const PAUSE: Duration = Duration::from_millis(195);
/// How far back is known: further than any wait.
const KEPT: usize = 6_000;
/// How many measurements before a wait count, too: what is waited for may have been slowed down by
/// them.
const BEFORE: usize = 3;

impl Yardstick {
    #[expect(clippy::new_without_default, reason = "it begins a measurement")]
    pub fn new() -> Self {
        watch();
        Self { start: Instant::now() }
    }

    /// What was promised within this time took so long, on this machine as it was meanwhile.
    #[track_caller]
    pub fn assert_kept(self, promise: Duration, took: Duration) {
        let slowed = slowed_since(self.start);
        let limit = allowed(promise, slowed);
        println!("took {took:?}, promised within {promise:?}; everything took {slowed:.1} times");
        assert!(took < limit, "{took:?}, not within {promise:?} (with all the load: {limit:?})");
    }
}

/// Measures from now on, in a thread of this process.
pub fn watch() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| drop(std::thread::spawn(measure)));
}

/// How many times as long everything has taken since then: 1.0 on a machine that does nothing else.
pub fn slowed_since(start: Instant) -> f64 {
    let samples = samples();
    let since = samples.iter().rposition(|sample| sample.end < start).map_or(0, |at| at + 1);
    let counted = samples.iter().skip(since.saturating_sub(BEFORE));
    let (took, quiet) = counted.fold((0.0, 0.0), |(took, quiet), sample| {
        (took + sample.took.as_secs_f64(), quiet + sample.quiet.as_secs_f64())
    });
    let machine = if quiet > 0.0 { (took / quiet).max(1.0) } else { 1.0 };
    machine * program_is_slower()
}

/// How many times as long the program under test takes, because it is an instrumented build
/// (`TRUNKLINE_TEST_SLOWER`, which `cargo xtask races` sets): 1.0 for all others.
fn program_is_slower() -> f64 {
    static SLOWER: OnceLock<f64> = OnceLock::new();
    *SLOWER.get_or_init(|| {
        let set = std::env::var("TRUNKLINE_TEST_SLOWER").ok();
        set.and_then(|text| text.parse().ok()).map_or(1.0, |times: f64| times.max(1.0))
    })
}

/// Of the delay twice: several processes have to be waited for, one after the other.
pub fn allowed(promise: Duration, slowed: f64) -> Duration {
    promise.mul_f64(1.0 + 2.0 * (slowed - 1.0).max(0.0))
}

/// One piece of work: how long it took, and how long it takes at best.
struct Sample {
    end: Instant,
    took: Duration,
    quiet: Duration,
}

fn samples() -> MutexGuard<'static, VecDeque<Sample>> {
    static SAMPLES: Mutex<VecDeque<Sample>> = Mutex::new(VecDeque::new());
    SAMPLES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn measure() {
    // In pieces so short that some of them are not disturbed, however busy the machine is.
    let mut best = Duration::MAX;
    loop {
        let (start, mut pieces) = (Instant::now(), 0_u32);
        let mut piece = start;
        while pieces == 0 || best * pieces < WORK {
            work();
            let now = Instant::now();
            best = best.min(now - piece);
            (piece, pieces) = (now, pieces + 1);
        }
        let (end, quiet) = (Instant::now(), best * pieces);
        let mut samples = samples();
        samples.push_back(Sample { end, took: end - start, quiet });
        if samples.len() > KEPT {
            samples.pop_front();
        }
        drop(samples);
        std::thread::sleep(PAUSE);
    }
}

/// About a tenth of a millisecond.
fn work() {
    let mut number = 1_u64;
    for step in 0..20_000_u64 {
        number = std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005) ^ step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_does_nothing_else_is_allowed_what_was_promised() {
        let second = Duration::from_secs(1);
        for (slowed, expected) in [(1.0, second), (1.5, 2 * second), (10.0, 19 * second)] {
            assert_eq!(allowed(second, slowed), expected, "{slowed}");
        }
    }

    #[test]
    fn the_machine_is_measured_from_the_start_of_the_wait() {
        watch();
        let start = Instant::now();
        while samples().iter().filter(|sample| sample.end > start).count() < 3 {
            std::thread::sleep(PAUSE);
        }
        let slowed = slowed_since(start);
        assert!((1.0..1_000.0).contains(&slowed), "{slowed}");
        let quiet = samples().back().map(|sample| sample.quiet).expect("it was measured");
        assert!((WORK..4 * WORK).contains(&quiet), "{quiet:?}");
    }
}
