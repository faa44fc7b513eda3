//! One live connection to a server: hands calls over, matches answers, keeps deadlines.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use trunkline_wire::{
    Edits, Fault, FaultKind, Id, Kind, Message, Span, elements, encode_into, scan, upstream_id,
};

use crate::call::{Audience, CallHandle, CallOwner, Observers, Payload, Rejected, ReplyTo};
use crate::deadlines::Deadlines;
use crate::era::{Era, Stamp};
use crate::error::CallError;
use crate::identity::Identity;
use crate::limits::Limits;
use crate::lock::{Mutex, MutexGuard, rank};
use crate::pump::{FlushSet, Refused};
use crate::upstream::calls::pending::{Answer, Entry, Pending, Waiter};
use crate::upstream::calls::wait_queue::WaitQueue;
use crate::upstream::inbound::broken::BrokenLines;
use crate::upstream::listening::listens::{ListChanges, Listens};
use crate::upstream::listening::subscriptions::Subscriptions;
use crate::upstream::questions::parking::Parking;
use crate::upstream::response::ResponseShape;
use crate::upstream::transport::UpstreamId;
use crate::upstream::transport::{Heading, Transport};

#[derive(Debug)]
pub(crate) struct Connection {
    // What every call needs stands together: the rest of it need not be fetched for that.
    pub(crate) line: Transport,
    pub(super) outfit: ConnectionOptions,
    pub(super) deadlines: Arc<Deadlines>,
    // Held while a request is put into the transport and opened in its client: an answer, a
    // cancellation or the server's end can only come afterwards. So the client's and the
    // transport's locks rank below it, and a transport must not call back.
    pub(crate) pending: Mutex<Pending, rank::OpenCalls>,
    pub(crate) key: Identity,
    pub(crate) limits: Limits,
    pub(crate) broken: BrokenLines,
    /// The clients it may speak to.
    pub(crate) audience: Arc<Audience>,
    /// The literal simple product: tools only, and nobody is asked anything.
    pub(crate) simple: bool,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) listens: Listens,
    /// Calls of stateless clients that wait for their client to come again.
    pub(crate) parking: Arc<Parking>,
    /// It has been found to be of the stateless era.
    modern: AtomicBool,
    /// The handshake is over, and what it offers is known.
    opened: AtomicBool,
    /// It logs, and was told to from this level on (more than any: it was told nothing).
    pub(crate) logs: AtomicBool,
    pub(super) told_level: AtomicU8,
    /// It has tasks: answers may tell of them.
    pub(crate) has_tasks: AtomicBool,
    /// What stands in our own requests to it.
    stamp: Stamp,
    /// Which of its lists the server says have changed.
    pub(super) changes: ListChanges,
    /// Its tools that may be called again, as it spells them: known where calls are held.
    pub(super) repeatable: Mutex<HashSet<Box<[u8]>>, rank::RepeatableTools>,
    /// It has answered a client.
    pub(super) was_of_use: AtomicBool,
    /// Somebody has found out that it is of no use as it is.
    pub(super) is_useless: AtomicBool,
    /// It has not answered its last health checks: it gets no further calls of clients.
    pub(super) is_failing: AtomicBool,
    /// When it last said anything, in milliseconds since it was made; noted where calls are held.
    pub(super) heard: AtomicU64,
    pub(super) made: Instant,
}

/// What a connection has beyond the plain passing on of messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionOptions {
    /// Where calls wait for the server.
    pub(crate) room: Option<Arc<WaitQueue>>,
    /// Who is told what became of calls.
    pub(crate) watch: Option<Arc<Observers>>,
    /// When a call of this server's is late, if that is not the same for all.
    pub(crate) timeout: Option<Duration>,
}

/// What a connection is made of.
#[derive(Debug)]
pub(crate) struct ConnectionParts {
    pub(crate) key: Identity,
    pub(crate) limits: Limits,
    pub(crate) line: Transport,
    pub(crate) broken: BrokenLines,
    pub(crate) audience: Arc<Audience>,
    pub(crate) simple: bool,
    pub(crate) deadlines: Arc<Deadlines>,
    pub(crate) parking: Arc<Parking>,
    pub(crate) outfit: ConnectionOptions,
}

impl Connection {
    pub(crate) fn new(parts: ConnectionParts) -> Self {
        let ConnectionParts {
            key,
            limits,
            line,
            broken,
            audience,
            simple,
            deadlines,
            parking,
            outfit,
        } = parts;
        if let Some(timeout) = outfit.timeout {
            deadlines.expect(timeout);
        }
        Self {
            key,
            limits,
            line,
            pending: Mutex::new(Pending::new()),
            broken,
            audience,
            simple,
            subscriptions: Subscriptions::default(),
            listens: Listens::default(),
            parking,
            modern: AtomicBool::new(false),
            opened: AtomicBool::new(false),
            logs: AtomicBool::new(false),
            told_level: AtomicU8::new(u8::MAX),
            has_tasks: AtomicBool::new(false),
            stamp: own_stamp(b"{}"),
            changes: ListChanges::default(),
            deadlines,
            outfit,
            repeatable: Mutex::default(),
            was_of_use: AtomicBool::new(false),
            is_useless: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
            heard: AtomicU64::new(0),
            made: Instant::now(),
        }
    }

