//! `Demand`: that a server is needed, and what it may hold for those who needed it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

// Relaxed throughout: `needed` is rung after the flag is set, and who is woken looks again.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    is_called: AtomicBool,
    needed: Notify,
    /// A tool was called that says it changes something: its process may hold state for its caller.
    may_hold_state: AtomicBool,
}

impl Demand {
    /// Notes that somebody needs the server. True: nobody did before.
    pub(in crate::upstream) fn call(&self) -> bool {
        !self.is_called.swap(true, Ordering::Relaxed)
    }

    /// Tells who starts the server. A permit is stored: one that comes too early is not lost.
    pub(in crate::upstream) fn ring(&self) {
        self.needed.notify_one();
    }

    pub(in crate::upstream) fn is_called(&self) -> bool {
        self.is_called.load(Ordering::Relaxed)
    }

    /// Resolves when somebody may need the server; to be asked again what is the case then.
    pub(in crate::upstream) async fn changed(&self) {
        self.needed.notified().await;
    }

    /// A tool is called whose annotations say that it changes something.
    pub(crate) fn note_state(&self) {
        self.may_hold_state.store(true, Ordering::Relaxed);
    }

    pub(in crate::upstream) fn may_hold_state(&self) -> bool {
        self.may_hold_state.load(Ordering::Relaxed)
    }

    /// To be called before the server is taken out of sight: a call that comes afterwards is not forgotten.
    pub(in crate::upstream) fn begin_anew(&self) {
        // Relaxed: the lock of the live connection is taken next (`set_gone`). Whoever finds the
        // connection gone there sees that nobody has called yet, and rings.
        self.is_called.store(false, Ordering::Relaxed);
        self.may_hold_state.store(false, Ordering::Relaxed);
    }
}
