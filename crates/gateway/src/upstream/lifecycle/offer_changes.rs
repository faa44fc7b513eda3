//! `OfferChanges`: that what servers offer has changed: a number for those who look, a bell for those
//! who wait.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct OfferChanges {
    version: AtomicU64,
    bell: watch::Sender<()>,
}

impl OfferChanges {
    pub(crate) fn new() -> Self {
        Self { version: AtomicU64::new(1), bell: watch::Sender::new(()) }
    }

    /// Another number after every change.
    pub(crate) fn version(&self) -> u64 {
        // Acquire, with the release below: who sees the number sees what has changed.
        self.version.load(Ordering::Acquire)
    }

    /// A server's offer has changed.
    pub(crate) fn bump(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
        self.bell.send_replace(());
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.bell.subscribe()
    }
}
