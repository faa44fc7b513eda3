//! `Http2Watch`: a connection of HTTP/2 as the sweeper sees it. It is told goodbye when it is idle for long, when it
//! asks nothing in time, when others need its place, or when the front ends.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use crate::front::http::connection::{Conn, OpenReply};
use crate::front::http::front::{CROWDED_IDLE_SECONDS, Front};
use crate::limits::{HEAD_SECONDS, IDLE_SECONDS, LEAVING_SECONDS, shortened_seconds};
use crate::pump::{FlushSet, SourceHandle};

#[derive(Debug)]
pub(super) struct Http2Watch {
    front: Weak<Front>,
    /// The connection's reader, from its first bytes on.
    source: OnceLock<SourceHandle>,
    /// When it began, or was last seen with an open stream.
    // Relaxed, like the others: the sweeper may see an old value, and looks again after a second.
    busy_at: AtomicU32,
    is_busy: AtomicBool,
    /// The head of a request has come.
    has_asked: AtomicBool,
    /// A stream waits for some seconds to pass.
    has_leaving: AtomicBool,
    /// When it was told goodbye; 0: not yet.
    leaving_since: AtomicU32,
    /// It was told so at once: nothing that its client may be sending is awaited.
    is_cut: AtomicBool,
    /// Its outbox is closed if it does not leave.
    conn: Weak<Conn>,
}

/// How a connection is told goodbye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goodbye {
    /// What its client sends before it has read that is answered.
    Graceful,
    /// At once: whoever holds a place for nothing would not answer.
    AtOnce,
}

impl Http2Watch {
    pub(super) fn new(front: &Arc<Front>, conn: &Arc<Conn>) -> Arc<Self> {
        Arc::new(Self {
            front: Arc::downgrade(front),
            source: OnceLock::new(),
            busy_at: AtomicU32::new(conn.now()),
            is_busy: AtomicBool::new(false),
            has_asked: AtomicBool::new(false),
            has_leaving: AtomicBool::new(false),
            leaving_since: AtomicU32::new(0),
            is_cut: AtomicBool::new(false),
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

    /// Notes the head of a request, which may be answered before the reader is asked again.
    pub(super) fn note_request(&self, now: u32) {
        self.busy_at.store(now, Ordering::Relaxed);
        self.has_asked.store(true, Ordering::Relaxed);
    }

    /// The goodbye that is to be said.
    pub(super) fn goodbye(&self) -> Option<Goodbye> {
        let is_leaving = self.leaving_since.load(Ordering::Relaxed) > 0;
        let is_cut = self.is_cut.load(Ordering::Relaxed);
        is_leaving.then_some(if is_cut { Goodbye::AtOnce } else { Goodbye::Graceful })
    }

    fn find_goodbye(&self, now: u32, conn: &Conn) -> Option<Goodbye> {
        let Some(front) = self.front.upgrade() else { return Some(Goodbye::Graceful) };
        let idle = IdleConnection {
            seconds: now.saturating_sub(self.busy_at.load(Ordering::Relaxed)),
            has_asked: self.has_asked.load(Ordering::Relaxed),
            was_known: conn.accounts.was_known(),
        };
        let is_busy = self.is_busy.load(Ordering::Relaxed);
        let found = if is_busy { None } else { idle.goodbye(front.is_crowded()) };
        found.or_else(|| front.is_draining().then_some(Goodbye::Graceful))
    }
}

/// A connection without an open stream.
struct IdleConnection {
    seconds: u32,
    /// Some request has come before.
    has_asked: bool,
    /// … of somebody who had shown who they are.
    was_known: bool,
}

impl IdleConnection {
    fn goodbye(&self, is_crowded: bool) -> Option<Goodbye> {
        // A preface or a first head that drips in is no more than a head of HTTP/1.1 that does.
        let is_late = !self.has_asked && self.seconds > shortened_seconds(HEAD_SECONDS);
        let is_crowd = is_crowded && !self.was_known && self.seconds > CROWDED_IDLE_SECONDS;
        if is_late || is_crowd {
            return Some(Goodbye::AtOnce);
        }
        (self.seconds > IDLE_SECONDS).then_some(Goodbye::Graceful)
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
        } else if let Some(goodbye) = self.find_goodbye(now, &conn) {
            self.is_cut.store(goodbye == Goodbye::AtOnce, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_nothing_goes_early_and_when_others_need_the_place_at_once() {
        let (cut, graceful) = (Some(Goodbye::AtOnce), Some(Goodbye::Graceful));
        for (seconds, has_asked, was_known, is_crowded, expected) in [
            (HEAD_SECONDS, false, false, false, None),
            (HEAD_SECONDS + 1, false, false, false, cut),
            (HEAD_SECONDS + 1, true, false, false, None),
            (IDLE_SECONDS, true, false, false, None),
            (IDLE_SECONDS + 1, true, false, false, graceful),
            (CROWDED_IDLE_SECONDS, false, false, true, None),
            (CROWDED_IDLE_SECONDS + 1, false, false, true, cut),
            (CROWDED_IDLE_SECONDS + 1, true, false, true, cut),
            (CROWDED_IDLE_SECONDS + 1, true, true, true, None),
            (IDLE_SECONDS + 1, true, true, true, graceful),
        ] {
            let idle = IdleConnection { seconds, has_asked, was_known };
            assert_eq!(idle.goodbye(is_crowded), expected, "{seconds} s {has_asked} {was_known}");
        }
    }
}
