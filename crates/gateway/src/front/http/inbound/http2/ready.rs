//! `ReadyStreams`: the streams of a connection that have something to do, as anybody may say who answers them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Wake;

use crate::lock::{Mutex, rank};
use crate::pump::{SourceHandle, Taker};

#[derive(Debug, Default)]
pub(super) struct ReadyStreams {
    // Held to note one or to take them all.
    state: Mutex<ReadyState, rank::ReadyStreams>,
    /// The connection's reader: known from its first bytes on, and no stream is older.
    source: OnceLock<SourceHandle>,
}

#[derive(Debug, Default)]
struct ReadyState {
    streams: Vec<u32>,
    /// The reader is at work, or was poked: it will look.
    is_awake: bool,
}

/// Notes one stream. It is what wakes the stream's futures, and what takes the bytes of its outbox.
#[derive(Debug)]
pub(super) struct StreamBell {
    ready: Arc<ReadyStreams>,
    stream: u32,
    /// It is noted already.
    has_rung: AtomicBool,
}

/// The number of the connection itself (RFC 9113, 5.1.1).
pub(super) const CONNECTION: u32 = 0;

impl ReadyStreams {
    /// The reader is at work: nobody needs to poke it.
    pub(super) fn awake(&self, source: &SourceHandle) {
        self.source.get_or_init(|| source.clone());
        self.state.lock().is_awake = true;
    }

    /// What is to be done. With nothing left the reader sleeps, and the next to ring pokes it.
    pub(super) fn take(&self) -> Option<Vec<u32>> {
        let mut state = self.state.lock();
        state.is_awake = !state.streams.is_empty();
        state.is_awake.then(|| std::mem::take(&mut state.streams))
    }

    fn note(&self, stream: u32) {
        let mut state = self.state.lock();
        state.streams.push(stream);
        let was_awake = std::mem::replace(&mut state.is_awake, true);
        drop(state); // the pump's orders have a lock of their own
        if let Some(source) = self.source.get().filter(|_| !was_awake) {
            source.poke();
        }
    }
}

impl StreamBell {
    pub(super) fn new(ready: &Arc<ReadyStreams>, stream: u32) -> Arc<Self> {
        Arc::new(Self { ready: Arc::clone(ready), stream, has_rung: AtomicBool::new(false) })
    }

    /// The stream is looked at now: what comes from here on rings again.
    pub(super) fn heard(&self) {
        // AcqRel: whatever was put before the ring is seen by whoever hears it.
        self.has_rung.swap(false, Ordering::AcqRel);
    }

    pub(super) fn strike(&self) {
        if !self.has_rung.swap(true, Ordering::AcqRel) {
            self.ready.note(self.stream);
        }
    }
}

impl Taker for StreamBell {
    fn ring(&self) {
        self.strike();
    }
}

impl Wake for StreamBell {
    fn wake(self: Arc<Self>) {
        self.strike();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.strike();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_noted_once_until_it_is_looked_at() {
        let ready = Arc::<ReadyStreams>::default();
        let [one, other] = [1, 3].map(|stream| StreamBell::new(&ready, stream));
        one.strike();
        one.strike();
        other.strike();
        assert_eq!(ready.take(), Some(vec![1, 3]));
        one.strike();
        assert_eq!(ready.take(), None, "it was not looked at");
        one.heard();
        one.strike();
        assert_eq!(ready.take(), Some(vec![1]));
    }
}
