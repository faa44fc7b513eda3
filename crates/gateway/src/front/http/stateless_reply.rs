//! `StatelessReply`: one POST that stands for itself, and what it is answered. Plain JSON if the answer is the
//! first thing there is to say, else a stream of events whose last one is the answer. Nobody comes
//! back for the rest: whose connection is gone does not want it.

use std::sync::Arc;

use trunkline_wire::{Edits, Id};

use crate::call::{Client, Payload, Responder};
use crate::front::http::clock::Clock;
use crate::front::http::events::{COMMENT, around, comment, end, put, stream_head};
use crate::front::http::reply::{JSON, Reply};
use crate::gate::Pass;
use crate::limits::{SLOW_ANSWER_SECONDS, STREAM_BYTES};
use crate::lock::{Mutex, rank};
use crate::pump::{FlushSet, Frame};
use crate::session::leave;

#[derive(Debug)]
pub(super) struct StatelessReply {
    /// Who asks: nobody else's, and gone with the answer.
    pub(super) client: Arc<Client>,
    pub(super) caller: Option<Arc<Pass>>,
    id: Id,
    clock: Arc<Clock>,
    state: Mutex<State, rank::StatelessReply>,
}

#[derive(Debug)]
enum State {
    Waiting(Reply),
    /// And when something was last said.
    Streaming(Reply, u32),
    Done,
}

impl StatelessReply {
    pub(super) fn new(
        id: Id,
        caller: Option<&Arc<Pass>>,
        clock: &Arc<Clock>,
        reply: Reply,
    ) -> Arc<Self> {
        let state = Mutex::new(State::Waiting(reply));
        let (caller, clock) = (caller.cloned(), Arc::clone(clock));
        let client = Arc::<Client>::default();
        if let Some(caller) = &caller {
            client.belongs_to(caller);
        }
        Arc::new(Self { client, caller, id, clock, state })
    }

    /// The connection is gone, and so the client has cancelled.
    pub(super) fn left(&self, touched: &mut FlushSet) {
        leave(&self.client, &self.id, touched);
    }

    /// Says nothing, if nothing was said for long: what stands between must not take the client or
    /// us for dead. It was asked at `since`.
    pub(super) fn comment(&self, since: u32, touched: &mut FlushSet) {
        let now = self.clock.now();
        let mut state = self.state.lock();
        let due = match &*state {
            State::Waiting(_) => now.saturating_sub(since) >= SLOW_ANSWER_SECONDS,
            State::Streaming(_, spoken) => now.saturating_sub(*spoken) >= COMMENT,
            State::Done => false,
        };
        if due && let Some((reply, spoken)) = state.stream(now) {
            comment(reply, touched);
            *spoken = now;
        }
    }

    fn answer_plainly(
        mut reply: Reply,
        status: u16,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        let mut head = Vec::with_capacity(160);
        let length = edits.length(payload.bytes());
        match status {
            200 => reply.json_head(length, &mut head),
            _ => reply.head(status, &[("Content-Type", JSON)], Some(length), &mut head),
        }
        let frame = Frame { head: &head, tail: b"" };
        let put = payload.put(&reply.conn.outbox, frame, edits);
        reply.finish(touched);
        put
    }

    fn end_with(
        &self,
        status: u16,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        let state = std::mem::replace(&mut *self.state.lock(), State::Done);
        match state {
            State::Waiting(reply) => Self::answer_plainly(reply, status, payload, edits, touched),
            State::Streaming(reply, _) => {
                let said = event(&reply, payload, edits, touched);
                end(reply, touched);
                said
            }
            State::Done => false,
        }
    }
}

impl State {
    /// The stream, begun now if need be.
    fn stream(&mut self, now: u32) -> Option<(&Reply, &mut u32)> {
        if matches!(self, Self::Waiting(_))
            && let Self::Waiting(reply) = std::mem::replace(self, Self::Done)
        {
            if !reply.conn.outbox.is_closed() {
                put(&reply, &stream_head(&reply, &[]));
            }
            *self = Self::Streaming(reply, now);
        }
        match self {
            Self::Streaming(reply, spoken) => Some((reply, spoken)),
            Self::Waiting(_) | Self::Done => None,
        }
    }
}

fn event(reply: &Reply, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
    let outbox = &reply.conn.outbox;
    let (mut before, after) = around(reply, EVENT.len() + edits.length(payload.bytes()));
    before.extend_from_slice(EVENT);
    let frame = Frame { head: &before, tail: after };
    let put = payload.put(outbox, frame, edits);
    touched.note(outbox);
    put
}

const EVENT: &[u8] = b"event: message\ndata: ";

