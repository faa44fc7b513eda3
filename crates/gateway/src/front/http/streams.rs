//! The streams of one session, by their numbers: those that flow, and those that ended a while ago.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::front::http::clock::Clock;
use crate::front::http::events::Stream;
use crate::front::http::sessions::SessionId;
use crate::limits::{KEPT_STREAMS, KEPT_STREAMS_BYTES};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;

#[derive(Debug)]
pub(super) struct Streams {
    pub(super) session: SessionId,
    /// The client knows how to come back to a stream.
    primes: bool,
    clock: Arc<Clock>,
    known: Mutex<Known, rank::SessionStreams>,
}

#[derive(Debug, Default)]
struct Known {
    last: u64,
    streams: BTreeMap<u64, Arc<Stream>>,
}

/// The stream for what concerns no call.
const GENERAL: u64 = 0;

impl Streams {
    pub(super) fn new(session: SessionId, primes: bool, clock: &Arc<Clock>) -> Self {
        Self { session, primes, clock: Arc::clone(clock), known: Mutex::default() }
    }

    /// A stream for the answer to one request.
    pub(super) fn open(&self) -> Arc<Stream> {
        let mut known = self.known.lock();
        known.last += 1;
        let id = known.last;
        let stream = Stream::new(id, self.primes, &self.clock);
        known.streams.insert(id, Arc::clone(&stream));
        known.keep_within_bounds();
        stream
    }

    pub(super) fn get(&self, id: u64) -> Option<Arc<Stream>> {
        self.known.lock().streams.get(&id).cloned()
    }

    /// The stream for what concerns no call.
    pub(super) fn general(&self) -> Arc<Stream> {
        let mut known = self.known.lock();
        let new = || Stream::new(GENERAL, self.primes, &self.clock);
        Arc::clone(known.streams.entry(GENERAL).or_insert_with(new))
    }

    pub(super) fn close_general(&self, touched: &mut FlushSet) {
        let general = self.known.lock().streams.remove(&GENERAL);
        if let Some(general) = general {
            general.close(touched);
        }
    }

    pub(super) fn any_attached(&self) -> bool {
        self.known.lock().streams.values().any(|stream| stream.is_attached())
    }

    /// Forgets the streams nobody will come back to.
    pub(super) fn forget(&self, now: u32) {
        let mut known = self.known.lock();
        known.streams.retain(|_, stream| !stream.is_forgotten(now));
        known.keep_within_bounds();
    }
}

impl Known {
    /// Of the streams that have ended, the newest are kept.
    fn keep_within_bounds(&mut self) {
        let (mut count, mut bytes) = (0, 0);
        let mut beyond = Vec::new();
        for (id, stream) in self.streams.iter().rev().filter(|(_, stream)| stream.is_ended()) {
            count += 1;
            bytes += stream.weight();
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
    use crate::front::http::events::Role;
    use crate::limits::KEPT_SECONDS;

    fn streams() -> Streams {
        Streams::new([b'0'; 32], true, &Arc::new(Clock::new()))
    }

    fn answer(stream: &Stream, length: usize) {
        let data = Bytes::from(vec![b'x'; length]);
        assert!(stream.push(data, Role::Answer, &mut FlushSet::default()));
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
        assert!(general.push(Bytes::from_static(b"x"), Role::Message, &mut FlushSet::default()));
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
