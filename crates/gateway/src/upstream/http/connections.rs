//! `Connections`: the pool behind its lock, and the bell for what takes time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use trunkline_http::Url;
use trunkline_wire::{Kind, decode, member, scan};

use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::upstream::http::exchange::Exchange;
use crate::upstream::http::pool::{Pool, Unkept};
use crate::upstream::http::slot::{Ending, Slot};
use crate::upstream::http::trouble::Trouble;

#[derive(Debug)]
pub(super) struct Connections {
    // Taken while the open calls are locked, and holds connections' slots and outboxes below it.
    pub(super) pool: Mutex<Pool, rank::HttpPool>,
    /// There is something to do that takes time.
    pub(super) attention: Notify,
}

impl Connections {
    pub(super) fn url(&self) -> Url {
        self.pool.lock().session.address.url.clone()
    }

    /// Ends an exchange and lets its connection serve on: for so long, or not at all.
    pub(super) fn release(
        &self,
        slot: &Arc<Slot>,
        keep: Option<Duration>,
        touched: &mut FlushSet,
    ) -> Option<Exchange> {
        let released = self.pool.lock().release(slot, keep, touched);
        released
            .unwrap_or_else(|Unkept| self.drop_slot(slot).exchange.map(|(exchange, _)| exchange))
    }

    /// As `release`, for an exchange that needs nothing more.
    pub(super) fn finish(&self, slot: &Arc<Slot>, keep: Option<Duration>, touched: &mut FlushSet) {
        let mut pool = self.pool.lock();
        match pool.release(slot, keep, touched) {
            Ok(exchange) => exchange.into_iter().for_each(|exchange| pool.recycle(exchange)),
            Err(Unkept) => {
                drop(pool);
                self.drop_slot(slot);
            }
        }
    }

    /// A connection is over.
    pub(super) fn drop_slot(&self, slot: &Arc<Slot>) -> Ending {
        self.pool.lock().remove(slot);
        let ending = slot.end();
        self.attention.notify_one(); // something may wait for a connection
        ending
    }

    /// Sends an exchange, now or as soon as there is a connection.
    pub(super) fn start(&self, exchange: Exchange, touched: &mut FlushSet) {
        let waits = self.pool.lock().start(exchange, touched);
        if waits {
            self.attention.notify_one();
        }
    }

    pub(super) fn delay(&self, exchange: Exchange, pause: Duration) {
        let mut pool = self.pool.lock();
        if !pool.closed {
            pool.delay(exchange, pause);
        }
        drop(pool);
        self.attention.notify_one();
    }

    /// The server is to be given up.
    pub(super) fn give_up(&self, trouble: Trouble) {
        self.pool.lock().trouble.get_or_insert(trouble);
        self.attention.notify_one();
    }

    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.pool.lock().next_tick()
    }

    pub(super) fn tick(&self) {
        let mut touched = FlushSet::default();
        self.pool.lock().tick(&mut touched);
        touched.flush();
    }

    /// Closes what `close` has left open.
    pub(super) fn close_all(&self) {
        self.pool.lock().close_all();
    }

    /// Every later request names the revision that was agreed on.
    pub(super) fn note_revision(&self, answer: &[u8]) {
        let Ok(message) = scan(answer) else { return };
        if message.kind != Kind::Answer {
            return;
        }
        let revision = member(message.text(message.result), "protocolVersion").and_then(decode);
        if let Some(revision) = revision {
            self.pool.lock().session.agree(revision.into_owned());
        }
    }
}
