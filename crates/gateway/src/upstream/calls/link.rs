//! `Link`: the transport to one server and the calls that are open on it: ids, deadlines, and how calls end
//! without an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use trunkline_wire::{Edits, FaultKind, Message, encode_into, upstream_id, write_result};

use crate::call::{Ability, Rejected, ReplyTo};
use crate::deadlines::{Deadlines, Tick};
use crate::era::{Era, InputRequest, Stamp};
use crate::error::CallError;
use crate::identity::Identity;
use crate::limits::Limits;
use crate::lock::{Mutex, MutexGuard, rank};
use crate::pump::{FlushSet, Refused};
use crate::upstream::calls::pending::{Entry, Pending, Waiter};
use crate::upstream::questions::attribution::Caller;
use crate::upstream::questions::parked::Parked;
use crate::upstream::transport::{Answer, Heading, Transport, UpstreamId};

#[derive(Debug)]
pub(crate) struct Link {
    // What every call needs stands together: the rest of a connection need not be fetched for that.
    pub(crate) transport: Arc<dyn Transport>,
    pub(in crate::upstream) deadlines: Arc<Deadlines>,
    // Held while a request is put into the transport and opened in its client: an answer, a
    // cancellation or the server's end can only come afterwards. So the client's and the
    // transport's locks rank below it, and a transport must not call back.
    pub(in crate::upstream) pending: Mutex<Pending, rank::OpenCalls>,
    pub(crate) key: Identity,
    pub(crate) limits: Limits,
    /// The timeout of calls to this server, if it has one of its own.
    pub(in crate::upstream) timeout: Option<Duration>,
    /// The literal simple product: tools only, and clients are asked nothing.
    pub(in crate::upstream) simple: bool,
    /// The handshake has found it to be of the stateless era.
    // Relaxed where it is used: the handshake sets it before the connection is published to
    // clients, which a lock does.
    modern: AtomicBool,
    /// `_meta` of our own requests to it.
    stamp: Stamp,
}

impl Link {
    pub(in crate::upstream) fn new(
        key: Identity,
        transport: Arc<dyn Transport>,
        limits: Limits,
        (deadlines, timeout): (Arc<Deadlines>, Option<Duration>),
        simple: bool,
    ) -> Self {
        // The clock ticks as often as the shortest timeout needs.
        if let Some(timeout) = timeout {
            deadlines.expect(timeout);
        }
        Self {
            transport,
            deadlines,
            pending: Mutex::new(Pending::new()),
            key,
            limits,
            timeout,
            simple,
            modern: AtomicBool::new(false),
            stamp: own_stamp(b"{}"),
        }
    }

    /// The era in which the server is spoken to.
    pub(crate) fn era(&self) -> Era {
        if self.modern.load(Ordering::Relaxed) { Era::Modern } else { Era::Legacy }
    }

    /// Set once, by the handshake.
    pub(crate) fn set_era(&self, era: Era) {
        self.modern.store(era == Era::Modern, Ordering::Relaxed);
    }

    /// Is no client's call with the server, and has none just been?
    pub(crate) fn is_free(&self) -> bool {
        let pending = self.pending.lock();
        let is_call = |waiter: &Waiter| matches!(waiter, Waiter::Client(_) | Waiter::Parked(_));
        pending.cancelled.is_empty() && !pending.iter().any(|(_, waiter)| is_call(waiter))
    }

    pub(in crate::upstream) fn next_id(
        &self,
        pending: &mut Pending,
    ) -> Result<UpstreamId, CallError> {
        let why = match pending.closed {
            true => Refused::Closed,
            false => Refused::Full("too many of its calls are open"),
        };
        pending.next_id().ok_or_else(|| self.refusal(why))
    }

    /// Records a request that has just been sent with its `ReplyTo`, or gives the call back if it could
    /// not be sent.
    pub(in crate::upstream) fn sent(
        &self,
        id: UpstreamId,
        mut reply: ReplyTo,
        sent: Result<u64, Refused>,
        mut pending: MutexGuard<'_, Pending>,
    ) -> Result<(), Box<Rejected>> {
        match sent {
            Ok(sent_at) => {
                if let Some(record) = &reply.record {
                    record.handed();
                }
                // A call that is made again keeps its first deadline: its client has waited since
                // then.
                let before = reply.replay.as_ref().and_then(|again| again.deadline);
                let deadline = before.or_else(|| self.deadline());
                pending.insert(id, Entry { waiter: Waiter::Client(reply), deadline, sent_at });
                Ok(())
            }
            Err(refused) => {
                // It never was with the server: taken out of its client, it is the caller's to
                // answer.
                drop(pending);
                reply.client.take(&reply.id);
                if reply.request_era.is_session() {
                    reply.kept = None; // it was for this server
                }
                Err(Rejected::new(reply, self.refusal(refused)))
            }
        }
    }

    pub(in crate::upstream) fn refusal(&self, refused: Refused) -> CallError {
        let server = self.key.to_string();
        match refused {
            Refused::Full(why) => CallError::Busy { server, why },
            Refused::Closed => CallError::ServerGone {
                server,
                what: "is no longer running".into(),
                may_have_run: false,
                stderr: Vec::new(),
            },
        }
    }

