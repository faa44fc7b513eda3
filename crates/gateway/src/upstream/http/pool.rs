//! `Pool`: the connections to one server, and the requests that wait for one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trunkline_wire::Edits;

use crate::limits::{
    CONNECTIONS_OPENING, MOST_CUTS, QUEUED_BYTES, QUEUED_MESSAGES, REMOTE_CONNECTIONS,
};
use crate::pump::{FlushSet, Refused};
use crate::upstream::http::address::Session;
use crate::upstream::http::slot::{Exchange, KeptBody, Purpose, RefusedExchange, Slot};
use crate::upstream::http::trouble::Trouble;
use crate::upstream::transport::UpstreamId;

#[derive(Debug)]
pub(super) struct Pool {
    pub(super) session: Session,
    pub(super) gate: Gate,
    pub(super) listening: Listening,
    /// Why the server is to be given up.
    pub(super) trouble: Option<Trouble>,
    pub(super) closed: bool,
    /// Requests refused for who sent them; and nothing is sent before that is known.
    pub(super) unknown: Vec<RefusedExchange>,
    pub(super) is_unknown: bool,
    slots: Vec<Arc<Slot>>,
    idle: Vec<Arc<Slot>>,
    /// Connections that are being opened.
    opening: usize,
    queued: QueuedExchanges,
    ticked: Instant,
    /// After a failure: no connection is opened before then.
    patience: Option<Instant>,
    /// How often in a row the server has closed a connection that it had not said to close.
    cuts: u8,
    buffers: PoolBuffers,
}

/// Room that is used again.
#[derive(Debug, Default)]
struct PoolBuffers {
    /// For bodies and fields, emptied.
    spares: Vec<Vec<u8>>,
    head: Vec<u8>,
}

/// What has not been sent yet.
#[derive(Debug, Default)]
struct QueuedExchanges {
    /// What the handshake consists of goes before all else.
    urgent: VecDeque<Exchange>,
    waiting: VecDeque<Exchange>,
    delayed: Vec<(Instant, Exchange)>,
    /// The bodies of all of them.
    bytes: usize,
}

/// What may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// It is not known where to: only the stream that says so is opened.
    Shut,
    /// What the handshake consists of.
    Handshake,
    Open,
}

/// The stream for what the server says of its own accord.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listening {
    /// Not tried yet in this session, or it has none.
    No,
    /// It is there, or was.
    Yes,
}

/// The connection serves no further request.
#[derive(Debug)]
pub(super) struct Unkept;

/// How often connections are looked at.
const TICK: Duration = Duration::from_secs(1);
/// For 64 exchanges at a time.
const SPARES: usize = 128;
// What a usual call needs: larger ones go back to the allocator.
const SPARE_CAPACITY: usize = 16 * 1024;

impl Pool {
    pub(super) fn new(session: Session, gate: Gate) -> Self {
        Self {
            session,
            gate,
            listening: Listening::No,
            trouble: None,
            closed: false,
            unknown: Vec::new(),
            is_unknown: false,
            slots: Vec::new(),
            idle: Vec::new(),
            opening: 0,
            queued: QueuedExchanges::default(),
            ticked: Instant::now(),
            patience: None,
            cuts: 0,
            buffers: PoolBuffers::default(),
        }
    }

    pub(super) fn check_room(&self) -> Result<(), Refused> {
        if self.closed {
            return Err(Refused::Closed);
        }
        let unsent =
            self.queued.waiting.len() + self.queued.urgent.len() + self.queued.delayed.len();
        let waiting = unsent + self.unknown.len();
        if waiting >= QUEUED_MESSAGES {
            return Err(Refused::Full("too many calls wait for it"));
        }
        if self.queued.bytes >= QUEUED_BYTES {
            return Err(Refused::Full("too many bytes wait for it"));
        }
        Ok(())
    }

    /// The edited message, kept in a buffer that has served before.
    pub(super) fn keep(&mut self, bytes: &[u8], edits: &Edits<'_>) -> KeptBody {
        KeptBody::new(self.spare(), bytes, edits)
    }

    /// An empty buffer.
    pub(super) fn spare(&mut self) -> Vec<u8> {
        self.buffers.spares.pop().unwrap_or_default()
    }

    /// The exchange is over; its buffers serve again.
    pub(super) fn recycle(&mut self, exchange: Exchange) {
        let Exchange { body, fields, .. } = exchange;
        if let KeptBody::Small(buffer) = body {
            self.take_back(buffer);
        }
        self.take_back(fields);
    }

