//! The front's clock: whole seconds, moved on by the sweeper, so that reading it costs nothing.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    now: AtomicU32,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), now: AtomicU32::new(0) }
    }

    /// Looks at the real time.
    pub(super) fn advance(&self) -> u32 {
        let now = u32::try_from(self.start.elapsed().as_secs()).unwrap_or(u32::MAX);
        self.now.store(now, Ordering::Relaxed);
        now
    }

    /// Seconds since the start, as of the last look.
    pub(super) fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }
}