    /// Sends a request of our own and ignores the answer.
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

    /// Sends a request of our own: its id, and where the answer comes.
    pub(in crate::upstream) fn begin(
        &self,
        method: &str,
        params: &[u8],
    ) -> Option<(UpstreamId, Answer)> {
        let mut touched = FlushSet::default();
        let begun = self.put_request(method, params, &mut touched);
        touched.flush();
        begun
    }

    /// Puts a request of our own, to be flushed together with others.
    pub(in crate::upstream) fn put_request(
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
        let sent = self.transport.send(Some((id, &heading)), &message, &Edits::new(), touched);
        let sent_at = sent.ok()?;
        let waiter = match method {
            // Kept apart: it stays open beside the calls and must not count as one of them.
            "subscriptions/listen" => Waiter::Listening(sender),
            _ => Waiter::Own(sender),
        };
        pending.insert(id, Entry { waiter, deadline: None, sent_at });
        Some((id, receiver))
    }

    /// A notification of our own before a request that follows at once: down a pipe they are written
    /// together.
    pub(crate) fn notify_before_request(&self, message: &[u8]) {
        let mut touched = FlushSet::default();
        self.tell(message, &Edits::new(), &mut touched);
        match self.transport.is_pipe() {
            true => touched.leave_to_next(),
            false => drop(touched.flush()),
        }
    }

    /// Sends something that has no answer.
    pub(crate) fn tell(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) {
        // Under the lock: which requests were sent before it and which after it is known exactly.
        let mut pending = self.pending.lock();
        pending.note_notice();
        let is_sent = self.transport.send(None, bytes, edits, touched).is_ok();
        drop(pending);
        if !is_sent {
            tracing::debug!(server = %self.key, "a message found its server gone");
        }
    }

    /// Ends a call with an error, if it is still open. True if it was.
    pub(crate) fn fail(&self, id: UpstreamId, error: &CallError) -> bool {
        let mut touched = FlushSet::default();
        let failed = self.fail_into(id, error, &mut touched);
        touched.flush();
        failed
    }

    pub(crate) fn fail_into(
        &self,
        id: UpstreamId,
        error: &CallError,
        touched: &mut FlushSet,
    ) -> bool {
        // The lock is released before the client is answered: a slow sink must not hold up other
        // calls.
        let entry = self.pending.lock().remove(id);
        entry.is_some_and(|entry| self.fail_entry(entry, error, touched))
    }

    /// Ends an entry that was taken out with an error. False if it was a fence, for which no caller waits.
    pub(in crate::upstream) fn fail_entry(
        &self,
        entry: Entry,
        error: &CallError,
        touched: &mut FlushSet,
    ) -> bool {
        match entry.waiter {
            Waiter::Client(reply) => reply.fail(error, touched),
            Waiter::Own(sender) | Waiter::Listening(sender) => {
                drop(sender.send(Err(error.to_string())));
            }
            Waiter::Parked(parked) => parked.fail(error, touched),
            Waiter::Fence => {
                self.fence_passed(touched);
                return false;
            }
        }
        true
    }