    /// How the server is spoken to.
    pub(crate) fn era(&self) -> Era {
        if self.modern.load(Ordering::Relaxed) { Era::Modern } else { Era::Legacy }
    }

    /// Found out in the handshake, once.
    pub(crate) fn set_era(&self, era: Era) {
        self.modern.store(era == Era::Modern, Ordering::Relaxed);
    }

    /// Is the handshake over? Before that, an answer without an id belongs to nobody: servers log,
    /// greet and answer notifications then.
    pub(crate) fn is_opened(&self) -> bool {
        self.opened.load(Ordering::Relaxed)
    }

    pub(crate) fn set_opened(&self) {
        self.opened.store(true, Ordering::Relaxed);
    }

    /// Is no client's call with the server, and has none just been?
    pub(crate) fn is_free(&self) -> bool {
        let pending = self.pending.lock();
        let is_call = |waiter: &Waiter| matches!(waiter, Waiter::Client(_) | Waiter::Parked(_));
        pending.given_up.is_empty() && !pending.iter().any(|(_, waiter)| is_call(waiter))
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
        if self.is_failing.load(Ordering::Relaxed) {
            return Err(Rejected::new(path, self.failing()));
        }
        match &self.outfit.room {
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
        if path.request_era.era() != self.era() {
            return self.submit_across(message, changes, path, touched);
        }
        let state = match self.prepare_within_modern(message, &mut path) {
            Ok(state) => state,
            Err(error) => return Err(Rejected::new(path, error)),
        };
        let mut pending = self.pending.lock();
        let id = match self.next_id(&mut pending) {
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
            self.line.request(id, &heading, message.bytes, &edits, touched)
        });
        self.sent(id, path, sent, pending)
    }

    pub(super) fn next_id(&self, pending: &mut Pending) -> Result<UpstreamId, CallError> {
        let why = match pending.closed {
            true => Refused::Closed,
            false => Refused::Full("too many of its calls are open"),
        };
        pending.next_id().ok_or_else(|| self.refusal(why))
    }

    /// Notes who waits for a request that has just been sent, if it could be.
    pub(super) fn sent(
        &self,
        id: UpstreamId,
        mut path: ReplyTo,
        sent: Result<u64, Refused>,
        mut pending: MutexGuard<'_, Pending>,
    ) -> Result<(), Box<Rejected>> {
        match sent {
            Ok(sent_at) => {
                if let Some(note) = &path.record {
                    note.handed();
                }
                let before = path.replay.as_ref().and_then(|again| again.deadline);
                let deadline = before.or_else(|| self.deadline());
                pending.insert(id, Entry { waiter: Waiter::Client(path), deadline, sent_at });
                Ok(())
            }
            Err(refused) => {
                drop(pending);
                path.client.take(&path.id);
                path.kept = None; // it was for this server
                Err(Rejected::new(path, self.refusal(refused)))
            }
        }
    }

    fn refusal(&self, refused: Refused) -> CallError {
        let server = self.key.to_string();
        match refused {
            Refused::Full(why) => CallError::Busy { server, why },
            Refused::Closed => CallError::ServerGone {
                server,
                what: "is no longer running".to_owned(),
                may_have_run: false,
                stderr: Vec::new(),
            },
        }
    }

    /// A request of our own whose answer nobody needs.
    pub(crate) fn mention(&self, method: &str, params: &[u8]) {
        drop(self.begin(method, params));
    }

