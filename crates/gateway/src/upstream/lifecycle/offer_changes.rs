//! `OfferChanges`: that what servers offer has changed: a number for those who look, a bell for those
//! who wait.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct OfferChanges {
    /// Another number after every change.
    // To be loaded with Acquire, the release is in `bump`: who sees the number sees what has changed.
    pub(crate) version: AtomicU64,
    bell: watch::Sender<()>,
}

impl OfferChanges {
    pub(crate) fn new() -> Self {
        Self { version: AtomicU64::new(1), bell: watch::Sender::new(()) }
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
