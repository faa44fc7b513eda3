//! `ServerFacts`: what the handshake and later answers have shown about a server.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use crate::call::Level;
use crate::upstream::calls::link::Link;

// Relaxed throughout: each is set once, before what depends on it is sent.
#[derive(Debug)]
pub(crate) struct ServerFacts {
    /// The handshake is over, and what it offers is known.
    opened: AtomicBool,
    /// It logs, and was told to from this level on (more than any: it was told nothing).
    pub(crate) logs: AtomicBool,
    // Changes more than once: `fetch_min` alone decides who tells the server of a lower level.
    pub(in crate::upstream) told_level: AtomicU8,
    /// It has tasks: answers may tell of them.
    pub(crate) has_tasks: AtomicBool,
    /// What it was told that clients can do, in the handshake.
    pub(in crate::upstream) told: OnceLock<Arc<[u8]>>,
}

impl ServerFacts {
    pub(in crate::upstream) fn new() -> Self {
        Self {
            opened: AtomicBool::new(false),
            logs: AtomicBool::new(false),
            told_level: AtomicU8::new(u8::MAX),
            has_tasks: AtomicBool::new(false),
            told: OnceLock::new(),
        }
    }

    /// Is the handshake over? Before that, an answer without an id belongs to no call: servers log,
    /// greet and answer notifications then.
    pub(in crate::upstream) fn is_opened(&self) -> bool {
        self.opened.load(Ordering::Relaxed)
    }

    pub(in crate::upstream) fn set_opened(&self) {
        self.opened.store(true, Ordering::Relaxed);
    }

    /// A request wants to hear the log from this level on: the server has to be told, for all.
    pub(in crate::upstream) fn raise_level(&self, link: &Link, level: Option<Level>) {
        let Some(level) = level.filter(|_| self.logs.load(Ordering::Relaxed)) else { return };
        if self.told_level.fetch_min(level.number(), Ordering::Relaxed) > level.number() {
            let params = format!("{{\"level\":\"{}\"}}", level.name());
            link.mention("logging/setLevel", params.as_bytes());
        }
    }

    /// The sessions want to hear the log from this level on. It also holds for requests that want more: the next one of
    /// those tells it anew.
    pub(crate) fn set_level(&self, link: &Link, level: Level) {
        // Relaxed: sessions and nearly all requests are taken by one thread. A request that another one hands over at this
        // moment may be told behind or before it; the worst is a log that is finer or coarser until the next request.
        self.told_level.store(level.number(), Ordering::Relaxed);
        let params = format!("{{\"level\":\"{}\"}}", level.name());
        link.mention("logging/setLevel", params.as_bytes());
    }

    /// From now on its answers are looked at.
    pub(crate) fn expect_tasks(&self) {
        self.has_tasks.store(true, Ordering::Relaxed);
    }
}
