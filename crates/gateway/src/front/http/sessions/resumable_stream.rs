//! `ResumableStream`: numbered events on their way to one client, kept for a while so that a client
//! whose connection broke can fetch the rest (2025-11-25, Transports, Resumability and redelivery).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::lock::{Mutex, rank};
use bytes::Bytes;
use trunkline_http::event_head;
use trunkline_wire::Edits;

use crate::call::{Payload, Responder};
use crate::front::http::connection::{Clock, Conn, EventStream, HeaderFields, OpenReply, Reply};
use crate::limits::{AWAY_SECONDS, KEPT_BYTES, KEPT_EVENTS, KEPT_SECONDS, WRITTEN_SECONDS};
use crate::pump::FlushSet;

#[derive(Debug)]
pub(crate) struct ResumableStream {
    id: u64,
    /// The first event tells the client its position, and when to come back: 2025-11-25 and later.
    primes: bool,
    clock: Arc<Clock>,
    // Held while an event is numbered, kept and written: the order on the connection is that of the
    // numbers.
    state: Mutex<StreamState, rank::ResumableStream>,
}

#[derive(Debug, Default)]
struct StreamState {
    /// The connection that it flows on now.
    to: Option<EventStream>,
    /// The number of the last event, and of the last one that was put on a connection.
    last: u64,
    sent: u64,
    kept: KeptEvents,
    /// Since when it has no connection, or has ended.
    since: u32,
    ended: bool,
    /// The whole stream was put on a connection.
    written: bool,
}

/// From where on a client wants the events.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ResumeFrom {
    /// Those that were never put on a connection.
    Unsent,
    /// Those behind this number.
    After(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventRole {
    Message,
    /// The answer is the last event.
    Answer,
}

impl ResumableStream {
    pub(crate) fn new(id: u64, primes: bool, clock: &Arc<Clock>) -> Arc<Self> {
        let state = Mutex::new(StreamState { since: clock.now(), ..StreamState::default() });
        Arc::new(Self { id, primes, clock: Arc::clone(clock), state })
    }

    /// Lets the stream flow on this connection, beginning with kept events.
    pub(crate) fn attach(
        self: &Arc<Self>,
        reply: Reply,
        fields: &HeaderFields<'_>,
        from: ResumeFrom,
        touched: &mut FlushSet,
    ) {
        // Held for the whole replay: an event that is pushed meanwhile would otherwise overtake
        // kept ones.
        let mut state = self.state.lock();
        // One connection per stream: the older one ends in order.
        if let Some(before) = state.to.take() {
            before.end(touched);
        }
        let from = match from {
            ResumeFrom::Unsent => state.sent,
            // A number beyond the last is a client's mistake; it must not hide the events to come.
            ResumeFrom::After(number) => number.min(state.last),
        };
        let prime = match self.primes {
            // 2025-11-25, Transports: the server SHOULD send an event with an id and empty data at
            // once, so that the client can come back before the first message.
            true => format!("id: {}-{from}\nretry: {RETRY_MS}\ndata: \n\n", self.id),
            false => String::new(),
        };
        let mut stream = EventStream::begin(reply, fields, prime.as_bytes(), touched);
        let mut kept = state.kept.after(from);
        let open = !stream.reply.conn.outbox.is_closed()
            && kept.all(|(number, data)| self.put_event(&mut stream, number, data, touched));
        drop(kept);
        if open {
            // Only if all went out: otherwise the next connection begins where this one broke.
            state.sent = state.last;
        }
        if state.ended {
            // The rest is there, so the connection ends after it; it is not attached.
            return stream.end(touched);
        }
        if open {
            // Weak: a connection that lingers must not keep the stream's events alive.
            stream.reply.conn.watch(Arc::downgrade(self) as _);
            state.to = Some(stream);
        }
    }

    /// Adds one event. False: the stream has ended, and no client will see it.
    pub(crate) fn push(&self, data: Bytes, role: EventRole, touched: &mut FlushSet) -> bool {
        let mut state = self.state.lock();
        if state.ended {
            return false;
        }
        state.last += 1;
        let number = state.last;
        // Taken out first: a stream that fails is dropped, and the events wait for the next
        // connection.
        if let Some(mut stream) = state.to.take() {
            if self.put_event(&mut stream, number, &data, touched) {
                state.to = Some(stream);
                state.sent = number;
            } else {
                state.since = self.clock.now();
            }
        }
        // Kept even if it was put: the client may lose it with its connection.
        state.kept.add(number, data, role);
        if role == EventRole::Answer {
            self.finish(&mut state, touched);
        }
        true
    }

    fn put_event(
        &self,
        stream: &mut EventStream,
        number: u64,
        data: &Bytes,
        touched: &mut FlushSet,
    ) -> bool {
        let mut head = Vec::with_capacity(64);
        // 2025-11-25, Transports: an id is unique over all streams of a session, so that it begins
        // with the stream's own.
        event_head(None, Some(&format!("{}-{number}", self.id)), &mut head);
        !stream.is_unread() && stream.shared_event(&head, data, touched)
    }

    /// Ends the stream: no more events.
    pub(crate) fn close(&self, touched: &mut FlushSet) {
        self.finish(&mut self.state.lock(), touched);
    }

    fn finish(&self, state: &mut StreamState, touched: &mut FlushSet) {
        state.ended = true;
        state.since = self.clock.now();
        if let Some(stream) = state.to.take() {
            // Only with a connection was the end written; without one the client will come for it.
            state.written = true;
            stream.end(touched);
        }
    }

    /// Writes a comment, so that a slow answer shows that it is alive.
    pub(crate) fn comment(&self, touched: &mut FlushSet) {
        if let Some(stream) = &mut self.state.lock().to {
            stream.comment(touched);
        }
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.state.lock().to.is_some()
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.state.lock().ended
    }

    /// Bytes kept.
    pub(crate) fn weight(&self) -> usize {
        self.state.lock().kept.weight()
    }

    /// Drops the events that a client has missed by staying away too long.
    pub(crate) fn drop_missed(&self, now: u32) {
        let mut state = self.state.lock();
        // A client that is away for longer gets what comes from now on: memory is bounded by time
        // as well as by size.
        if state.to.is_none() && now.saturating_sub(state.since) > KEPT_SECONDS {
            state.kept = KeptEvents::default();
        }
    }

    /// Has it been over for so long that no client will ask for the rest?
    pub(crate) fn is_stale(&self, now: u32) -> bool {
        let state = self.state.lock();
        // What was put on a connection is asked for again soon or never.
        let kept = if state.written { WRITTEN_SECONDS } else { KEPT_SECONDS };
        state.ended && now.saturating_sub(state.since) > kept
    }

    fn is_away(&self) -> bool {
        let state = self.state.lock();
        state.to.is_none() && self.clock.now().saturating_sub(state.since) > AWAY_SECONDS
    }
}

impl OpenReply for ResumableStream {
    fn tick(&self, _: u32, touched: &mut FlushSet) {
        if let Some(stream) = &mut self.state.lock().to {
            stream.comment_if_silent(touched);
        }
    }

    /// Keeps the events: the client may come back on another connection. It may have done so
    /// already, so only the stream on this connection is dropped.
    fn client_left(&self, conn: &Arc<Conn>, _: &mut FlushSet) {
        let mut state = self.state.lock();
        if state.to.as_ref().is_some_and(|stream| Arc::ptr_eq(&stream.reply.conn, conn)) {
            // The stream is dropped without its end: there is nobody left to read it.
            state.to = None;
            state.since = self.clock.now();
        }
    }
}

/// The stream for what concerns no call.
impl Responder for ResumableStream {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        // A client that stays away is told nothing more: its events would only fill memory.
        !self.is_away() && self.push(spliced(bytes, edits), EventRole::Message, touched)
    }

    fn answer(&self, _: Payload<'_>, _: &Edits<'_>, _: &mut FlushSet) -> bool {
        false // no request comes in through this stream
    }
}

