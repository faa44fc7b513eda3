//! `Exchange`: one request of HTTP on its way, with all that is needed to send it again; `Slot`: the
//! connection that is busy with it.

use std::time::{Duration, Instant};

use bytes::Bytes;
use trunkline_wire::Edits;

use crate::limits::{CUT_OFF, KEEP_ALIVE, LARGE_MESSAGE, LINGER, TAKEN};
use crate::lock::{Mutex, rank};
use crate::login::Refusal;
use crate::pump::{FlushSet, Frame, Outbox};
use crate::upstream::transport::UpstreamId;

/// What an exchange is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// `initialize`, or what stands for it.
    Initialize(UpstreamId),
    /// The notification that ends the handshake: nothing overtakes it.
    Initialized,
    Call(UpstreamId),
    /// A message that has no answer.
    Tell,
    /// The stream for what the server says of its own accord.
    Listen,
    /// The rest of the stream that answers this call.
    Resume(UpstreamId),
    /// The session ends.
    Goodbye,
}

impl Purpose {
    /// The request of JSON-RPC whose answer comes back here.
    pub(super) fn id(self) -> Option<UpstreamId> {
        match self {
            Self::Initialize(id) | Self::Call(id) | Self::Resume(id) => Some(id),
            Self::Initialized | Self::Tell | Self::Listen | Self::Goodbye => None,
        }
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Listen | Self::Resume(_) => "GET",
            Self::Goodbye => "DELETE",
            Self::Initialize(_) | Self::Initialized | Self::Call(_) | Self::Tell => "POST",
        }
    }

    /// A stream that can be opened again: that it cannot be had now is no failure of the server.
    pub(super) fn is_stream(self) -> bool {
        matches!(self, Self::Listen | Self::Resume(_))
    }
}

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) purpose: Purpose,
    pub(super) body: KeptBody,
    /// Header fields of its own, complete lines.
    pub(super) fields: Vec<u8>,
    /// The last event seen of the stream that is opened again.
    pub(super) after: Vec<u8>,
    /// The session it was sent in, counted, and when.
    pub(super) session: u32,
    /// What it said about who we are, counted.
    pub(super) introduction: u32,
    pub(super) sent: Option<Instant>,
    /// Redirects followed; times it was told to come later, lost its session, was tried again, was
    /// refused for who sent it.
    pub(super) hops: u8,
    pub(super) delays: u8,
    pub(super) renewals: u8,
    pub(super) tries: u8,
    pub(super) introductions: u8,
}

impl Exchange {
    pub(super) fn post(purpose: Purpose, body: KeptBody) -> Self {
        Self {
            purpose,
            body,
            fields: Vec::new(),
            after: Vec::new(),
            session: 0,
            introduction: 0,
            sent: None,
            hops: 0,
            delays: 0,
            renewals: 0,
            tries: 0,
            introductions: 0,
        }
    }

    /// Without a body. `after`: the last event seen of a stream.
    pub(super) fn bare(purpose: Purpose, after: Vec<u8>) -> Self {
        Self { after, ..Self::post(purpose, KeptBody::Small(Vec::new())) }
    }
}

/// A body that can be sent again.
#[derive(Debug)]
pub(super) enum KeptBody {
    Small(Vec<u8>),
    Large(Bytes),
}

impl KeptBody {
    /// `bytes` with `edits` made; `room` is an empty buffer to use.
    pub(super) fn new(mut room: Vec<u8>, bytes: &[u8], edits: &Edits<'_>) -> Self {
        edits.write(bytes, &mut room);
        // A large body is shared with the outbox: it may have to be sent again, and is not copied
        // for that.
        if room.len() < LARGE_MESSAGE { Self::Small(room) } else { Self::Large(room.into()) }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes().len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Large(bytes) => bytes,
        }
    }
}

/// A request that was refused for who sent it.
#[derive(Debug)]
pub(super) struct RefusedExchange {
    pub(super) exchange: Exchange,
    pub(super) refusal: Refusal,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) outbox: Outbox,
    // Below the pool, which picks a slot and begins an exchange on it in one go.
    state: Mutex<SlotState, rank::HttpSlot>,
}

#[derive(Debug)]
enum SlotState {
    Idle(Idle),
    Busy(Busy),
    Gone,
}

#[derive(Debug)]
struct Idle {
    /// Until then the server may be expected to keep it.
    until: Instant,
    /// When its last exchange ended, if it had any.
    since: Option<Instant>,
}

#[derive(Debug)]
struct Busy {
    exchange: Exchange,
    /// Where its bytes begin in what is written to the connection.
    start: u64,
    /// Since when nobody waits for more of the response.
    unwanted: Option<Instant>,
    /// It has served before.
    reused: bool,
}

/// How a connection ended.
#[derive(Debug)]
pub(super) struct Ending {
    /// What it was busy with, and whether the server may have seen that.
    pub(super) exchange: Option<(Exchange, bool)>,
    /// The server has closed it after an answer although it did not say so; of a busy one that
    /// holds if nothing of a response has come.
    pub(super) cut: bool,
}

