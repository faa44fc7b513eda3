//! `KeyedProgress`: whether a call that has its idempotency key may have run.

use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Default)]
pub(crate) struct KeyedProgress {
    has_gone_out: AtomicBool,
}

impl KeyedProgress {
    /// The call goes to a server from here on.
    pub(crate) fn note_gone_out(&self) {
        // Release, with the Acquire below: the answer may come on another thread.
        self.has_gone_out.store(true, Ordering::Release);
    }

    pub(crate) fn may_have_run(&self) -> bool {
        self.has_gone_out.load(Ordering::Acquire)
    }
}