    fn take_back(&mut self, mut buffer: Vec<u8>) {
        if self.buffers.spares.len() < SPARES && (1..=SPARE_CAPACITY).contains(&buffer.capacity()) {
            buffer.clear();
            self.buffers.spares.push(buffer);
        }
    }

    /// Sends the exchange now, or lets it wait for a connection. True if it waits.
    pub(super) fn start(&mut self, mut exchange: Exchange, touched: &mut FlushSet) -> bool {
        if self.passes(exchange.purpose) {
            let now = Instant::now();
            // The last one first: the connections used least go stale and are closed.
            while let Some(slot) = self.idle.pop() {
                if !slot.is_fresh(now) {
                    slot.close();
                    continue;
                }
                match self.send(exchange, &slot, touched) {
                    Ok(()) => return false,
                    Err(unsent) => exchange = unsent,
                }
            }
        }
        self.wait(exchange);
        true
    }

    fn send(
        &mut self,
        mut exchange: Exchange,
        slot: &Slot,
        touched: &mut FlushSet,
    ) -> Result<(), Exchange> {
        exchange.session = self.session.number;
        exchange.introduction = self.session.introduction;
        self.buffers.head.clear();
        self.session.head(&exchange, &mut self.buffers.head);
        slot.begin(exchange, &self.buffers.head, touched)
    }

    fn passes(&self, purpose: Purpose) -> bool {
        match self.gate {
            _ if self.is_unknown && purpose != Purpose::Goodbye => false,
            Gate::Shut => matches!(purpose, Purpose::Listen),
            Gate::Handshake => is_urgent(purpose),
            Gate::Open => true,
        }
    }

    fn wait(&mut self, exchange: Exchange) {
        self.queued.bytes += exchange.body.len();
        if is_urgent(exchange.purpose) || self.gate == Gate::Shut {
            self.queued.urgent.push_back(exchange);
        } else {
            self.queued.waiting.push_back(exchange);
        }
    }

    /// Goes before what waits already: it has waited before.
    pub(super) fn wait_in_front(&mut self, exchange: Exchange) {
        self.queued.bytes += exchange.body.len();
        if is_urgent(exchange.purpose) || self.gate == Gate::Shut {
            self.queued.urgent.push_front(exchange);
        } else {
            self.queued.waiting.push_front(exchange);
        }
    }

    pub(super) fn delay(&mut self, exchange: Exchange, pause: Duration) {
        self.queued.bytes += exchange.body.len();
        self.queued.delayed.push((Instant::now() + pause, exchange));
    }

    /// It waits until it is known who we are to the server.
    pub(super) fn park(&mut self, unknown: RefusedExchange) {
        self.queued.bytes += unknown.exchange.body.len();
        self.unknown.push(unknown);
    }

    pub(super) fn unpark(&mut self, which: impl Fn(&RefusedExchange) -> bool) -> Vec<Exchange> {
        let taken = self.unknown.extract_if(.., |unknown| which(unknown));
        let taken: Vec<_> = taken.map(|unknown| unknown.exchange).collect();
        let bytes: usize = taken.iter().map(|exchange| exchange.body.len()).sum();
        self.queued.bytes = self.queued.bytes.saturating_sub(bytes);
        taken
    }

    fn next(&mut self) -> Option<Exchange> {
        let urgent = self.queued.urgent.iter().position(|exchange| self.passes(exchange.purpose));
        let next = match urgent {
            Some(at) => self.queued.urgent.remove(at),
            None if self.gate == Gate::Open && !self.is_unknown => self.queued.waiting.pop_front(),
            None => None,
        };
        let next = next?;
        self.queued.bytes = self.queued.bytes.saturating_sub(next.body.len());
        Some(next)
    }

    /// A connection is free: for what waits, or for later.
    pub(super) fn offer(&mut self, slot: &Arc<Slot>, touched: &mut FlushSet) {
        match self.next() {
            None => self.idle.push(Arc::clone(slot)),
            Some(exchange) => {
                if let Err(unsent) = self.send(exchange, slot, touched) {
                    self.wait_in_front(unsent);
                }
            }
        }
    }

    /// More may be sent than before.
    pub(super) fn offer_idle(&mut self, touched: &mut FlushSet) {
        for slot in std::mem::take(&mut self.idle) {
            self.offer(&slot, touched);
        }
    }

    pub(super) fn add(&mut self, slot: &Arc<Slot>) {
        self.opening = self.opening.saturating_sub(1);
        self.slots.push(Arc::clone(slot));
    }

