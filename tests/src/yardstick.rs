//! How busy this machine is: a promise of a time is made for one that does nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A thread that works now and then, from its making on, and sees how long it is kept from it.
#[derive(Debug)]
pub struct Yardstick {
    over: Arc<AtomicBool>,
    worker: JoinHandle<f64>,
}

/// Long enough to be made to share the processor like everybody else, and seldom enough to be no
/// load itself.
const WORK: Duration = Duration::from_millis(5);
const PAUSE: Duration = Duration::from_millis(50);

impl Yardstick {
    #[expect(clippy::new_without_default, reason = "it starts a thread")]
    pub fn new() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let worker = std::thread::spawn(move || {
            loop {
                let start = Instant::now();
                while start.elapsed() < WORK {
                    std::hint::spin_loop();
                }
                if told.load(Ordering::SeqCst) {
                    let spent = std::fs::read_to_string("/proc/thread-self/schedstat");
                    return slowed(&spent.unwrap_or_default());
                }
                std::thread::sleep(PAUSE);
            }
        });
        Self { over, worker }
    }

    /// What was promised within this time took so long, on this machine as it was meanwhile.
    #[track_caller]
    pub fn assert_kept(self, promise: Duration, took: Duration) {
        self.over.store(true, Ordering::SeqCst);
        let slowed = self.worker.join().expect("the worker does not panic");
        let limit = allowed(promise, slowed);
        println!("took {took:?}, promised within {promise:?}; everything took {slowed:.1} times");
        assert!(took < limit, "{took:?}, not within {promise:?} (with all the load: {limit:?})");
    }
}

/// `schedstat`: nanoseconds of work, nanoseconds of waiting for the processor, and how often.
fn slowed(schedstat: &str) -> f64 {
    let mut numbers = schedstat.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(work), Some(wait)) if work > 0.0 => (work + wait) / work,
        _ => 1.0,
    }
}

/// Of the delay twice: several processes have to be waited for, one after the other.
fn allowed(promise: Duration, slowed: f64) -> Duration {
    promise.mul_f64(1.0 + 2.0 * (slowed - 1.0).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_does_nothing_else_is_allowed_what_was_promised() {
        let second = Duration::from_secs(1);
        for (schedstat, expected) in [
            ("1000000 0 7", second),
            ("1000000 500000 7", 2 * second),
            ("1000000 9000000 7", 19 * second),
            ("", second),
            ("0 0 0", second),
        ] {
            assert_eq!(allowed(second, slowed(schedstat)), expected, "{schedstat}");
        }
    }
}
