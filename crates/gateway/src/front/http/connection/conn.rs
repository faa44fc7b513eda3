//! `Conn`: one client's connection, as its reader, its replies and the sweeper share it. It serves one
//! request at a time, which is owed one `Reply`; bytes of the next wait until that one is given.

use std::fmt::Debug;
use std::io::Write as _;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock, Weak};

use crate::lock::{Mutex, rank};
use trunkline_http::response_head;
use trunkline_wire::{Edits, Id};

use super::clock::Clock;
use super::conn_accounts::ConnAccounts;
use super::reply_mode::ReplyMode;
use crate::call::Client;
use crate::front::http::access::{HttpRefusal, PROBLEM, PassCache, Rejection, problem};
use crate::gate::Pass;
use crate::limiter::AddressAccount;
use crate::limits::{
    BODY_BYTES_PER_SECOND, BODY_SECONDS, CLIENT_STALL, HEAD_SECONDS, IDLE_SECONDS, LEAVING_SECONDS,
    PIPELINED_BYTES, STREAM_BYTES, shortened_seconds,
};
use crate::pump::{FlushSet, Frame, Outbox, SourceHandle};

#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) outbox: Outbox,
    clock: Arc<Clock>,
    // Shared by the pump, the sweeper and whoever answers: each holds it only to look or to set.
    slot: Mutex<ConnSlot, rank::ConnReply>,
    /// The caller that the gate admitted last; the streams of one connection share it.
    pub(crate) pass_cache: Arc<PassCache>,
    /// Where it counts.
    pub(crate) accounts: ConnAccounts,
    /// It is one stream of an HTTP/2 connection: it ends with its answer.
    is_stream: bool,
}

#[derive(Debug, Default)]
struct ConnSlot {
    /// A request is being answered.
    busy: bool,
    /// Set while bytes wait for that answer: pokes the reader.
    waiting: Option<SourceHandle>,
    /// So many bytes wait that nothing more is read.
    held: bool,
    /// The client has closed its side: nothing more will be read.
    ended: bool,
    stage: RequestStage,
    /// When the stage began.
    since: u32,
    /// Bytes of the body that have come, and when it last grew.
    received: usize,
    grown: u32,
    /// Who answers the request, if it is not answered at once.
    open: Option<Weak<dyn OpenReply>>,
}

/// How far the next request has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestStage {
    #[default]
    Idle,
    Head,
    Body,
    /// It was refused before its end; the rest is not looked at.
    Leaving,
}

/// A reply that is not given at once, as the sweeper and the end of its connection see it.
pub(crate) trait OpenReply: Debug + Send + Sync {
    /// Called once a second; the connection has been busy since `since`.
    fn tick(&self, since: u32, touched: &mut FlushSet);
    /// The client has closed its side of the connection.
    fn client_left(&self, conn: &Arc<Conn>, touched: &mut FlushSet);
    /// The stateless request that waits for this reply.
    fn stateless_call(&self) -> Option<&StatelessCall> {
        None
    }
}

/// A request of the stateless era: it belongs to no session, so its connection is what tells of it.
#[derive(Debug)]
pub(crate) struct StatelessCall {
    /// A client of this one request: it goes with the answer.
    pub(crate) client: Arc<Client>,
    pub(crate) caller: Option<Arc<Pass>>,
    pub(crate) id: Id,
    /// Its client can ask for the answer again: the call goes on if that leaves.
    pub(crate) outlives_client: bool,
}

/// What the sweeper has to do about a connection.
#[derive(Debug)]
pub(crate) enum SweepAction {
    Nothing,
    Close,
    /// A request did not arrive in time. The connection is marked busy: it must be answered.
    RefuseLate,
    /// A reply is open since then.
    Tick(Arc<dyn OpenReply>, u32),
}

impl Conn {
    pub(crate) fn new(clock: Arc<Clock>) -> Self {
        let slot = ConnSlot { since: clock.now(), ..ConnSlot::default() };
        Self {
            outbox: Outbox::closing_at(STREAM_BYTES),
            clock,
            slot: Mutex::new(slot),
            pass_cache: Arc::default(),
            accounts: ConnAccounts::default(),
            is_stream: false,
        }
    }