/// The status that goes with an error of this code.
fn status(code: i64) -> u16 {
    match code {
        -32601 => 404,
        -32022..=-32020 => 400,
        _ => 200,
    }
}

impl Responder for StatelessReply {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        let now = self.clock.now();
        let mut state = self.state.lock();
        let Some((reply, spoken)) = state.stream(now) else { return false };
        if reply.conn.outbox.len() > STREAM_BYTES {
            tracing::debug!("a stream that is not read is closed");
            reply.conn.outbox.close(); // which cancels the request, too
            return false;
        }
        *spoken = now;
        event(reply, Payload::Borrowed(bytes), edits, touched)
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.end_with(200, payload, edits, touched)
    }

    fn refuse(
        &self,
        code: i64,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        self.end_with(status(code), payload, edits, touched)
    }

    fn unanswered(&self, touched: &mut FlushSet) {
        let state = std::mem::replace(&mut *self.state.lock(), State::Done);
        match state {
            State::Waiting(reply) => {
                put(&reply, &stream_head(&reply, &[]));
                end(reply, touched);
            }
            State::Streaming(reply, _) => end(reply, touched),
            State::Done => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;
    use crate::front::http::conn::Conn;
    use crate::front::http::reply::ReplyMode;
    use crate::pump::Pump;
    use crate::stream::Input;

    /// What a client gets until we close.
    fn got(pump: &Pump, then: impl FnOnce(&StatelessReply, &mut FlushSet)) -> (String, String) {
        let (mut client, ours) = UnixStream::pair().unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (_, sink) = Input::socket(OwnedFd::from(ours)).unwrap();
        let clock = Arc::new(Clock::new());
        let conn = Arc::new(Conn::new(Arc::clone(&clock)));
        conn.outbox.connect(sink, pump);
        let once =
            StatelessReply::new(Id::new(b"1"), None, &clock, Reply::new(&conn, ReplyMode::PLAIN));
        let mut touched = FlushSet::default();
        then(&once, &mut touched);
        touched.flush();
        conn.outbox.close_when_written();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let (head, date) = head.rsplit_once("\r\n").unwrap();
        assert!(date.starts_with("Date: ") && date.ends_with(" GMT"), "{date}");
        (head.to_owned(), body.to_owned())
    }

    #[test]
    fn an_answer_that_comes_first_is_plain_json() {
        let (pump, _) = Pump::start().unwrap();
        for (code, status) in [
            (None, "200 OK"),
            (Some(-32601), "404 Not Found"),
            (Some(-32020), "400 Bad Request"),
            (Some(-32021), "400 Bad Request"),
            (Some(-32022), "400 Bad Request"),
            (Some(-32602), "200 OK"),
            (Some(-32603), "200 OK"),
            (Some(-31001), "200 OK"),
        ] {
            let (head, body) = got(&pump, |once, touched| {
                let payload = Payload::Borrowed(b"{}");
                match code {
                    Some(code) => once.refuse(code, payload, &Edits::new(), touched),
                    None => once.answer(payload, &Edits::new(), touched),
                };
                assert!(!once.say(b"late", &Edits::new(), touched));
            });
            let expected =
                format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: 2");
            assert_eq!((head, body.as_str()), (expected, "{}"));
        }
        pump.stop();
    }

    #[test]
    fn something_said_before_makes_it_a_stream_without_numbers() {
        let (pump, _) = Pump::start().unwrap();
        let (head, body) = got(&pump, |once, touched| {
            assert!(once.say(b"one", &Edits::new(), touched));
            assert!(once.refuse(-32601, Payload::Borrowed(b"two"), &Edits::new(), touched));
            assert!(!once.say(b"three", &Edits::new(), touched));
        });
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"), "{head}");
        assert!(head.contains("X-Accel-Buffering: no"), "{head}");
        let event = |data: &str| format!("1a\r\nevent: message\ndata: {data}\n\n\r\n");
        assert_eq!(body, format!("{}{}0\r\n\r\n", event("one"), event("two")));
        pump.stop();
    }

    #[test]
    fn silence_is_broken_by_a_comment() {
        let (pump, _) = Pump::start().unwrap();
        let (_, body) = got(&pump, |once, touched| {
            once.comment(0, touched); // it was asked just now
            once.state.lock().stream(0).unwrap();
            once.answer(Payload::Borrowed(b"two"), &Edits::new(), touched);
        });
        assert_eq!(body, "1a\r\nevent: message\ndata: two\n\n\r\n0\r\n\r\n");
        pump.stop();
    }

    #[test]
    fn a_cancelled_request_ends_its_post() {
        let (pump, _) = Pump::start().unwrap();
        let (head, body) = got(&pump, StatelessReply::unanswered);
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        assert_eq!(body, "0\r\n\r\n");
        pump.stop();
    }
}
