//! `OfferChanges`: that what servers offer has changed: a number for those who look, a bell for those
//! who wait.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct OfferChanges {
    /// Another number after every change.
    // To be loaded with Acquire, the release is in `bump`: who sees the number sees what has changed.
    pub(crate) version: AtomicU64,
    /// Another number after every change of what somebody decides, not a server: what may be seen and called.
    // Changed before the version: who sees the number of a change sees that of its settings.
    settings: AtomicU64,
    bell: watch::Sender<()>,
}

impl OfferChanges {
    pub(crate) fn new() -> Self {
        let (version, settings) = (AtomicU64::new(1), AtomicU64::new(0));
        Self { version, settings, bell: watch::Sender::new(()) }
    }

    /// A server's offer has changed.
    pub(crate) fn bump(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
        self.bell.send_replace(());
    }

    /// Somebody has decided about what may be seen and called: what was offered before is not served any more.
    pub(crate) fn bump_settings(&self) {
        self.settings.fetch_add(1, Ordering::AcqRel);
        self.bump();
    }

    pub(crate) fn settings(&self) -> u64 {
        self.settings.load(Ordering::Acquire)
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.bell.subscribe()
    }
}