    /// A stream of this connection, which carries one request. It counts for its caller like a connection.
    pub(crate) fn stream(&self) -> Self {
        Self {
            pass_cache: Arc::clone(&self.pass_cache),
            accounts: self.accounts.of_stream(),
            is_stream: true,
            ..Self::new(Arc::clone(&self.clock))
        }
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// A client at this address.
    pub(crate) fn at(self, address: Arc<AddressAccount>, peer: IpAddr) -> Self {
        Self { accounts: ConnAccounts::at(address, peer), ..self }
    }

    /// Appends the date of a response that is made now.
    pub(crate) fn write_date(&self, out: &mut Vec<u8>) {
        self.clock.write_date(out);
    }

    /// Seconds on the front's clock.
    pub(crate) fn now(&self) -> u32 {
        self.clock.now()
    }

    /// A request begins to be answered.
    pub(crate) fn begin(&self) {
        let mut slot = self.slot.lock();
        slot.busy = true;
        slot.stage = RequestStage::Idle;
        // The time to answer counts from here; there is no limit on it.
        slot.since = self.clock.now();
    }

    /// Names the reply that the request waits for, if it is not answered at once.
    pub(crate) fn watch(&self, open: Weak<dyn OpenReply>) {
        self.slot.lock().open = Some(open);
    }

    /// The reply that its request waits for.
    pub(crate) fn open_reply(&self) -> Option<Arc<dyn OpenReply>> {
        self.slot.lock().open.as_ref().and_then(Weak::upgrade)
    }

    /// Is a request being answered?
    pub(crate) fn is_busy(&self) -> bool {
        self.slot.lock().busy
    }

    /// The request is answered: the next one may be read.
    pub(crate) fn free(&self) {
        let mut slot = self.slot.lock();
        slot.busy = false;
        slot.open = None;
        slot.since = self.clock.now();
        let held = std::mem::take(&mut slot.held);
        let waiting = slot.waiting.take();
        let ended = slot.ended;
        drop(slot);
        // The client has closed its side, or this is a stream: nothing can follow this answer.
        if ended || self.is_stream {
            return self.outbox.close_when_written();
        }
        if let Some(source) = waiting {
            if held {
                source.resume();
            }
            source.poke();
        }
    }

    /// The request was refused before its end. The client gets some time to read the answer: the
    /// kernel resets a connection that is closed with unread bytes, and the answer would be lost.
    pub(crate) fn leave(&self) {
        let mut slot = self.slot.lock();
        slot.busy = false;
        slot.open = None;
        slot.stage = RequestStage::Leaving;
        slot.since = self.clock.now();
        let ended = slot.ended;
        drop(slot);
        if ended || self.is_stream {
            self.outbox.close_when_written();
        }
    }

    /// True if these bytes must wait for an answer; the reader is poked once it is given.
    pub(crate) fn wait_if_busy(&self, bytes: usize, source: &SourceHandle) -> bool {
        let mut slot = self.slot.lock();
        if slot.busy && bytes > 0 {
            // RFC 9112, 9.3.2: a client may send requests without waiting, and gets the answers in
            // their order.
            slot.waiting.get_or_insert_with(|| source.clone());
            // A client that pipelines faster than it is answered must not fill our memory.
            if bytes > PIPELINED_BYTES && !std::mem::replace(&mut slot.held, true) {
                source.hold();
            }
        }
        slot.busy
    }

    /// Notes how far an incomplete request has come, and how much of its body.
    pub(crate) fn set_stage(&self, stage: RequestStage, received: usize) {
        let mut slot = self.slot.lock();
        let now = self.clock.now();
        if slot.stage != stage {
            slot.stage = stage;
            slot.since = now;
            slot.received = 0;
            slot.grown = now;
        }
        if received > slot.received {
            slot.received = received;
            slot.grown = now;
        }
    }

    /// The client has closed its side. A plain answer is still written, since some clients close
    /// theirs as soon as they have asked; what else is open learns that the client has left.
    pub(crate) fn client_closed(self: &Arc<Self>, touched: &mut FlushSet) {
        let mut slot = self.slot.lock();
        slot.ended = true;
        slot.waiting = None;
        let open = slot.open.clone();
        let busy = slot.busy;
        drop(slot); // the open reply may take the slot's lock again
        if !busy {
            self.outbox.close_when_written();
        }
        if let Some(open) = open.and_then(|open| open.upgrade()) {
            open.client_left(self, touched);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.slot.lock().ended || self.outbox.is_closed()
    }

    /// Whether nothing is asked on it for longer than so many seconds, by nobody who is known and has a place of their own.
    pub(crate) fn is_idle_of_stranger(&self, now: u32, longest: u32) -> bool {
        let slot = self.slot.lock();
        let is_idle = !slot.busy && slot.stage == RequestStage::Idle;
        let taken = now.saturating_sub(slot.since);
        drop(slot);
        is_idle && taken > longest && !self.accounts.has_caller()
    }

    /// Decides what the sweeper does at this time. A late request is taken: only one caller is
    /// told to refuse it.
    pub(crate) fn take_overdue(&self, now: u32) -> SweepAction {
        if self.outbox.is_stalled(CLIENT_STALL) {
            return SweepAction::Close;
        }
        let mut slot = self.slot.lock();
        if slot.busy {
            let open = slot.open.as_ref().and_then(Weak::upgrade);
            return open.map_or(SweepAction::Nothing, |open| SweepAction::Tick(open, slot.since));
        }
        if !slot.is_overdue(now) {
            return SweepAction::Nothing;
        }
        match slot.stage {
            RequestStage::Idle | RequestStage::Leaving => SweepAction::Close,
            RequestStage::Head | RequestStage::Body => {
                slot.busy = true;
                SweepAction::RefuseLate
            }
        }
    }
}

impl ConnSlot {
    fn is_overdue(&self, now: u32) -> bool {
        let taken = now.saturating_sub(self.since);
        match self.stage {
            RequestStage::Idle => taken > IDLE_SECONDS,
            RequestStage::Head => taken > shortened_seconds(HEAD_SECONDS),
            RequestStage::Leaving => taken > LEAVING_SECONDS,
            RequestStage::Body => {
                // A body that trickles in must not hold its memory for ever.
                let fair = u32::try_from(self.received / BODY_BYTES_PER_SECOND).unwrap_or(u32::MAX);
                let limit = shortened_seconds(BODY_SECONDS);
                now.saturating_sub(self.grown) > limit || taken > limit.saturating_add(fair)
            }
        }
    }
}

/// Header fields of a response.
pub(crate) type HeaderFields<'a> = [(&'a str, &'a [u8])];

/// The one answer that a request is owed. Its holder gives it at once, or later from any thread.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) conn: Arc<Conn>,
    mode: ReplyMode,
    /// The request came from another replica.
    forwarded: Option<Box<ForwardedReply>>,
    done: bool,
}

/// How another replica is answered that has passed a request on.
#[derive(Debug)]
pub(crate) struct ForwardedReply {
    /// A header field that shows who answers.
    pub(crate) proof: (&'static str, String),
    /// Where the client comes from.
    pub(crate) address: Arc<AddressAccount>,
    pub(crate) peer: IpAddr,
}

impl Reply {
    /// The connection is busy from now on.
    pub(crate) fn new(conn: &Arc<Conn>, mode: ReplyMode) -> Self {
        conn.begin();
        Self { conn: Arc::clone(conn), mode, forwarded: None, done: false }
    }

