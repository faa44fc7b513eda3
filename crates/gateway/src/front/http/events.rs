//! `Stream`: events on their way to one client, each with its number, kept for a while so that a
//! client whose connection broke can have the rest.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use trunkline_http::{LAST_CHUNK, chunk, chunk_head, event_head};
use trunkline_wire::Edits;

use crate::call::{Payload, Responder};
use crate::front::http::clock::Clock;
use crate::front::http::conn::{Conn, Open};
use crate::front::http::reply::{Fields, Reply};
use crate::limits::{
    AWAY_SECONDS, COMMENT_SECONDS, KEPT_BYTES, KEPT_EVENTS, KEPT_SECONDS, STREAM_BYTES,
    WRITTEN_SECONDS,
};
use crate::lock::{Mutex, rank};
use crate::pump::{FlushSet, Frame};

#[derive(Debug)]
pub(super) struct Stream {
    id: u64,
    /// The client is told at once where it stands, and when to come back.
    primes: bool,
    clock: Arc<Clock>,
    state: Mutex<State, rank::EventStream>,
}

#[derive(Debug, Default)]
struct State {
    /// The connection it flows on now.
    to: Option<Reply>,
    /// Events so far, and how many of them were put on a connection.
    last: u64,
    sent: u64,
    kept: Kept,
    /// When something was last put.
    spoken: u32,
    /// Since when it has no connection, or has ended.
    since: u32,
    ended: bool,
    /// All of it was put on a connection.
    written: bool,
}

/// From where on a client wants the events.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    /// What was never put on any connection.
    Unsent,
    /// What came behind this one.
    After(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Message,
    /// The answer is the last event.
    Answer,
}

/// What a stream of events is answered with.
pub(super) const EVENT_STREAM: [(&str, &[u8]); 3] = [
    ("Content-Type", b"text/event-stream"),
    ("Cache-Control", b"no-cache, no-transform"),
    ("X-Accel-Buffering", b"no"), // else nginx gathers events before it passes them on
];

impl Stream {
    pub(super) fn new(id: u64, primes: bool, clock: &Arc<Clock>) -> Arc<Self> {
        let state = Mutex::new(State { since: clock.now(), ..State::default() });
        Arc::new(Self { id, primes, clock: Arc::clone(clock), state })
    }

    /// From now on it flows here, beginning with what is kept.
    pub(super) fn attach(
        self: &Arc<Self>,
        reply: Reply,
        fields: &Fields<'_>,
        from: From,
        touched: &mut FlushSet,
    ) {
        let mut state = self.state.lock();
        if let Some(before) = state.to.take() {
            end(before, touched);
        }
        let from = match from {
            From::Unsent => state.sent,
            From::After(number) => number.min(state.last),
        };
        let mut out = stream_head(&reply, fields);
        if self.primes {
            let words = format!("id: {}-{from}\nretry: {RETRY}\ndata: \n\n", self.id);
            framed(&reply, words.as_bytes(), &mut out);
        }
        let mut open = put(&reply, &out);
        for (number, data) in state.kept.after(from) {
            open = open && self.put_event(&reply, number, data);
        }
        touched.note(&reply.conn.outbox);
        if open {
            state.sent = state.last;
            state.spoken = self.clock.now();
        }
        if state.ended {
            return end(reply, touched);
        }
        if open {
            reply.conn.watch(Open::Stream(Arc::downgrade(self)));
            state.to = Some(reply);
        }
    }

    /// One more event. False: nobody will see it.
    pub(super) fn push(&self, data: Bytes, role: Role, touched: &mut FlushSet) -> bool {
        let mut state = self.state.lock();
        let now = self.clock.now();
        if state.ended {
            return false;
        }
        state.last += 1;
        let number = state.last;
        if let Some(reply) = state.to.take() {
            if self.put_event(&reply, number, &data) {
                touched.note(&reply.conn.outbox);
                state.to = Some(reply);
                state.sent = number;
                state.spoken = now;
            } else {
                state.since = now;
            }
        }
        state.kept.add(number, data, role);
        if role == Role::Answer {
            self.over(&mut state, touched);
        }
        true
    }

    fn put_event(&self, reply: &Reply, number: u64, data: &Bytes) -> bool {
        let outbox = &reply.conn.outbox;
        if outbox.len() > STREAM_BYTES {
            tracing::debug!("a stream that is not read is closed");
            return false;
        }
        let mut event = Vec::with_capacity(64);
        event_head(None, Some(&format!("{}-{number}", self.id)), &mut event);
        put_event(reply, &event, data)
    }

    /// No more events.
    pub(super) fn close(&self, touched: &mut FlushSet) {
        self.over(&mut self.state.lock(), touched);
    }

    fn over(&self, state: &mut State, touched: &mut FlushSet) {
        state.ended = true;
        state.since = self.clock.now();
        if let Some(reply) = state.to.take() {
            state.written = true;
            end(reply, touched);
        }
    }

    /// This connection is gone. Events are kept meanwhile.
    pub(super) fn detach(&self, conn: &Arc<Conn>) {
        let mut state = self.state.lock();
        if state.to.as_ref().is_some_and(|reply| Arc::ptr_eq(&reply.conn, conn)) {
            state.to = None;
            state.since = self.clock.now();
        }
    }

    /// Says nothing, if nothing was said for long.
    pub(super) fn comment(&self, after: u32, touched: &mut FlushSet) {
        let mut state = self.state.lock();
        let now = self.clock.now();
        if now.saturating_sub(state.spoken) < after {
            return;
        }
        if let Some(reply) = &state.to {
            comment(reply, touched);
            state.spoken = now;
        }
    }

    pub(super) fn is_attached(&self) -> bool {
        self.state.lock().to.is_some()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.state.lock().ended
    }

