//! Ends a target that does not answer, so that a blocking read returns and the run fails instead of hanging.

use super::process;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

static TARGET: AtomicI32 = AtomicI32::new(0);
static DEADLINE: AtomicU64 = AtomicU64::new(u64::MAX);

/// Longer than any single step takes, also for a peer.
const PATIENCE: Duration = Duration::from_secs(120);

/// From now on `pid` has `PATIENCE` to come to the next `watch`.
pub(super) fn watch(pid: i32, start: Instant) {
    TARGET.store(pid, Ordering::Relaxed);
    DEADLINE.store((start.elapsed() + PATIENCE).as_secs(), Ordering::Relaxed);
}

/// Nobody is watched until the next `watch`.
pub(super) fn rest() {
    DEADLINE.store(u64::MAX, Ordering::Relaxed);
}

/// Starts watching; `start` is the clock's zero.
#[expect(clippy::disallowed_methods, reason = "a thread of its own that only sleeps")]
pub(super) fn begin(start: Instant) {
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            if start.elapsed().as_secs() > DEADLINE.load(Ordering::Relaxed) {
                eprintln!("bench: no progress for {} s, the target is killed", PATIENCE.as_secs());
                process::kill(TARGET.load(Ordering::Relaxed));
                DEADLINE.store(u64::MAX, Ordering::Relaxed);
            }
        }
    });
}