    /// Tells the server that a request is not wanted any more.
    pub(in crate::upstream) fn call_off(
        &self,
        id: UpstreamId,
        reason: &str,
        touched: &mut FlushSet,
    ) {
        if self.sends_cancellations() {
            let cancelled = format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":\
                 {{\"requestId\":{id},\"reason\":\"{reason}\"}}}}"
            );
            self.tell(cancelled.as_bytes(), &Edits::new(), touched);
        }
        self.transport.forget(id);
    }

    /// Is `notifications/cancelled` sent to this server?
    pub(in crate::upstream) fn sends_cancellations(&self) -> bool {
        // Over HTTP in the stateless era, closing the response cancels the request: no notification
        // is sent.
        self.era() == Era::Legacy || self.transport.is_pipe()
    }

    pub(in crate::upstream) fn who_called(&self, id: UpstreamId) -> Option<Caller> {
        match self.pending.lock().get(id) {
            Some(Entry { waiter: Waiter::Client(reply), .. }) => {
                Some(Caller::of(&reply.client, &reply.request_era))
            }
            _ => None,
        }
    }

    /// The server has just been told that a call of this caller is cancelled.
    pub(in crate::upstream) fn gave_up(&self, who: Caller, touched: &mut FlushSet) {
        if self.simple || self.era() == Era::Modern || self.transport.ties_questions_to_calls() {
            return; // nobody is asked anything, or it is always clear who is
        }
        let mut pending = self.pending.lock();
        if pending.cancelled.add(who) {
            self.send_fence(&mut pending, touched);
        }
    }

    pub(in crate::upstream) fn fence_passed(&self, touched: &mut FlushSet) {
        let mut pending = self.pending.lock();
        if pending.cancelled.passed() {
            self.send_fence(&mut pending, touched);
        }
    }

    pub(in crate::upstream) fn send_fence(&self, pending: &mut Pending, touched: &mut FlushSet) {
        let fence = pending.next_id().and_then(|id| {
            let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let heading = Heading { method: b"ping", name: None, arguments: None };
            let request = Some((id, &heading));
            let sent = self.transport.send(request, ping.as_bytes(), &Edits::new(), touched);
            let (waiter, deadline) = (Waiter::Fence, self.deadlines.for_call());
            pending.insert(id, Entry { waiter, deadline, sent_at: sent.ok()? });
            Some(id)
        });
        pending.cancelled.sent(fence);
    }

    pub(in crate::upstream) fn is_closed(&self) -> bool {
        self.pending.lock().closed
    }

    /// Calls of clients that are with the server.
    pub(crate) fn open_calls(&self) -> usize {
        let pending = self.pending.lock();
        let is_call = |waiter: &Waiter| matches!(waiter, Waiter::Client(_) | Waiter::Parked(_));
        pending.iter().filter(|(_, waiter)| is_call(waiter)).count()
    }

    /// When a call that starts now is late.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        match self.timeout {
            None => self.deadlines.for_call(),
            Some(timeout) => Some(self.deadlines.within(timeout)),
        }
    }

    /// May a client that can do this be asked what the server asks for in its result?
    pub(in crate::upstream) fn check_asked(
        &self,
        asked: &[InputRequest],
        can: impl Fn(Ability) -> bool,
    ) -> Result<(), CallError> {
        let mut missing = Vec::new();
        for InputRequest { method, params, .. } in asked {
            let Some(ability) = Ability::needed_for(method.as_bytes(), params) else {
                return Err(self.senseless("asks for what no client can be asked for"));
            };
            if !can(ability) && !missing.contains(&ability.declaration()) {
                missing.push(ability.declaration());
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(CallError::MissingCapability(missing)) }
    }

    /// The error of a call whose answer makes no sense.
    pub(in crate::upstream) fn senseless(&self, what: &str) -> CallError {
        let (server, what) = (self.key.to_string(), what.into());
        CallError::ServerGone { server, what, may_have_run: true, stderr: Vec::new() }
    }

    /// With one call open, a broken line can only be its answer.
    pub(in crate::upstream) fn fail_only(&self, error: &CallError) -> bool {
        let only = self.pending.lock().only();
        only.is_some_and(|id| self.fail(id, error))
    }

    pub(in crate::upstream) fn broken_answer(&self, fault: FaultKind) -> CallError {
        CallError::BrokenAnswer { server: self.key.to_string(), fault }
    }

    pub(in crate::upstream) fn too_large(&self) -> CallError {
        CallError::TooLarge { server: self.key.to_string(), limit: self.limits.message }
    }

    /// The only call that is with the server, if it waits for its client.
    pub(in crate::upstream) fn only_waiting(&self) -> Option<Arc<Parked>> {
        let pending = self.pending.lock();
        let mut calls = pending.iter().filter_map(|(_, waiter)| match waiter {
            Waiter::Client(_) => Some(None),
            Waiter::Parked(parked) => Some(Some(parked)),
            Waiter::Own(_) | Waiter::Listening(_) | Waiter::Fence => None,
        });
        let only = calls.next().filter(|_| calls.next().is_none())??;
        (!only.is_being_asked()).then(|| Arc::clone(only))
    }

    /// A client's answer to a question the server asked under this id of its own.
    pub(in crate::upstream) fn answer_question(
        &self,
        id: &[u8],
        answer: &[u8],
        touched: &mut FlushSet,
    ) {
        let mut response = Vec::new();
        write_result(id, answer, &mut response);
        self.tell(&response, &Edits::new(), touched);
    }

    /// What a call is told that is not sent because the server fails its health checks.
    pub(in crate::upstream) fn failing(&self) -> CallError {
        let server = self.key.to_string();
        let why = format!(
            "server `{server}` fails its health checks: it gets no calls until it passes one or is \
             replaced"
        );
        CallError::ServerAbsent { server, why: why.into() }
    }

    /// Does anybody wait for the answer to this request?
    pub(in crate::upstream) fn is_open(&self, id: UpstreamId) -> bool {
        self.pending.lock().get(id).is_some()
    }

    /// Has the server written back what it was sent? A request under an id of ours that is open can be
    /// nothing else.
    pub(in crate::upstream) fn is_echo(&self, message: &Message<'_>) -> bool {
        let id = upstream_id(message.id());
        id.is_some_and(|id| self.is_open(id))
    }

    /// Passes progress on to the call it belongs to.
    pub(in crate::upstream) fn progressed(&self, message: &Message<'_>, touched: &mut FlushSet) {
        let Some(span) = message.params.progress_token else { return };
        let Some(id) = upstream_id(span.of(message.bytes)) else { return };
        if let Some(Entry { waiter: Waiter::Client(reply), .. }) = self.pending.lock().get(id) {
            reply.progress(span, message.bytes, touched);
        }
    }
}

/// What Trunkline says about itself in its own requests of the stateless era.
pub(in crate::upstream) fn own_stamp(capabilities: &[u8]) -> Stamp {
    let info = format!(r#"{{"name":"trunkline","version":"{}"}}"#, env!("CARGO_PKG_VERSION"));
    Stamp::new(info.as_bytes(), capabilities, None)
}