pub(crate) fn spliced(bytes: &[u8], edits: &Edits<'_>) -> Bytes {
    let mut out = Vec::new();
    edits.write(bytes, &mut out);
    out.into()
}

/// The events of a stream that its client may ask for again. The answer is kept whatever its size:
/// without it the whole call would be lost.
#[derive(Debug, Default)]
struct KeptEvents {
    events: VecDeque<(u64, Bytes)>,
    /// Bytes of those that are no answer.
    bytes: usize,
    answer: Option<(u64, Bytes)>,
}

impl KeptEvents {
    fn add(&mut self, number: u64, data: Bytes, role: EventRole) {
        if role == EventRole::Answer {
            self.answer = Some((number, data));
            return;
        }
        self.bytes += data.len();
        self.events.push_back((number, data));
        // Bounds the memory of a client that does not come back.
        while self.bytes > KEPT_BYTES || self.events.len() > KEPT_EVENTS {
            // The oldest go first: a client that comes back late misses the beginning, never the
            // end.
            let Some((_, oldest)) = self.events.pop_front() else { return };
            self.bytes -= oldest.len();
        }
    }

    fn after(&self, number: u64) -> impl Iterator<Item = (u64, &Bytes)> {
        let all = self.events.iter().chain(&self.answer);
        all.filter(move |(held, _)| *held > number).map(|(held, data)| (*held, data))
    }

    fn weight(&self) -> usize {
        self.bytes + self.answer.as_ref().map_or(0, |(_, data)| data.len())
    }
}

/// After how many milliseconds a client that lost its connection should come back.
const RETRY_MS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(kept: &KeptEvents, after: u64) -> Vec<u64> {
        kept.after(after).map(|(number, _)| number).collect()
    }

    #[test]
    fn the_oldest_messages_go_and_the_answer_stays() {
        let mut kept = KeptEvents::default();
        for number in 1..=300 {
            kept.add(number, Bytes::from_static(b"x"), EventRole::Message);
        }
        kept.add(301, vec![b'a'; 3 << 20].into(), EventRole::Answer);
        let held = numbers(&kept, 0);
        assert_eq!((held.len(), held.first(), held.last()), (257, Some(&45), Some(&301)));
        assert_eq!(numbers(&kept, 299), [300, 301]);
        assert_eq!(numbers(&kept, 301), [0; 0]);
        assert_eq!(kept.weight(), (3 << 20) + 256);
    }

    #[test]
    fn the_bytes_are_bounded_too() {
        let mut kept = KeptEvents::default();
        for number in 1..=10 {
            kept.add(number, vec![b'x'; 400_000].into(), EventRole::Message);
        }
        assert_eq!(numbers(&kept, 0), [9, 10]);
        kept.add(11, vec![b'x'; 2 << 20].into(), EventRole::Message);
        assert_eq!((numbers(&kept, 0), kept.weight()), (vec![], 0));
    }
}