impl Slot {
    pub(super) fn new() -> Self {
        let idle = Idle { until: Instant::now() + KEEP_ALIVE, since: None };
        Self { outbox: Outbox::default(), state: Mutex::new(SlotState::Idle(idle)) }
    }

    /// Puts the request, with `head` in front of its body. The exchange comes back if the
    /// connection is gone.
    pub(super) fn begin(
        &self,
        mut exchange: Exchange,
        head: &[u8],
        touched: &mut FlushSet,
    ) -> Result<(), Exchange> {
        let mut state = self.state.lock();
        let reused = match &*state {
            SlotState::Idle(idle) => idle.since.is_some(),
            SlotState::Busy(_) | SlotState::Gone => return Err(exchange),
        };
        let frame = Frame { head, tail: b"" };
        let put = match &exchange.body {
            KeptBody::Small(body) => self.outbox.put_framed(frame, body, &Edits::new()),
            KeptBody::Large(body) => self.outbox.put_shared(frame, body),
        };
        let Ok(end) = put else { return Err(exchange) };
        let length = head.len() + exchange.body.len();
        let start = end.saturating_sub(length as u64);
        exchange.sent = Some(Instant::now());
        *state = SlotState::Busy(Busy { exchange, start, unwanted: None, reused });
        touched.note(&self.outbox);
        Ok(())
    }

    /// What it is busy with, and in which session that was sent.
    pub(super) fn purpose(&self) -> Option<(Purpose, u32)> {
        match &*self.state.lock() {
            SlotState::Busy(busy) => Some((busy.exchange.purpose, busy.exchange.session)),
            SlotState::Idle(_) | SlotState::Gone => None,
        }
    }

    /// The exchange is over; the connection can be used again for so long. Says whether it had
    /// been used before.
    pub(super) fn rest(&self, keep: Duration) -> Option<(Exchange, bool)> {
        let mut state = self.state.lock();
        if !matches!(*state, SlotState::Busy(_)) {
            return None;
        }
        let now = Instant::now();
        let idle = SlotState::Idle(Idle { until: now + keep, since: Some(now) });
        match std::mem::replace(&mut *state, idle) {
            SlotState::Busy(busy) => Some((busy.exchange, busy.reused)),
            SlotState::Idle(_) | SlotState::Gone => None,
        }
    }

    /// Closes it from our side. What it is busy with is dealt with when that has happened.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        if matches!(*state, SlotState::Idle(_)) {
            *state = SlotState::Gone;
        }
        drop(state);
        self.outbox.close();
    }

    /// The connection is over.
    pub(super) fn end(&self) -> Ending {
        let state = std::mem::replace(&mut *self.state.lock(), SlotState::Gone);
        self.outbox.close();
        match state {
            SlotState::Busy(busy) => {
                // One written byte is enough: the server may act on a request before all of it is
                // there.
                let may_have_run = self.outbox.written() > busy.start;
                Ending { exchange: Some((busy.exchange, may_have_run)), cut: busy.reused }
            }
            SlotState::Idle(idle) => {
                let cut = idle.since.is_some_and(|since| since.elapsed() < CUT_OFF);
                Ending { exchange: None, cut }
            }
            SlotState::Gone => Ending { exchange: None, cut: false },
        }
    }

    pub(super) fn is_fresh(&self, now: Instant) -> bool {
        matches!(&*self.state.lock(), &SlotState::Idle(Idle { until, .. }) if now < until)
    }

    /// Is it busy with this request? If so, may the server have seen it?
    pub(super) fn may_have_run(&self, id: UpstreamId) -> Option<bool> {
        match &*self.state.lock() {
            SlotState::Busy(busy) if busy.exchange.purpose.id() == Some(id) => {
                Some(self.outbox.written() > busy.start)
            }
            _ => None,
        }
    }

    /// Nobody waits for the response to this request any more.
    pub(super) fn forget(&self, id: UpstreamId) {
        if let SlotState::Busy(busy) = &mut *self.state.lock()
            && busy.exchange.purpose.id() == Some(id)
        {
            busy.unwanted.get_or_insert_with(Instant::now);
        }
    }

    /// Closes it if it is busy with this request: that is how the server learns that the answer is
    /// not wanted.
    pub(super) fn hang_up(&self, id: UpstreamId) {
        if let SlotState::Busy(busy) = &mut *self.state.lock()
            && busy.exchange.purpose.id() == Some(id)
        {
            busy.reused = false; // whatever comes of it, it was not the server who cut it
        } else {
            return;
        }
        self.outbox.close();
    }

    /// Nobody needs the rest of the response.
    pub(super) fn unwanted(&self) {
        if let SlotState::Busy(busy) = &mut *self.state.lock() {
            busy.unwanted.get_or_insert_with(Instant::now);
        }
    }

    /// Is it time to close it although it is busy?
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        let SlotState::Busy(busy) = &*self.state.lock() else { return false };
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
