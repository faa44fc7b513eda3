//! `Connection`: one live connection to a server. It hands calls over, matches answers, and ends calls
//! that get none.

pub(in crate::upstream) mod broken;
mod crossing;
mod ends;
mod facts;
mod health;
pub(in crate::upstream) mod hints;
mod holding;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use trunkline_wire::{
    Edits, FaultKind, Id, Kind, Message, MessageFault, Span, elements, scan, upstream_id,
};

use crate::call::{
    Audience, CallHandle, CallOwner, CallRecord, Observers, Payload, Rejected, ReplyTo,
};
use crate::deadlines::Deadlines;
use crate::era::Era;
use crate::error::CallError;
use crate::identity::Identity;
use crate::limits::Limits;
use crate::pump::FlushSet;
use crate::traces::SpanKind;
use crate::upstream::calls::link::Link;
use crate::upstream::calls::pending::{Entry, Waiter};
use crate::upstream::calls::wait_queue::WaitQueue;
use crate::upstream::connection::broken::BrokenLines;
use crate::upstream::connection::facts::ServerFacts;
use crate::upstream::connection::health::ConnectionHealth;
use crate::upstream::connection::hints::RepeatableTools;
use crate::upstream::listening::listens::{ListChanges, Listens};
use crate::upstream::listening::subscriptions::Subscriptions;
use crate::upstream::questions::parking::Parking;
use crate::upstream::response::ResponseShape;
use crate::upstream::transport::UpstreamId;
use crate::upstream::transport::{Heading, Transport};

/// One live connection: the way to the server, and everything that is kept about it while it lasts.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) link: Link,
    pub(super) options: ConnectionOptions,
    pub(crate) broken: BrokenLines,
    /// The clients it may speak to.
    pub(crate) audience: Arc<Audience>,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) listens: Listens,
    /// Calls of stateless clients that wait for their client to come again.
    pub(crate) parking: Arc<Parking>,
    /// Which of its lists the server says have changed.
    pub(super) changes: ListChanges,
    pub(crate) facts: ServerFacts,
    pub(crate) health: ConnectionHealth,
    /// Its tools that may be called again, as it spells them: known where calls are held.
    pub(super) repeatable: RepeatableTools,
}

/// What a connection has beyond the plain passing on of messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionOptions {
    /// Where calls wait for the server.
    pub(crate) wait_queue: Option<Arc<WaitQueue>>,
    /// Who is told what became of calls.
    pub(crate) observers: Option<Arc<Observers>>,
    /// When a call of this server's is late, if that is not the same for all.
    pub(crate) timeout: Option<Duration>,
}

impl ConnectionOptions {
    /// What is to be told about a call at its end, if anybody wants to know.
    pub(crate) fn record(
        &self,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        (link, path): (&Link, &ReplyTo),
    ) -> Option<Arc<CallRecord>> {
        let watch = self.observers.as_ref()?;
        let hop = match link.transport {
            Transport::Pipe(_) => SpanKind::Pipe,
            Transport::Post(_) => SpanKind::Network,
        };
        CallRecord::of(message, changes, (&link.key, hop), path.asker(), watch)
    }

    /// A call has ended: it may be another one's turn.
    pub(in crate::upstream) fn made_room_in(&self, touched: &mut FlushSet) {
        if let Some(room) =
            self.wait_queue.as_ref().filter(|room| room.rules.max_concurrency.is_some())
        {
            room.release(touched);
        }
    }

    pub(in crate::upstream) fn made_room(&self) {
        let mut touched = FlushSet::default();
        self.made_room_in(&mut touched);
        touched.flush();
    }
}

/// What a connection is made of.
#[derive(Debug)]
pub(crate) struct ConnectionParts {
    pub(crate) key: Identity,
    pub(crate) limits: Limits,
    pub(crate) transport: Transport,
    pub(crate) broken: BrokenLines,
    pub(crate) audience: Arc<Audience>,
    pub(crate) simple: bool,
    pub(crate) deadlines: Arc<Deadlines>,
    pub(crate) parking: Arc<Parking>,
    pub(crate) options: ConnectionOptions,
}

impl Connection {
    pub(crate) fn new(parts: ConnectionParts) -> Self {
        let ConnectionParts {
            key,
            limits,
            transport: line,
            broken,
            audience,
            simple,
            deadlines,
            parking,
            options: outfit,
        } = parts;
        let deadlines = (deadlines, outfit.timeout);
        Self {
            link: Link::new(key, line, limits, deadlines, simple),
            options: outfit,
            broken,
            audience,
            subscriptions: Subscriptions::default(),
            listens: Listens::default(),
            parking,
            changes: ListChanges::default(),
            facts: ServerFacts::new(),
            health: ConnectionHealth::new(),
            repeatable: RepeatableTools::default(),
        }
    }

    /// What is to be told about a call at its end, if anybody wants to know.
    pub(crate) fn record(
        &self,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        path: &ReplyTo,
    ) -> Option<Arc<CallRecord>> {
        self.options.record(message, changes, (&self.link, path))
    }

    /// Passes a client's request on, with `changes` made: the server's own name for what it is
    /// about. Every other byte is the client's. `Err`: the caller still owes the call its outcome.
    pub(crate) fn submit(
        self: &Arc<Self>,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        path: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        // Relaxed: a call that is made at the moment of the verdict may still be sent.
        if self.health.is_failing() {
            return Err(Rejected::new(path, self.link.failing()));
        }
        match &self.options.wait_queue {
            None => self.submit_now(message, changes, path, touched),
            Some(room) => self.submit_held(room, message, changes, path, touched),
        }
    }

