//! `Http2Watch`: a connection of HTTP/2 as the sweeper sees it. It is told goodbye when it is idle for long, or
//! when the front ends.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use crate::front::http::connection::{Conn, OpenReply};
use crate::front::http::front::Front;
use crate::limits::{IDLE_SECONDS, LEAVING_SECONDS, shortened_seconds};
use crate::pump::{FlushSet, SourceHandle};

#[derive(Debug)]
pub(super) struct Http2Watch {
    front: Weak<Front>,
    /// The connection's reader, from its first bytes on.
    source: OnceLock<SourceHandle>,
    /// When it was last seen with an open stream.
    // Relaxed, like the others: the sweeper may see an old value, and looks again after a second.
    busy_at: AtomicU32,
    is_busy: AtomicBool,
    /// A stream waits for some seconds to pass.
    has_leaving: AtomicBool,
    /// When it was told goodbye; 0: not yet.
    leaving_since: AtomicU32,
    /// Its outbox is closed if it does not leave.
    conn: Weak<Conn>,
}

impl Http2Watch {
    pub(super) fn new(front: &Arc<Front>, conn: &Arc<Conn>) -> Arc<Self> {
        Arc::new(Self {
            front: Arc::downgrade(front),
            source: OnceLock::new(),
            busy_at: AtomicU32::new(conn.now()),
            is_busy: AtomicBool::new(false),
            has_leaving: AtomicBool::new(false),
            leaving_since: AtomicU32::new(0),
            conn: Arc::downgrade(conn),
        })
    }

    /// Notes what the reader knows.
    pub(super) fn note(&self, source: &SourceHandle, is_busy: bool, has_leaving: bool, now: u32) {
        self.has_leaving.store(has_leaving, Ordering::Relaxed);
        self.source.get_or_init(|| source.clone());
        if is_busy || self.is_busy.load(Ordering::Relaxed) {
            self.busy_at.store(now, Ordering::Relaxed);
        }
        self.is_busy.store(is_busy, Ordering::Relaxed);
    }

    /// Is goodbye to be said?
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving_since.load(Ordering::Relaxed) > 0
    }

    fn is_over(&self, now: u32) -> bool {
        let is_idle = !self.is_busy.load(Ordering::Relaxed)
            && now.saturating_sub(self.busy_at.load(Ordering::Relaxed)) > IDLE_SECONDS;
        is_idle || self.front.upgrade().is_none_or(|front| front.is_draining())
    }
}

impl OpenReply for Http2Watch {
    fn tick(&self, _: u32, _: &mut FlushSet) {
        let Some(conn) = self.conn.upgrade() else { return };
        let now = conn.now();
        if self.has_leaving.load(Ordering::Relaxed)
            && let Some(source) = self.source.get()
        {
            source.poke();
        }
        let since = self.leaving_since.load(Ordering::Relaxed);
        if since > 0 {
            let patience = shortened_seconds(LEAVING_SECONDS);
            if !self.is_busy.load(Ordering::Relaxed) && now.saturating_sub(since) > patience {
                conn.outbox.close();
            }
        } else if self.is_over(now) {
            self.leaving_since.store(now.max(1), Ordering::Relaxed);
            match self.source.get() {
                Some(source) => source.poke(),
                // It has never said anything.
                None => conn.outbox.close(),
            }
        }
    }

    fn client_left(&self, _: &Arc<Conn>, _: &mut FlushSet) {}
}