    pub(super) fn remove(&mut self, slot: &Arc<Slot>) {
        self.slots.retain(|held| !Arc::ptr_eq(held, slot));
        self.idle.retain(|held| !Arc::ptr_eq(held, slot));
    }

    /// Ends an exchange and lets its connection serve on: for so long, or not at all. What is left
    /// of the exchange; `Err` if the connection is to be closed.
    pub(super) fn release(
        &mut self,
        slot: &Arc<Slot>,
        keep: Option<Duration>,
        touched: &mut FlushSet,
    ) -> Result<Option<Exchange>, Unkept> {
        // A server that closes each connection behind its answer without saying so would cost a
        // failed try per call: after some of those, connections are not kept.
        let keep = keep.filter(|_| self.cuts < MOST_CUTS).ok_or(Unkept)?;
        let rested = slot.rest(keep);
        if let Some((_, true)) = rested {
            self.cuts = 0;
        }
        self.offer(slot, touched);
        Ok(rested.map(|(exchange, _)| exchange))
    }

    /// The server has closed a connection behind an answer, without a word.
    pub(super) fn note_cut(&mut self) {
        self.cuts = self.cuts.saturating_add(1);
    }

    /// How many connections to open now; they count as being opened.
    pub(super) fn open_more(&mut self) -> usize {
        // Closed, there is at most the farewell to be sent.
        if self.patience.is_some_and(|until| Instant::now() < until) {
            return 0;
        }
        let urgent =
            self.queued.urgent.iter().filter(|exchange| self.passes(exchange.purpose)).count();
        let passes = self.gate == Gate::Open && !self.is_unknown;
        let waiting = if passes { self.queued.waiting.len() } else { 0 };
        let more = (urgent + waiting)
            .saturating_sub(self.opening)
            // Bounded in all and at a time: a burst of calls must not look like an attack to the
            // server.
            .min(REMOTE_CONNECTIONS.saturating_sub(self.slots.len() + self.opening))
            .min(CONNECTIONS_OPENING.saturating_sub(self.opening));
        self.opening += more;
        more
    }

    /// A connection could not be opened. The streams that waited for one; `None` if no connection is
    /// left, or none that could do what else waits: the server is lost.
    pub(super) fn not_opened(&mut self) -> Option<VecDeque<Exchange>> {
        self.opening = self.opening.saturating_sub(1);
        let is_call = |exchange: &Exchange| !exchange.purpose.is_stream();
        let needed =
            self.queued.urgent.iter().any(is_call) || self.queued.waiting.iter().any(is_call);
        let deserted = needed && self.slots.iter().all(|slot| listens(slot));
        if self.gate == Gate::Shut || self.slots.is_empty() || deserted {
            return None;
        }
        self.patience = Some(Instant::now() + TICK);
        let (streams, calls) =
            self.queued.waiting.drain(..).partition(|exchange| exchange.purpose.is_stream());
        self.queued.waiting = calls;
        Some(streams)
    }

