//! `Connection`: one run of a server. It sends calls, matches answers to them, and ends calls that get none.

pub(in crate::upstream) mod broken;
mod crossing;
mod ends;
mod facts;
pub(in crate::upstream) mod hints;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use trunkline_wire::{
    Edits, FaultKind, Id, Kind, Message, MessageFault, Params, Span, elements, scan, upstream_id,
};

use crate::call::{Audience, CallHandle, CallOwner, Payload, Rejected, ReplyTo};
use crate::deadlines::Deadlines;
use crate::era::Era;
use crate::error::CallError;
use crate::identity::Identity;
use crate::limits::{KEPT_REQUEST, LASTING_LIFE, Limits};
use crate::lock::MutexGuard;
use crate::pump::FlushSet;
use crate::upstream::calls::WaitCause;
use crate::upstream::calls::link::Link;
use crate::upstream::calls::pending::{Entry, Pending, Waiter};
use crate::upstream::calls::wait_queue::WaitQueue;
use crate::upstream::connection::broken::BrokenLines;
use crate::upstream::connection::facts::ServerFacts;
use crate::upstream::connection::hints::RepeatableTools;
use crate::upstream::listening::listens::{ListChanges, Listens};
use crate::upstream::listening::subscriptions::Subscriptions;
use crate::upstream::questions::parking::Parking;
use crate::upstream::transport::{Heading, ResponseShape, Transport, UpstreamId};

/// One run of a server: the transport with its open calls, and all that is known while it lasts.
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

/// Optional parts of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionOptions {
    /// Where calls wait for the server.
    pub(crate) wait_queue: Option<Arc<WaitQueue>>,
    /// The timeout of calls to this server, if it has one of its own.
    pub(crate) timeout: Option<Duration>,
}