    /// For a request that another replica has passed on.
    pub(crate) fn forwarded(mut self, to: ForwardedReply) -> Self {
        self.forwarded = Some(Box::new(to));
        self
    }

    /// The client's address, if that is limited.
    pub(crate) fn limited_address(&self) -> Option<&Arc<AddressAccount>> {
        match &self.forwarded {
            Some(forwarded) => Some(&forwarded.address).filter(|address| address.meter.is_on()),
            None => self.conn.accounts.limited_address(),
        }
    }

    /// The client's exact address.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        match &self.forwarded {
            Some(forwarded) => Some(forwarded.peer),
            None => self.conn.accounts.peer(),
        }
    }

    /// For a connection that the sweeper has marked busy (`SweepAction::RefuseLate`).
    pub(crate) fn taken(conn: &Arc<Conn>) -> Self {
        let mode = ReplyMode { unread: false, ..ReplyMode::lost() };
        Self { conn: Arc::clone(conn), mode, forwarded: None, done: false }
    }

    /// Answers all at once.
    pub(crate) fn send(
        mut self,
        status: u16,
        fields: &HeaderFields<'_>,
        body: &[u8],
        touched: &mut FlushSet,
    ) {
        let mut head = Vec::with_capacity(256);
        self.head(status, fields, Some(body.len()), &mut head);
        // RFC 9110, 9.3.2: the head of a HEAD's answer names the length that a GET would have.
        let body = if self.mode.headless { b"" } else { body };
        let frame = Frame { head: &head, tail: b"" };
        // An error means that the client has closed: the answer has no reader.
        let _ = self.conn.outbox.put_framed(frame, body, &Edits::new());
        self.finish(touched);
    }