    /// When `tick` has something to do, if ever.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        let ticks = self.slots.iter().any(|slot| !listens(slot)) || self.patience.is_some();
        let soon = ticks.then(|| self.ticked + TICK);
        self.queued.delayed.iter().map(|(due, _)| *due).chain(soon).min()
    }

    /// Sends what is due and closes what has lasted long enough.
    pub(super) fn tick(&mut self, touched: &mut FlushSet) {
        let now = Instant::now();
        self.ticked = now;
        self.patience = self.patience.filter(|until| now < *until);
        let (due, later): (Vec<_>, _) =
            std::mem::take(&mut self.queued.delayed).into_iter().partition(|(due, _)| *due <= now);
        self.queued.delayed = later;
        for (_, exchange) in due {
            self.queued.bytes = self.queued.bytes.saturating_sub(exchange.body.len());
            self.start(exchange, touched);
        }
        let stale: Vec<_> = self.idle.extract_if(.., |slot| !slot.is_fresh(now)).collect();
        let overdue = self.slots.iter().filter(|slot| slot.is_overdue(now));
        for slot in stale.iter().chain(overdue) {
            slot.close();
        }
    }

    /// None of the connections that carry nothing is used again.
    pub(super) fn drop_idle(&mut self) {
        for slot in self.idle.drain(..) {
            slot.close();
        }
    }

    fn unsent(&self) -> impl Iterator<Item = &Exchange> {
        let delayed = self.queued.delayed.iter().map(|(_, exchange)| exchange);
        let unknown = self.unknown.iter().map(|unknown| &unknown.exchange);
        self.queued.urgent.iter().chain(&self.queued.waiting).chain(delayed).chain(unknown)
    }

    /// May the server have seen this request?
    pub(super) fn may_have_run(&self, id: UpstreamId) -> bool {
        if let Some(known) = self.slots.iter().find_map(|slot| slot.may_have_run(id)) {
            return known;
        }
        self.is_on_its_way(id)
    }

    /// Does this request wait for nothing any more, so that it cannot be taken back?
    pub(super) fn is_on_its_way(&self, id: UpstreamId) -> bool {
        !self.unsent().any(|exchange| exchange.purpose == Purpose::Call(id))
    }

    /// Nobody waits for the answer to this request any more.
    pub(super) fn forget(&mut self, id: UpstreamId) {
        let other = |exchange: &Exchange| exchange.purpose.id() != Some(id);
        self.queued.urgent.retain(other);
        self.queued.waiting.retain(other);
        self.queued.delayed.retain(|(_, exchange)| other(exchange));
        self.unknown.retain(|unknown| other(&unknown.exchange));
        self.queued.bytes = self.unsent().map(|exchange| exchange.body.len()).sum();
        for slot in &self.slots {
            slot.forget(id);
        }
    }

    /// Gives up a request of the stateless era: closing its connection tells the server so.
    pub(super) fn call_off(&mut self, id: UpstreamId) {
        self.forget(id);
        for slot in &self.slots {
            slot.hang_up(id);
        }
    }

    /// Sends nothing more of this request, and says whether the server may have seen it.
    pub(super) fn withdraw(&mut self, id: UpstreamId) -> bool {
        let is_on_its_way = self.is_on_its_way(id);
        // Its connection is closed before it is looked at how much was written.
        self.call_off(id);
        let written = || self.slots.iter().find_map(|slot| slot.may_have_run(id));
        is_on_its_way && written().unwrap_or(true)
    }

    /// The server has forgotten the session: what may be sent is a new handshake, and the stream
    /// that came with the old one is of no use.
    pub(super) fn forget_session(&mut self) {
        self.session.forget();
        self.gate = Gate::Handshake;
        self.listening = Listening::No;
        let other = |exchange: &Exchange| exchange.purpose != Purpose::Listen;
        self.queued.waiting.retain(other);
        self.queued.delayed.retain(|(_, exchange)| other(exchange));
        for slot in self.slots.iter().filter(|slot| listens(slot)) {
            slot.close();
        }
    }

    /// Is there a notification that the server has not heard yet?
    pub(super) fn is_telling(&self) -> bool {
        self.unsent().any(|exchange| exchange.purpose == Purpose::Tell)
            || self.slots.iter().any(|slot| matches!(slot.purpose(), Some((Purpose::Tell, _))))
    }

    /// Nothing more is sent. One idle connection is spared for the farewell.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.queued.urgent.clear();
        self.queued.waiting.clear();
        self.queued.delayed.clear();
        self.unknown.clear();
        self.queued.bytes = 0;
        // 2025-11-25, Transports, Session Management: a client SHOULD end its session with DELETE.
        let spared = if self.session.id.is_some() { self.idle.pop() } else { None };
        self.idle.clear();
        for slot in &self.slots {
            if !spared.as_ref().is_some_and(|spared| Arc::ptr_eq(spared, slot)) {
                slot.close();
            }
        }
        self.idle.extend(spared);
    }

    pub(super) fn close_all(&mut self) {
        self.idle.clear();
        for slot in &self.slots {
            slot.close();
        }
    }
}

fn listens(slot: &Slot) -> bool {
    matches!(slot.purpose(), Some((Purpose::Listen, _)))
}