impl ConnectionOptions {
    /// A call has ended: the next of the queue may be sent.
    pub(in crate::upstream) fn made_room_in(&self, touched: &mut FlushSet) {
        if let Some(queue) = self.wait_queue.as_ref().filter(|queue| queue.has_turns()) {
            queue.release(touched);
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
    pub(crate) transport: Arc<dyn Transport>,
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
            transport,
            broken,
            audience,
            simple,
            deadlines,
            parking,
            options,
        } = parts;
        let deadlines = (deadlines, options.timeout);
        Self {
            link: Link::new(key, transport, limits, deadlines, simple),
            options,
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

    /// Passes a client's request on, with `changes` made: the server's own name for what it is
    /// about. Every other byte is the client's. `Err`: the caller still owes the call its outcome.
    pub(crate) fn submit(
        self: &Arc<Self>,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        reply: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        // Relaxed: a call that is made at the moment of the verdict may still be sent.
        if self.health.is_failing() {
            return Err(Rejected::new(reply, self.link.failing()));
        }
        match &self.options.wait_queue {
            None => self.submit_now(message, changes, reply, touched),
            Some(queue) => self.submit_held(queue, message, changes, reply, touched),
        }
    }

    /// Passes a request on to a server whose calls may wait.
    fn submit_held(
        self: &Arc<Self>,
        queue: &Arc<WaitQueue>,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        mut reply: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        // Who comes again is known by its very words, and has its place with the server already.
        if message.params.request_state.is_some() {
            return self.submit_now(message, changes, reply, touched);
        }
        let keeps = queue.rules.repeats && message.bytes.len() <= KEPT_REQUEST;
        let cause = match queue.has_turns() {
            true => Some(WaitCause::Turn),
            false => queue.is_crowded().then_some(WaitCause::Away),
        };
        if reply.replay.is_none() && (keeps || cause.is_some()) {
            reply.keep_for_later(message, changes);
        }
        let Some(cause) = cause else {
            return self.submit_now(message, changes, reply, touched);
        };
        // Behind those who came before; whose turn it is, is decided in one place.
        let within = self.options.timeout.or(self.link.limits.call);
        queue.admit(reply, cause, within)?;
        queue.release(touched);
        Ok(())
    }

    /// Passes a client's request on at once, past the calls that wait for the server.
    pub(super) fn submit_now(
        self: &Arc<Self>,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        mut reply: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        if reply.request_era.era() != self.link.era() {
            return self.submit_across(message, changes, reply, touched);
        }
        // Only a request of the stateless era can come again with a state of its server's.
        let state = match reply.request_era.is_session() {
            true => Ok(None),
            false => {
                let server = self.link.key.id();
                self.parking.prepare_within_modern(server, message, &mut reply)
            }
        };
        let state = match state {
            Ok(state) => state,
            Err(error) => return Err(Rejected::new(reply, error)),
        };
        let (id, pending) = match self.open_call(&reply) {
            Ok(opened) => opened,
            Err(error) => return Err(Rejected::new(reply, error)),
        };
        let sent = with_digits(id, |digits| {
            let mut edits = under_our_id(message, &reply, digits, changes);
            if let (Some(at), Some(state)) = (message.params.request_state, &state) {
                edits.add(at, state);
            }
            let heading = heading(message, changes);
            self.link.transport.send(Some((id, &heading)), message.bytes, &edits, touched)
        });
        self.link.sent(id, reply, sent, pending)
    }

    /// Opens the call in its client, under an id of ours. It is sent while the lock is held: an answer or
    /// the server's end can only come afterwards.
    #[inline]
    fn open_call(
        self: &Arc<Self>,
        reply: &ReplyTo,
    ) -> Result<(UpstreamId, MutexGuard<'_, Pending>), CallError> {
        let mut pending = self.link.pending.lock();
        let id = self.link.next_id(&mut pending)?;
        let owner: Arc<dyn CallOwner> = Arc::clone(self) as Arc<dyn CallOwner>;
        match reply.client.open(&reply.id, CallHandle::Sent { owner, id }) {
            true => Ok((id, pending)),
            false => Err(CallError::duplicate_id()),
        }
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
        // Only where it is read: a clock for each message is felt.
        if self.options.wait_queue.is_some() {
            self.health.note_time();
        }
        match message.kind {
            Kind::Answer | Kind::Refusal => {
                let (id, shape) = (upstream_id(message.id()), shape_of(message));
                let entry = id.and_then(|id| self.link.pending.lock().take_answered(id));
                let (Some(entry), Some(shape)) = (entry, shape) else {
                    return self.unmatched(message, origin);
                };
                match message.unreadable {
                    // Strict clients drop such a response and wait on: an error tells them what is
                    // wrong.
                    Some(fault) if entry.waiter.is_of_client() => {
                        self.broken.warn_unreadable(&self.link.key, message.bytes, fault);
                        self.link.fail_entry(entry, &self.link.broken_answer(fault), touched);
                    }
                    _ => self.settle(entry, shape, payload, touched),
                }
                self.options.made_room_in(touched);
            }
            Kind::Notification => self.notified(message, origin, touched),
            // Some servers write what they read to stdout, too. That is no question: an answer to
            // it would be one that they never asked for.
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

    /// Gives a response to its waiter.
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
        // The usual call, within the legacy era and without tasks: nothing in its result has to be
        // looked at.
        if let Waiter::Client(reply) = &entry.waiter
            && reply.request_era.is_session()
            && self.link.era() == Era::Legacy
            && !self.facts.has_tasks.load(Ordering::Relaxed)
        {
            return reply.deliver(shape.id, payload, touched);
        }
        match entry.waiter {
            Waiter::Client(reply) if self.facts.has_tasks.load(Ordering::Relaxed) => {
                self.settle_of_tasks(reply, shape, payload, touched);
            }
            Waiter::Client(reply) => self.deliver_across(reply, shape, payload, touched),
            Waiter::Parked(parked) => self.settle_parked(&parked, shape, payload, touched),
            // If the receiver is gone, the handshake was given up.
            Waiter::Own(sender) | Waiter::Listening(sender) => {
                drop(sender.send(Ok(payload.bytes().to_vec())));
            }
            Waiter::Fence => self.link.fence_passed(touched),
        }
    }
}

/// The parts of a response; `None`: it has no id.
pub(in crate::upstream) fn shape_of(message: &Message<'_>) -> Option<ResponseShape> {
    let Message { kind, result, result_type, error, .. } = *message;
    Some(ResponseShape { id: message.id?, kind, result, result_type, error })
}

/// What a client's request is about, with these changes made.
pub(in crate::upstream) fn heading<'a>(
    message: &Message<'a>,
    changes: &[(Span, &'a [u8])],
) -> Heading<'a> {
    let changed = |span: Span| {
        let new = changes.iter().find(|(at, _)| *at == span).map(|(_, new)| *new);
        new.unwrap_or_else(|| span.of(message.bytes))
    };
    let Params { name, uri, arguments, .. } = message.params;
    Heading {
        method: message.text(message.method),
        name: name.or(uri).map(changed),
        arguments: arguments.map(changed),
    }
}

/// A client's request under an id of ours, which is also its progress token if it has one, and with
/// these changes.
pub(super) fn under_our_id<'a>(
    message: &Message<'_>,
    reply: &ReplyTo,
    digits: &'a [u8],
    changes: &[(Span, &'a [u8])],
) -> Edits<'a> {
    let mut edits = Edits::new();
    let token = message.params.meta.progress_token.filter(|_| reply.progress_token.is_some());
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

/// Whether the connection has been of use, and whether it still is.
// Relaxed throughout: each is a sign of its own, and nothing else is read because of it.
#[derive(Debug)]
pub(crate) struct ConnectionHealth {
    /// No other connection of this process has the number.
    life: u64,
    /// It has answered a client since that was last looked at, and before.
    is_used: AtomicBool,
    was_used: AtomicBool,
    /// A health check has found out that it is of no use as it is.
    is_useless: AtomicBool,
    /// It has not answered its last health checks: it gets no further calls of clients.
    is_failing: AtomicBool,
    /// When it last said anything, in milliseconds since it was made; noted where calls are held.
    heard: AtomicU64,
    made: Instant,
}

impl ConnectionHealth {
    pub(in crate::upstream) fn new() -> Self {
        static LIVES: AtomicU64 = AtomicU64::new(1);
        Self {
            life: LIVES.fetch_add(1, Ordering::Relaxed),
            is_used: AtomicBool::new(false),
            was_used: AtomicBool::new(false),
            is_useless: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
            heard: AtomicU64::new(0),
            made: Instant::now(),
        }
    }

    /// Which life of its server this is: what was found out about another one does not concern it.
    pub(crate) fn life(&self) -> u64 {
        self.life
    }

    /// A client's call was answered. Read first: it is hardly ever written, and read by every answer.
    pub(in crate::upstream) fn note_use(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }

    /// Has it answered a client since this was last asked?
    pub(in crate::upstream) fn take_use(&self) -> bool {
        // Before the other is cleared: at no moment does it look as if it had never been of use.
        let is_used = self.is_used.load(Ordering::Relaxed);
        if is_used {
            // The order holds although both are Relaxed: `was_of_use` is asked by the same task.
            self.was_used.store(true, Ordering::Relaxed);
            self.is_used.store(false, Ordering::Relaxed);
        }
        is_used
    }

    /// Has it not passed its last health checks?
    pub(in crate::upstream) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    pub(in crate::upstream) fn note_time(&self) {
        let heard = u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.heard.store(heard, Ordering::Relaxed);
    }

    /// When it last said anything, where that is noted.
    pub(crate) fn last_heard(&self) -> Option<Instant> {
        match self.heard.load(Ordering::Relaxed) {
            0 => None,
            heard => Some(self.made + Duration::from_millis(heard)),
        }
    }

    /// Has it answered a client, or lasted a while? A server that failed its health checks has lasted only
    /// because the checks take their time.
    pub(in crate::upstream) fn was_of_use(&self) -> bool {
        let lasted =
            self.made.elapsed() >= LASTING_LIFE && !self.is_useless.load(Ordering::Relaxed);
        let is_used = self.is_used.load(Ordering::Relaxed) || self.was_used.load(Ordering::Relaxed);
        is_used || lasted
    }

    /// Whether it fails its health checks. While it does, calls are refused at once instead of sent.
    pub(in crate::upstream) fn set_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Ordering::Relaxed);
    }

    /// It is given up as it is.
    pub(in crate::upstream) fn condemn(&self) {
        self.is_useless.store(true, Ordering::Relaxed);
    }
}