    /// A request of our own; the answer is the whole response, or why it is no good. `None`: there
    /// will be none.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: &[u8],
    ) -> Option<Result<Vec<u8>, String>> {
        self.begin(method, params)?.1.await.ok()
    }

    /// The same; its id, and where the answer comes.
    pub(super) fn begin(&self, method: &str, params: &[u8]) -> Option<(UpstreamId, Answer)> {
        let mut touched = FlushSet::default();
        let begun = self.put_request(method, params, &mut touched);
        touched.flush();
        begun
    }

    /// The same, to be written together with others.
    pub(super) fn put_request(
        &self,
        method: &str,
        params: &[u8],
        touched: &mut FlushSet,
    ) -> Option<(UpstreamId, Answer)> {
        let (sender, receiver) = oneshot::channel();
        let stamped = (self.era() == Era::Modern).then(|| self.stamp.on(params));
        let params = stamped.as_deref().unwrap_or(params);
        let heading = Heading { method: method.as_bytes(), name: None, arguments: None };
        let mut pending = self.pending.lock();
        let id = pending.next_id()?;
        let mut message = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":").into_bytes();
        encode_into(method, &mut message);
        if !params.is_empty() {
            message.extend_from_slice(b",\"params\":");
            message.extend_from_slice(params);
        }
        message.push(b'}');
        let sent = self.line.request(id, &heading, &message, &Edits::new(), touched);
        let sent_at = sent.ok()?;
        let waiter = match method {
            "subscriptions/listen" => Waiter::Listening(sender),
            _ => Waiter::Own(sender),
        };
        pending.insert(id, Entry { waiter, deadline: None, sent_at });
        Some((id, receiver))
    }

    /// A notification of our own.
    pub(crate) fn notify(&self, message: &[u8]) {
        let mut touched = FlushSet::default();
        self.tell(message, &Edits::new(), &mut touched);
        touched.flush();
    }

    /// A notification of our own before a request that follows at once: down a pipe they are written
    /// together.
    pub(crate) fn notify_before_request(&self, message: &[u8]) {
        match self.line {
            Transport::Pipe(_) => {
                let mut touched = FlushSet::default();
                self.tell(message, &Edits::new(), &mut touched);
                touched.leave_to_next();
            }
            Transport::Post(_) => self.notify(message),
        }
    }

    /// Sends something that has no answer.
    pub(crate) fn tell(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) {
        // Under the lock: which requests were sent before it and which after it is known exactly.
        let mut pending = self.pending.lock();
        pending.note_notice();
        let is_sent = self.line.tell(bytes, edits, touched);
        drop(pending);
        if !is_sent {
            tracing::debug!(server = %self.key, "a message found its server gone");
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
            Err(Fault { kind: FaultKind::Batch, .. }) => {
                return self.receive_batch(payload.bytes(), origin, touched);
            }
            Err(fault) => return self.broken_line(payload.bytes(), *fault, origin),
        };
        if self.outfit.room.is_some() {
            self.note_time();
        }
        match message.kind {
            Kind::Answer | Kind::Refusal => {
                let (id, shape) = (upstream_id(message.id()), ResponseShape::of(message));
                let entry = id.and_then(|id| self.pending.lock().take_answered(id));
                let (Some(entry), Some(shape)) = (entry, shape) else {
                    return self.unmatched(message, origin);
                };
                match message.unreadable {
                    Some(fault) if entry.waiter.is_of_client() => {
                        self.broken.warn_unreadable(&self.key, message.bytes, fault);
                        self.fail_entry(entry, &self.broken_answer(fault), touched);
                    }
                    _ => self.settle(entry, shape, payload, touched),
                }
                self.made_room_in(touched);
            }
            Kind::Notification => self.notified(message, origin, touched),
            Kind::Request if self.is_echo(message) => self.noise(message.bytes),
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
        let Some(first) = messages.next() else { return self.noise(batch) };
        for message in std::iter::once(first).chain(messages) {
            self.receive(Payload::Borrowed(message), origin, touched);
        }
    }

    /// Has the server written back what it was sent? A request under an id of ours that is open can be
    /// nothing else.
    fn is_echo(&self, message: &Message<'_>) -> bool {
        let id = upstream_id(message.id());
        id.is_some_and(|id| self.pending.lock().get(id).is_some())
    }

    /// Gives a response to whoever waits for it.
    pub(super) fn settle(
        self: &Arc<Self>,
        entry: Entry,
        shape: ResponseShape,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        if !self.was_of_use.load(Ordering::Relaxed) && matches!(entry.waiter, Waiter::Client(_)) {
            self.was_of_use.store(true, Ordering::Relaxed);
        }
        if let Waiter::Client(path) = &entry.waiter
            && path.request_era.is_session()
            && self.era() == Era::Legacy
            && !self.has_tasks.load(Ordering::Relaxed)
        {
            return path.deliver(shape.id, payload, touched);
        }
        match entry.waiter {
            Waiter::Client(path) if self.has_tasks.load(Ordering::Relaxed) => {
                self.settle_of_tasks(path, shape, payload, touched);
            }
            Waiter::Client(path) => self.deliver_across(path, shape, payload, touched),
            Waiter::Parked(parked) => self.settle_parked(&parked, shape, payload, touched),
            // If nobody waits any more, the handshake was given up.
            Waiter::Own(sender) | Waiter::Listening(sender) => {
                drop(sender.send(Ok(payload.bytes().to_vec())));
            }
            Waiter::Fence => self.fence_passed(touched),
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
    let token = message.params.meta_progress_token.filter(|_| path.progress_token.is_some());
    for span in [message.id, token].into_iter().flatten() {
        edits.add(span, digits);
    }
    for (span, new) in changes {
        edits.add(*span, new);
    }
    edits
}

/// What Trunkline says about itself in its own requests of the stateless era.
pub(super) fn own_stamp(capabilities: &[u8]) -> Stamp {
    let info = format!(r#"{{"name":"trunkline","version":"{}"}}"#, env!("CARGO_PKG_VERSION"));
    Stamp::new(info.as_bytes(), capabilities, None)
}

pub(super) fn with_digits<T>(id: UpstreamId, use_it: impl FnOnce(&[u8]) -> T) -> T {
    Id::Number(i64::from(id)).with_token(use_it)
}
