//! `SessionStreams`: the streams of one session by their numbers: open ones, and those that ended a
//! while ago.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lock::{Mutex, rank};

use super::resumable_stream::ResumableStream;
use super::session_names::SessionName;
use crate::front::http::connection::Clock;
use crate::limits::{KEPT_STREAMS, KEPT_STREAMS_BYTES};
use crate::pump::FlushSet;

/// 128 random bits as hexadecimal digits: knowing it proves to be the client.
pub(crate) type SessionId = [u8; 32];

#[derive(Debug)]
pub(crate) struct SessionStreams {
    pub(crate) session: SessionName,
    /// The client knows how to come back to a stream.
    primes: bool,
    clock: Arc<Clock>,
    // Above the streams' own locks: they are looked at under it, and written without it.
    table: Mutex<StreamTable, rank::SessionStreams>,
}

#[derive(Debug, Default)]
struct StreamTable {
    last: u64,
    streams: BTreeMap<u64, Arc<ResumableStream>>,
}

/// The stream for what concerns no call.
const GENERAL: u64 = 0;

impl SessionStreams {
    pub(crate) fn new(session: impl Into<SessionName>, primes: bool, clock: &Arc<Clock>) -> Self {
        Self { session: session.into(), primes, clock: Arc::clone(clock), table: Mutex::default() }
    }

    /// A stream for the answer to one request.
    pub(crate) fn open(&self) -> Arc<ResumableStream> {
        // Numbers are given under the lock: two requests at once get two streams.
        let mut table = self.table.lock();
        table.last += 1;
        let id = table.last;
        let stream = ResumableStream::new(id, self.primes, &self.clock);
        table.streams.insert(id, Arc::clone(&stream));
        // Each open takes the chance to bound the table: no timer is needed.
        table.keep_within_bounds();
        stream
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<ResumableStream>> {
        // Cloned out: replaying a stream takes its own lock and a while.
        self.table.lock().streams.get(&id).cloned()
    }

    /// The stream for what concerns no call.
    pub(crate) fn general(&self) -> Arc<ResumableStream> {
        let mut table = self.table.lock();
        let new = || ResumableStream::new(GENERAL, self.primes, &self.clock);
        Arc::clone(table.streams.entry(GENERAL).or_insert_with(new))
    }

    pub(crate) fn close_general(&self, touched: &mut FlushSet) {
        // Removed under the lock, closed outside it: closing writes to a connection.
        let general = self.table.lock().streams.remove(&GENERAL);
        if let Some(general) = general {
            general.close(touched);
        }
    }

    pub(crate) fn any_attached(&self) -> bool {
        self.table.lock().streams.values().any(|stream| stream.is_attached())
    }

    /// Forgets the streams and events that no client will ask for any more.
    pub(crate) fn forget(&self, now: u32) {
        // The table is held while each stream's state is looked at: that order, never the other.
        let mut table = self.table.lock();
        table.streams.values().for_each(|stream| stream.drop_missed(now));
        table.streams.retain(|_, stream| !stream.is_stale(now));
        table.keep_within_bounds();
    }
}

impl StreamTable {
    /// Keeps only the newest of the streams that have ended: they hold memory for clients that may
    /// never come back.
    fn keep_within_bounds(&mut self) {
        let (mut count, mut bytes) = (0, 0);
        let mut beyond = Vec::new();
        // From the newest on: what is beyond the bounds is then the oldest.
        for (id, stream) in self.streams.iter().rev().filter(|(_, stream)| stream.is_ended()) {
            count += 1;
            bytes += stream.weight();
            // The newest one stays whatever its size: its client may just be coming back.
            if count > 1 && (count > KEPT_STREAMS || bytes > KEPT_STREAMS_BYTES) {
                beyond.push(*id);
            }
        }
        for id in beyond {
            self.streams.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::front::http::sessions::EventRole;
    use crate::limits::KEPT_SECONDS;

    fn streams() -> SessionStreams {
        SessionStreams::new([b'0'; 32], true, &Arc::new(Clock::new()))
    }

    fn answer(stream: &ResumableStream, length: usize) {
        let data = Bytes::from(vec![b'x'; length]);
        assert!(stream.push(data, EventRole::Answer, &mut FlushSet::default()));
    }

    #[test]
    fn the_newest_ended_streams_are_kept() {
        let streams = streams();
        let open = streams.open();
        for _ in 0..KEPT_STREAMS + 10 {
            answer(&streams.open(), 1);
        }
        streams.forget(0);
        assert!(streams.get(1).is_some(), "it has not ended");
        assert!(streams.get(2).is_none(), "one of the oldest");
        assert!(streams.get(KEPT_STREAMS as u64 + 11).is_some());
        answer(&open, 1);
        streams.forget(0);
        assert!(streams.get(1).is_none());
    }

    #[test]
    fn large_ones_push_others_out_but_not_themselves() {
        let streams = streams();
        let (small, large) = (streams.open(), streams.open());
        answer(&small, 1);
        answer(&large, KEPT_STREAMS_BYTES + 1);
        streams.forget(0);
        assert!(streams.get(1).is_none() && streams.get(2).is_some());
    }

    #[test]
    fn what_a_client_that_stays_away_has_missed_is_forgotten() {
        let streams = streams();
        let general = streams.general();
        assert!(general.push(
            Bytes::from_static(b"x"),
            EventRole::Message,
            &mut FlushSet::default()
        ));
        streams.forget(KEPT_SECONDS);
        assert_eq!(general.weight(), 1);
        streams.forget(KEPT_SECONDS + 1);
        assert_eq!(general.weight(), 0);
        assert!(Arc::ptr_eq(&general, &streams.general()), "the stream itself is not over");
    }

    #[test]
    fn ended_streams_are_forgotten_after_a_while() {
        let streams = streams();
        answer(&streams.open(), 1);
        streams.open();
        streams.forget(u32::MAX);
        assert!(streams.get(1).is_none() && streams.get(2).is_some());
    }
}