    pub(crate) fn json(self, status: u16, body: &[u8], touched: &mut FlushSet) {
        self.send(status, &[("Content-Type", JSON)], body, touched);
    }

    /// Refuses the request; `id` is that of its message, if it is known.
    pub(crate) fn refuse(self, why: HttpRefusal, id: &[u8], touched: &mut FlushSet) {
        self.reject(&why.into(), id, touched);
    }

    /// Refuses the request for a reason of ours or of the gate.
    pub(crate) fn reject(self, why: &Rejection, id: &[u8], touched: &mut FlushSet) {
        let (status, words) = (why.status(), why.words());
        tracing::debug!(status, "a request is refused: {words}");
        let (kind, body) = match self.mode.api {
            true => (PROBLEM, problem(status, &words)),
            false => (JSON, why.body(id)),
        };
        let header = why.header();
        let mut fields = vec![("Content-Type", kind)];
        fields.extend(header.as_ref().map(|(name, value)| (*name, &**value)));
        self.send(status, &fields, &body, touched);
    }

    /// The head of an answer; no `length`: it is a stream.
    pub(crate) fn head(
        &self,
        status: u16,
        fields: &HeaderFields<'_>,
        length: Option<usize>,
        out: &mut Vec<u8>,
    ) {
        let keep_alive = self.mode.keep_alive;
        if let Some(ForwardedReply { proof: (name, proof), .. }) = self.forwarded.as_deref() {
            let mut all = fields.to_vec();
            all.push((name, proof.as_bytes()));
            response_head(out, status, &all, length, keep_alive);
        } else if let Some(origin) = &self.mode.origin {
            let mut all = fields.to_vec();
            all.push(("Access-Control-Allow-Origin", origin.as_bytes()));
            let exposed = if self.mode.api { EXPOSED_BY_API } else { EXPOSED };
            all.push(("Access-Control-Expose-Headers", exposed));
            // Caches must not show one page the answer that another was allowed.
            all.push(("Vary", b"Origin"));
            response_head(out, status, &all, length, keep_alive);
        } else {
            response_head(out, status, fields, length, keep_alive);
        }
        out.truncate(out.len() - HEAD_END.len());
        self.conn.write_date(out);
        out.extend_from_slice(HEAD_END);
    }

    /// The head of an answer in JSON. Nearly all answers are, so the constant part is made once.
    pub(crate) fn json_head(&self, length: usize, out: &mut Vec<u8>) {
        if !self.mode.keep_alive || self.mode.origin.is_some() || self.forwarded.is_some() {
            return self.head(200, &[("Content-Type", JSON)], Some(length), out);
        }
        out.extend_from_slice(JSON_HEAD.get_or_init(|| {
            let mut head = Vec::new();
            response_head(&mut head, 200, &[("Content-Type", JSON)], Some(0), true);
            head.truncate(head.len() - LENGTH_END.len());
            head
        }));
        // Writing to a vector does not fail.
        let _ = write!(out, "{length}\r\n");
        self.conn.write_date(out);
        out.extend_from_slice(HEAD_END);
    }

    /// Takes the `traceparent` of the request, if requests are traced.
    pub(crate) fn take_parent(&mut self) -> Option<Box<str>> {
        self.mode.parent.take()
    }

    pub(crate) fn is_headless(&self) -> bool {
        self.mode.headless
    }

    pub(crate) fn has_chunks(&self) -> bool {
        self.mode.chunks
    }

    /// The whole answer is in the outbox: the connection becomes free, or ends.
    pub(crate) fn finish(&mut self, touched: &mut FlushSet) {
        self.done = true;
        touched.note(&self.conn.outbox);
        match &self.mode {
            // The rest of the request cannot be told from the next one.
            ReplyMode { unread: true, .. } => self.conn.leave(),
            ReplyMode { keep_alive: true, .. } => self.conn.free(),
            _ => self.conn.outbox.close_when_written(),
        }
    }
}

