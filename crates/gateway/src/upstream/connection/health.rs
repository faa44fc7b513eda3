//! `ConnectionHealth`: whether a connection has been of use, and whether it still is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::LASTING_LIFE;

// Relaxed throughout: each is a sign of its own, and nothing else is read because of it.
#[derive(Debug)]
pub(crate) struct ConnectionHealth {
    /// It has answered a client since that was last looked at, and before.
    is_used: AtomicBool,
    was_used: AtomicBool,
    /// A health check has found out that it is of no use as it is.
    is_useless: AtomicBool,
    /// It has not answered its last health checks: it gets no further calls of clients.
    is_failing: AtomicBool,
    /// When it last said anything, in milliseconds since it was made; noted where calls are held.
    heard: AtomicU64,
    made: Instant,
}

impl ConnectionHealth {
    pub(in crate::upstream) fn new() -> Self {
        Self {
            is_used: AtomicBool::new(false),
            was_used: AtomicBool::new(false),
            is_useless: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
            heard: AtomicU64::new(0),
            made: Instant::now(),
        }
    }

    /// A client's call was answered. Read first: it is hardly ever written, and read by every answer.
    pub(in crate::upstream) fn note_use(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }

    /// Has it answered a client since this was last asked?
    pub(in crate::upstream) fn take_use(&self) -> bool {
        // Before the other is cleared: at no moment does it look as if it had never been of use.
        let is_used = self.is_used.load(Ordering::Relaxed);
        if is_used {
            self.was_used.store(true, Ordering::Relaxed);
            self.is_used.store(false, Ordering::Relaxed);
        }
        is_used
    }

    /// Has it not passed its last health checks?
    pub(in crate::upstream) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    pub(in crate::upstream) fn note_time(&self) {
        let heard = u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.heard.store(heard, Ordering::Relaxed);
    }

    /// When it last said anything, where that is noted.
    pub(crate) fn last_heard(&self) -> Option<Instant> {
        match self.heard.load(Ordering::Relaxed) {
            0 => None,
            heard => Some(self.made + Duration::from_millis(heard)),
        }
    }

    /// Has it answered anybody, or lasted a while? One that was given up because it says nothing has
    /// lasted only because nobody noticed earlier.
    pub(in crate::upstream) fn was_of_use(&self) -> bool {
        let lasted =
            self.made.elapsed() >= LASTING_LIFE && !self.is_useless.load(Ordering::Relaxed);
        let is_used = self.is_used.load(Ordering::Relaxed) || self.was_used.load(Ordering::Relaxed);
        is_used || lasted
    }

    /// Whether it fails its health checks. While it does, calls are refused at once instead of sent.
    pub(in crate::upstream) fn set_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Ordering::Relaxed);
    }

    /// It is given up as it is.
    pub(in crate::upstream) fn condemn(&self) {
        self.is_useless.store(true, Ordering::Relaxed);
    }
}