/// Before the gate is open, everything but calls (and the streams that come with a session).
fn is_urgent(purpose: Purpose) -> bool {
    match purpose {
        Purpose::Initialize(_) | Purpose::Initialized | Purpose::Tell | Purpose::Goodbye => true,
        Purpose::Call(_) | Purpose::Listen | Purpose::Resume(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::http::address::{Address, Remote};
    use trunkline_catalog::config::{NetworkRules, RemoteKind};
    use trunkline_wire::Edits;

    fn pool(gate: Gate) -> Pool {
        let network = NetworkRules::default();
        let place =
            Remote { url: "http://h/mcp", kind: RemoteKind::Http, headers: &[], network: &network };
        Pool::new(Session::new(Address::new(place).unwrap()), gate)
    }

    fn exchange(purpose: Purpose) -> Exchange {
        Exchange::post(purpose, KeptBody::Small(b"{}".to_vec()))
    }

    /// Puts these, and says what leaves as connections are offered.
    fn leaving(pool: &mut Pool, purposes: &[Purpose]) -> Vec<Purpose> {
        let mut touched = FlushSet::default();
        for purpose in purposes {
            assert!(pool.start(exchange(*purpose), &mut touched));
        }
        std::iter::from_fn(|| pool.next()).map(|exchange| exchange.purpose).collect()
    }

    #[test]
    fn what_leaves_before_the_session_is_open() {
        use Purpose::{Call, Initialize, Initialized, Listen, Tell};
        let all = [Call(1), Listen, Tell, Initialized, Initialize(2)];
        assert_eq!(leaving(&mut pool(Gate::Shut), &all), [Listen]);
        let mut handshake = pool(Gate::Handshake);
        assert_eq!(leaving(&mut handshake, &all), [Tell, Initialized, Initialize(2)]);
        handshake.gate = Gate::Open;
        assert_eq!(leaving(&mut handshake, &[]), [Call(1), Listen]);
        assert_eq!(leaving(&mut pool(Gate::Open), &[Call(1), Tell]), [Tell, Call(1)]);
    }

    #[test]
    fn a_request_that_is_taken_back_is_not_sent_later() {
        let mut pool = pool(Gate::Open);
        let mut touched = FlushSet::default();
        let slot = Arc::new(Slot::new());
        pool.add(&slot);
        for id in [1, 2] {
            pool.start(exchange(Purpose::Call(id)), &mut touched);
        }
        pool.offer(&slot, &mut touched);
        assert!(!pool.withdraw(2), "it waited");
        assert!(!pool.withdraw(1), "nothing of it was written");
        assert!(slot.outbox.put(b"x", &Edits::new()).is_err(), "nothing of it can be written");
        assert_eq!(pool.next().map(|exchange| exchange.purpose), None);
        assert!(pool.withdraw(3), "it has left before");
        touched.flush();
    }

    #[test]
    fn connections_are_opened_as_needed_and_not_without_end() {
        let mut pool = pool(Gate::Open);
        let mut touched = FlushSet::default();
        assert_eq!(pool.open_more(), 0);
        for id in 0..1000 {
            pool.start(exchange(Purpose::Call(id)), &mut touched);
        }
        let mut slots = 0;
        loop {
            let more = pool.open_more();
            if more == 0 {
                break;
            }
            assert!(more <= CONNECTIONS_OPENING);
            assert_eq!(pool.open_more(), 0, "those are under way");
            for _ in 0..more {
                let slot = Arc::new(Slot::new());
                pool.add(&slot);
                pool.offer(&slot, &mut touched);
                slots += 1;
            }
        }
        assert_eq!(slots, REMOTE_CONNECTIONS);
        assert_eq!(pool.queued.waiting.len(), 1000 - REMOTE_CONNECTIONS);
        touched.flush();
    }

    #[test]
    fn what_waits_did_not_run_and_can_be_forgotten() {
        let mut pool = pool(Gate::Open);
        let mut touched = FlushSet::default();
        pool.start(exchange(Purpose::Call(1)), &mut touched);
        pool.delay(exchange(Purpose::Call(2)), TICK);
        let slot = Arc::new(Slot::new());
        pool.add(&slot);
        pool.wait_in_front(exchange(Purpose::Call(3)));
        pool.offer(&slot, &mut touched);
        assert_eq!([1, 2, 3, 4].map(|id| pool.may_have_run(id)), [false, false, false, true]);
        pool.forget(1);
        pool.forget(2);
        assert_eq!(
            (pool.queued.waiting.len(), pool.queued.delayed.len(), pool.queued.bytes),
            (0, 0, 0)
        );
        touched.flush();
    }

    #[test]
    fn a_server_is_lost_when_nothing_can_reach_it() {
        let mut touched = FlushSet::default();
        let mut idle = pool(Gate::Open);
        idle.start(exchange(Purpose::Listen), &mut touched);
        assert!(idle.not_opened().is_none(), "not even a stream can be opened");
        idle.add(&Arc::new(Slot::new()));
        let streams = idle.not_opened().expect("only a stream is missing");
        assert_eq!(streams.len(), 1);
        let mut needed = pool(Gate::Open);
        needed.start(exchange(Purpose::Call(1)), &mut touched);
        assert!(needed.not_opened().is_none());
        let busy = Arc::new(Slot::new());
        needed.add(&busy);
        assert!(needed.not_opened().is_some_and(|streams| streams.is_empty()));
        assert_eq!(needed.open_more(), 0, "not at once again");
        assert!(pool(Gate::Shut).not_opened().is_none());
        touched.flush();
    }
}
