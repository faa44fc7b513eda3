//! `Slot`: one connection to a server and the exchange it is busy with.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use trunkline_wire::Edits;

use crate::limits::{KEEP_ALIVE, LINGER, TAKEN};
use crate::pump::{Frame, Outbox, Touched};
use crate::upstream::pending::UpstreamId;
use crate::upstream::remote::exchange::{Exchange, Kept, Purpose};

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) outbox: Outbox,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// Until then the server may be expected to keep it.
    Idle(Instant),
    Busy(Busy),
    Gone,
}

#[derive(Debug)]
struct Busy {
    exchange: Exchange,
    /// Where its bytes begin in what is written to the connection.
    start: u64,
    /// Since when nobody waits for more of the response.
    unwanted: Option<Instant>,
}

impl Slot {
    pub(super) fn new() -> Self {
        Self {
            outbox: Outbox::default(),
            state: Mutex::new(State::Idle(Instant::now() + KEEP_ALIVE)),
        }
    }

    /// Puts the request, with `head` in front of its body. The exchange comes back if the
    /// connection is gone.
    pub(super) fn begin(
        &self,
        mut exchange: Exchange,
        head: &[u8],
        touched: &mut Touched,
    ) -> Result<(), Exchange> {
        let mut state = self.state.lock();
        if matches!(*state, State::Gone) {
            return Err(exchange);
        }
        let frame = Frame { head, tail: b"" };
        let put = match &exchange.body {
            Kept::Small(body) => self.outbox.put_framed(frame, body, &Edits::new()),
            Kept::Large(body) => self.outbox.put_shared(frame, body),
        };
        let Ok(end) = put else { return Err(exchange) };
        let length = head.len() + exchange.body.len();
        let start = end.saturating_sub(length as u64);
        exchange.sent = Some(Instant::now());
        *state = State::Busy(Busy { exchange, start, unwanted: None });
        touched.note(&self.outbox);
        Ok(())
    }

    /// What it is busy with, and in which session that was sent.
    pub(super) fn purpose(&self) -> Option<(Purpose, u32)> {
        match &*self.state.lock() {
            State::Busy(busy) => Some((busy.exchange.purpose, busy.exchange.session)),
            State::Idle(_) | State::Gone => None,
        }
    }

    /// The exchange is over; the connection can be used again for so long.
    pub(super) fn rest(&self, keep: Duration) -> Option<Exchange> {
        let mut state = self.state.lock();
        if matches!(*state, State::Gone) {
            return None;
        }
        match std::mem::replace(&mut *state, State::Idle(Instant::now() + keep)) {
            State::Busy(busy) => Some(busy.exchange),
            State::Idle(_) | State::Gone => None,
        }
    }

    /// The connection is over. What it was busy with, and whether the server may have seen that.
    pub(super) fn end(&self) -> Option<(Exchange, bool)> {
        let state = std::mem::replace(&mut *self.state.lock(), State::Gone);
        self.outbox.close();
        match state {
            State::Busy(busy) => Some((busy.exchange, self.outbox.written() > busy.start)),
            State::Idle(_) | State::Gone => None,
        }
    }

    pub(super) fn is_fresh(&self, now: Instant) -> bool {
        matches!(*self.state.lock(), State::Idle(until) if now < until)
    }

    /// Is it busy with this request? If so, may the server have seen it?
    pub(super) fn may_have_run(&self, id: UpstreamId) -> Option<bool> {
        match &*self.state.lock() {
            State::Busy(busy) if busy.exchange.purpose.id() == Some(id) => {
                Some(self.outbox.written() > busy.start)
            }
            _ => None,
        }
    }

    /// Nobody waits for the response to this request any more.
    pub(super) fn forget(&self, id: UpstreamId) {
        if let State::Busy(busy) = &mut *self.state.lock()
            && busy.exchange.purpose.id() == Some(id)
        {
            busy.unwanted.get_or_insert_with(Instant::now);
        }
    }

    /// Nobody needs the rest of the response.
    pub(super) fn unwanted(&self) {
        if let State::Busy(busy) = &mut *self.state.lock() {
            busy.unwanted.get_or_insert_with(Instant::now);
        }
    }

    /// Is it time to close it although it is busy?
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        let State::Busy(busy) = &*self.state.lock() else { return false };
        let passed = |since: Option<Instant>, limit| {
            since.is_some_and(|since| now.saturating_duration_since(since) >= limit)
        };
        let has_no_answer = matches!(
            busy.exchange.purpose,
            Purpose::Tell | Purpose::Initialized | Purpose::Goodbye
        );
        passed(busy.unwanted, LINGER) || (has_no_answer && passed(busy.exchange.sent, TAKEN))
    }
}