    /// Passes a client's request on at once, past the calls that wait for the server.
    pub(super) fn submit_now(
        self: &Arc<Self>,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        mut path: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        if path.request_era.era() != self.link.era() {
            return self.submit_across(message, changes, path, touched);
        }
        let state = match self.parking.prepare_within_modern(self.link.key.id(), message, &mut path)
        {
            Ok(state) => state,
            Err(error) => return Err(Rejected::new(path, error)),
        };
        let mut pending = self.link.pending.lock();
        let id = match self.link.next_id(&mut pending) {
            Ok(id) => id,
            Err(error) => return Err(Rejected::new(path, error)),
        };
        // Everything under the lock: an answer or the server's end can only come afterwards.
        let carrier: Arc<dyn CallOwner> = Arc::clone(self) as Arc<dyn CallOwner>;
        if !path.client.open(&path.id, CallHandle::Sent { carrier, id }) {
            return Err(Rejected::new(path, CallError::duplicate_id()));
        }
        let sent = with_digits(id, |digits| {
            let mut edits = under_our_id(message, &path, digits, changes);
            if let (Some(at), Some(state)) = (message.params.request_state, &state) {
                edits.add(at, state);
            }
            let heading = Heading::of(message, changes);
            self.link.transport.request(id, &heading, message.bytes, &edits, touched)
        });
        self.link.sent(id, path, sent, pending)
    }

    /// One message from the server. `origin`: it came as part of the answer to this request of
    /// ours. Where it goes on to is noted in `touched`.
    pub(crate) fn receive(
        self: &Arc<Self>,
        payload: Payload<'_>,
        origin: Option<UpstreamId>,
        touched: &mut FlushSet,
    ) {
        #[cfg(test)]
        assert!(!payload.bytes().ends_with(b"\"a panic is injected\"}"), "injected");
        // Looked at where it lies: it is large, and moving it is felt.
        let scanned = scan(payload.bytes());
        let message = match &scanned {
            Ok(message) => message,
            Err(MessageFault { kind: FaultKind::Batch, .. }) => {
                return self.receive_batch(payload.bytes(), origin, touched);
            }
            Err(fault) => return self.broken_line(payload.bytes(), *fault, origin),
        };
        if self.options.wait_queue.is_some() {
            self.health.note_time();
        }
        match message.kind {
            Kind::Answer | Kind::Refusal => {
                let (id, shape) = (upstream_id(message.id()), ResponseShape::of(message));
                let entry = id.and_then(|id| self.link.pending.lock().take_answered(id));
                let (Some(entry), Some(shape)) = (entry, shape) else {
                    return self.unmatched(message, origin);
                };
                match message.unreadable {
                    Some(fault) if entry.waiter.is_of_client() => {
                        self.broken.warn_unreadable(&self.link.key, message.bytes, fault);
                        self.link.fail_entry(entry, &self.link.broken_answer(fault), touched);
                    }
                    _ => self.settle(entry, shape, payload, touched),
                }
                self.options.made_room_in(touched);
            }
            Kind::Notification => self.notified(message, origin, touched),
            Kind::Request if self.link.is_echo(message) => {
                self.broken.noise(&self.link, message.bytes);
            }
            Kind::Request => self.asked(message, origin, touched),
        }
    }

    /// Revision 2025-03-26 lets a server answer in batches. What is no message in it is noise.
    fn receive_batch(
        self: &Arc<Self>,
        batch: &[u8],
        origin: Option<UpstreamId>,
        touched: &mut FlushSet,
    ) {
        let mut messages =
            elements(batch).map(|at| at.of(batch)).filter(|one| one.starts_with(b"{"));
        let Some(first) = messages.next() else { return self.broken.noise(&self.link, batch) };
        for message in std::iter::once(first).chain(messages) {
            self.receive(Payload::Borrowed(message), origin, touched);
        }
    }

    /// Gives a response to whoever waits for it.
    pub(super) fn settle(
        self: &Arc<Self>,
        entry: Entry,
        shape: ResponseShape,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        if matches!(entry.waiter, Waiter::Client(_)) {
            self.health.note_use();
        }
        if let Waiter::Client(path) = &entry.waiter
            && path.request_era.is_session()
            && self.link.era() == Era::Legacy
            && !self.facts.has_tasks.load(Ordering::Relaxed)
        {
            return path.deliver(shape.id, payload, touched);
        }
        match entry.waiter {
            Waiter::Client(path) if self.facts.has_tasks.load(Ordering::Relaxed) => {
                self.settle_of_tasks(path, shape, payload, touched);
            }
            Waiter::Client(path) => self.deliver_across(path, shape, payload, touched),
            Waiter::Parked(parked) => self.settle_parked(&parked, shape, payload, touched),
            // If nobody waits any more, the handshake was given up.
            Waiter::Own(sender) | Waiter::Listening(sender) => {
                drop(sender.send(Ok(payload.bytes().to_vec())));
            }
            Waiter::Fence => self.link.fence_passed(touched),
        }
    }
}

/// A client's request under an id of ours, which is also its progress token if it has one, and with
/// these changes.
pub(super) fn under_our_id<'a>(
    message: &Message<'_>,
    path: &ReplyTo,
    digits: &'a [u8],
    changes: &[(Span, &'a [u8])],
) -> Edits<'a> {
    let mut edits = Edits::new();
    let token = message.params.meta.progress_token.filter(|_| path.progress_token.is_some());
    for span in [message.id, token].into_iter().flatten() {
        edits.add(span, digits);
    }
    for (span, new) in changes {
        edits.add(*span, new);
    }
    edits
}

pub(super) fn with_digits<T>(id: UpstreamId, use_it: impl FnOnce(&[u8]) -> T) -> T {
    Id::Number(i64::from(id)).with_token(use_it)
}