    /// Bytes kept.
    pub(super) fn weight(&self) -> usize {
        self.state.lock().kept.weight()
    }

    /// Has it been over for so long that nobody will ask for the rest? What a client that stays
    /// away has missed is forgotten meanwhile.
    pub(super) fn is_forgotten(&self, now: u32) -> bool {
        let mut state = self.state.lock();
        if state.to.is_none() && now.saturating_sub(state.since) > KEPT_SECONDS {
            state.kept = Kept::default();
        }
        let kept = if state.written { WRITTEN_SECONDS } else { KEPT_SECONDS };
        state.ended && now.saturating_sub(state.since) > kept
    }

    fn is_away(&self) -> bool {
        let state = self.state.lock();
        state.to.is_none() && self.clock.now().saturating_sub(state.since) > AWAY_SECONDS
    }
}

/// The stream for what concerns no call.
impl Responder for Stream {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        !self.is_away() && self.push(spliced(bytes, edits), Role::Message, touched)
    }

    fn answer(&self, _: Payload<'_>, _: &Edits<'_>, _: &mut FlushSet) -> bool {
        false // nothing is asked through here
    }

    fn unanswered(&self, _: &mut FlushSet) {}
}

pub(super) fn spliced(bytes: &[u8], edits: &Edits<'_>) -> Bytes {
    let mut out = Vec::new();
    edits.write(bytes, &mut out);
    out.into()
}

/// The events of a stream that its client may ask for again.
#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<(u64, Bytes)>,
    /// Bytes of those that are no answer.
    bytes: usize,
    answer: Option<(u64, Bytes)>,
}

impl Kept {
    fn add(&mut self, number: u64, data: Bytes, role: Role) {
        if role == Role::Answer {
            self.answer = Some((number, data));
            return;
        }
        self.bytes += data.len();
        self.events.push_back((number, data));
        while self.bytes > KEPT_BYTES || self.events.len() > KEPT_EVENTS {
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
const RETRY: u32 = 1000;

/// The head of a stream.
pub(super) fn stream_head(reply: &Reply, fields: &Fields<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    let mut all = EVENT_STREAM.to_vec();
    all.extend_from_slice(fields);
    reply.head(200, &all, None, &mut out);
    if !reply.has_chunks() {
        unchunked(&mut out);
    }
    out
}

/// For a client that knows no chunks: the end of the stream is the connection's.
pub(super) fn unchunked(head: &mut Vec<u8>) {
    if let Some(at) = memchr::memmem::find(head, CHUNKED) {
        head.drain(at..at + CHUNKED.len());
    }
}

const CHUNKED: &[u8] = b"Transfer-Encoding: chunked\r\n";

/// Puts one event; `head` is what stands before its data.
pub(super) fn put_event(reply: &Reply, head: &[u8], data: &Bytes) -> bool {
    let (mut before, after) = around(reply, head.len() + data.len());
    before.extend_from_slice(head);
    let frame = Frame { head: &before, tail: after };
    reply.conn.outbox.put_shared(frame, data).is_ok()
}

/// What stands before and behind an event: `length` is that of its head and its data.
pub(super) fn around(reply: &Reply, length: usize) -> (Vec<u8>, &'static [u8]) {
    let mut before = Vec::with_capacity(96);
    if !reply.has_chunks() {
        return (before, b"\n\n");
    }
    chunk_head(length + 2, &mut before);
    (before, b"\n\n\r\n")
}

/// A piece of a stream that is no event.
pub(super) fn framed(reply: &Reply, bytes: &[u8], out: &mut Vec<u8>) {
    if reply.has_chunks() {
        chunk(bytes, out);
    } else {
        out.extend_from_slice(bytes);
    }
}

pub(super) fn comment(reply: &Reply, touched: &mut FlushSet) {
    let mut out = Vec::new();
    framed(reply, b":\n\n", &mut out);
    put(reply, &out);
    touched.note(&reply.conn.outbox);
}

/// The end of a stream; the connection may go on.
pub(super) fn end(mut reply: Reply, touched: &mut FlushSet) {
    if reply.has_chunks() {
        put(&reply, LAST_CHUNK);
    }
    reply.finish(touched);
}

pub(super) fn put(reply: &Reply, bytes: &[u8]) -> bool {
    let frame = Frame { head: bytes, tail: b"" };
    reply.conn.outbox.put_framed(frame, b"", &Edits::new()).is_ok()
}

/// When a comment is due.
pub(super) const COMMENT: u32 = COMMENT_SECONDS;

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(kept: &Kept, after: u64) -> Vec<u64> {
        kept.after(after).map(|(number, _)| number).collect()
    }

    #[test]
    fn the_oldest_messages_go_and_the_answer_stays() {
        let mut kept = Kept::default();
        for number in 1..=300 {
            kept.add(number, Bytes::from_static(b"x"), Role::Message);
        }
        kept.add(301, vec![b'a'; 3 << 20].into(), Role::Answer);
        let held = numbers(&kept, 0);
        assert_eq!((held.len(), held.first(), held.last()), (257, Some(&45), Some(&301)));
        assert_eq!(numbers(&kept, 299), [300, 301]);
        assert_eq!(numbers(&kept, 301), [0; 0]);
        assert_eq!(kept.weight(), (3 << 20) + 256);
    }

    #[test]
    fn the_bytes_are_bounded_too() {
        let mut kept = Kept::default();
        for number in 1..=10 {
            kept.add(number, vec![b'x'; 400_000].into(), Role::Message);
        }
        assert_eq!(numbers(&kept, 0), [9, 10]);
        kept.add(11, vec![b'x'; 2 << 20].into(), Role::Message);
        assert_eq!((numbers(&kept, 0), kept.weight()), (vec![], 0));
    }
}