/// The head of a plain answer up to its length.
static JSON_HEAD: OnceLock<Vec<u8>> = OnceLock::new();
/// Behind the last field of a head.
const HEAD_END: &[u8] = b"\r\n";
/// The end of that head, with the length it is made with.
const LENGTH_END: &str = "0\r\n\r\n";

pub(crate) const JSON: &[u8] = b"application/json";
const EXPOSED: &[u8] = b"Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate";
const EXPOSED_BY_API: &[u8] = b"ETag, Link, Location, Retry-After, WWW-Authenticate";

impl Drop for Reply {
    /// Dropped unanswered: closes the connection, so that the client does not wait.
    fn drop(&mut self) {
        if !self.done {
            self.conn.outbox.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection in this stage for so long, and what the sweeper finds.
    fn found(stage: RequestStage, seconds: u32) -> &'static str {
        let conn = Conn::new(Arc::new(Clock::new()));
        conn.set_stage(stage, 0);
        match conn.take_overdue(seconds) {
            SweepAction::Nothing => "fine",
            SweepAction::Close => "close",
            SweepAction::RefuseLate => "late",
            SweepAction::Tick(..) => "open",
        }
    }

    #[test]
    fn what_takes_too_long() {
        for (stage, seconds, expected) in [
            (RequestStage::Idle, IDLE_SECONDS, "fine"),
            (RequestStage::Idle, IDLE_SECONDS + 1, "close"),
            (RequestStage::Head, HEAD_SECONDS, "fine"),
            (RequestStage::Head, HEAD_SECONDS + 1, "late"),
            (RequestStage::Body, BODY_SECONDS, "fine"),
            (RequestStage::Body, BODY_SECONDS + 1, "late"),
            (RequestStage::Leaving, LEAVING_SECONDS, "fine"),
            (RequestStage::Leaving, LEAVING_SECONDS + 1, "close"),
        ] {
            assert_eq!(found(stage, seconds), expected, "{stage:?} for {seconds} s");
        }
    }

    #[test]
    fn a_body_that_trickles_in_is_late_as_well() {
        for (now, grown, kib, expected) in [
            (BODY_SECONDS, BODY_SECONDS, 0, false),
            (BODY_SECONDS + 1, BODY_SECONDS + 1, 0, true),
            (BODY_SECONDS + 10, BODY_SECONDS + 10, 80, false),
            (BODY_SECONDS + 11, BODY_SECONDS + 11, 80, true),
            (BODY_SECONDS + 10, 9, 8000, true),
        ] {
            let slot = ConnSlot {
                stage: RequestStage::Body,
                received: kib << 10,
                grown,
                ..ConnSlot::default()
            };
            assert_eq!(slot.is_overdue(now), expected, "{kib} KiB until {grown}, at {now}");
        }
    }

    #[test]
    fn an_open_request_takes_as_long_as_it_takes() {
        let conn = Conn::new(Arc::new(Clock::new()));
        conn.set_stage(RequestStage::Body, 0);
        conn.begin();
        assert!(matches!(conn.take_overdue(u32::MAX), SweepAction::Nothing));
        conn.free();
        assert!(matches!(conn.take_overdue(IDLE_SECONDS), SweepAction::Nothing));
    }

    #[test]
    fn a_late_request_is_taken_once() {
        let conn = Conn::new(Arc::new(Clock::new()));
        conn.set_stage(RequestStage::Head, 0);
        assert!(matches!(conn.take_overdue(u32::MAX), SweepAction::RefuseLate));
        assert!(matches!(conn.take_overdue(u32::MAX), SweepAction::Nothing));
    }

    #[test]
    fn a_half_closed_connection_ends_with_its_answer() {
        let conn = Arc::new(Conn::new(Arc::new(Clock::new())));
        conn.begin();
        conn.client_closed(&mut FlushSet::default());
        assert!(!conn.outbox.is_closed());
        conn.free();
        assert!(conn.outbox.is_closed());
        let idle = Arc::new(Conn::new(Arc::new(Clock::new())));
        idle.client_closed(&mut FlushSet::default());
        assert!(idle.outbox.is_closed());
    }
}
