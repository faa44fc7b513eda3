//! One live connection to a server: hands calls over, matches answers, keeps deadlines.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use trunkline_wire::{
    Edits, Fault, FaultKind, Id, Kind, Message, Span, elements, encode_into, scan, upstream_id,
};

use crate::call::{Payload, ReturnPath, Ticket};
use crate::deadlines::{Deadlines, Tick};
use crate::error::CallError;
use crate::limits::Limits;
use crate::pump::{Outbox, Refused, Touched};
use crate::upstream::broken::BrokenLines;
use crate::upstream::pending::{Entry, Pending, UpstreamId, Waiter};

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) server: usize,
    pub(crate) key: Arc<str>,
    pub(crate) limits: Limits,
    pub(crate) outbox: Outbox,
    pub(crate) pending: Mutex<Pending>,
    pub(crate) broken: BrokenLines,
    /// The server said that its tools have changed.
    pub(crate) tools_changed: Notify,
    deadlines: Arc<Deadlines>,
}

impl Connection {
    pub(crate) fn new(
        server: usize,
        key: Arc<str>,
        limits: Limits,
        broken: BrokenLines,
        deadlines: Arc<Deadlines>,
    ) -> Self {
        Self {
            server,
            key,
            limits,
            outbox: Outbox::default(),
            pending: Mutex::new(Pending::new()),
            broken,
            tools_changed: Notify::new(),
            deadlines,
        }
    }

    /// Passes a client's `tools/call` on under the tool's own name. Every other byte is the client's.
    /// To be flushed.
    pub(crate) fn submit(
        &self,
        message: &Message<'_>,
        name_token: &[u8],
        path: ReturnPath,
    ) -> Result<(), CallError> {
        let mut pending = self.pending.lock();
        let Some(id) = pending.next_id() else {
            return Err(self.refusal(Refused::Full("too many of its calls are open")));
        };
        // Everything under the lock: an answer or the server's end can only come afterwards.
        if !path.client.open(&path.id, Ticket::Sent { server: self.server, id }) {
            return Err(CallError::duplicate_id());
        }
        let sent_at = with_digits(id, |digits| {
            let mut edits = Edits::new();
            let token = message.params.meta_progress_token;
            let token = token.filter(|_| path.progress_token.is_some());
            for span in [message.id, token].into_iter().flatten() {
                edits.add(span, digits);
            }
            if let Some(span) = message.params.name {
                edits.add(span, name_token);
            }
            self.outbox.put_bounded(message.bytes, &edits)
        });
        match sent_at {
            Ok(sent_at) => {
                let deadline = self.deadlines.for_call();
                pending.insert(id, Entry { waiter: Waiter::Client(path), deadline, sent_at });
                Ok(())
            }
            Err(refused) => {
                drop(pending);
                path.client.take(&path.id);
                Err(self.refusal(refused))
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

    /// A request of our own; the answer is the whole response, or why it is no good. `None`: there
    /// will be none.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: &[u8],
    ) -> Option<Result<Vec<u8>, String>> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut pending = self.pending.lock();
            let id = pending.next_id()?;
            let mut message = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":").into_bytes();
            encode_into(method, &mut message);
            if !params.is_empty() {
                message.extend_from_slice(b",\"params\":");
                message.extend_from_slice(params);
            }
            message.push(b'}');
            let sent_at = self.outbox.put(&message, &Edits::new()).ok()?;
            self.outbox.flush();
            pending.insert(id, Entry { waiter: Waiter::Own(sender), deadline: None, sent_at });
        }
        receiver.await.ok()
    }

    pub(crate) fn notify(&self, message: &[u8]) {
        if self.outbox.send(message).is_err() {
            tracing::debug!(server = %self.key, "a message found its server gone");
        }
    }

    /// Passes a client's cancellation on. `message` is its `notifications/cancelled`.
    pub(crate) fn cancel(&self, id: UpstreamId, message: &Message<'_>) {
        if self.pending.lock().remove(id).is_none() {
            return;
        }
        let Some(span) = message.params.request_id else {
            return;
        };
        let put =
            with_digits(id, |digits| self.outbox.put(message.bytes, &Edits::one(span, digits)));
        if put.is_err() {
            tracing::debug!(server = %self.key, "a cancellation found its server gone");
        }
        self.outbox.flush();
    }

    /// One message from the server. Where it goes on to is noted in `touched`.
    pub(crate) fn receive(&self, payload: Payload<'_>, touched: &mut Touched) {
        let message = match scan(payload.bytes()) {
            Ok(message) => message,
            Err(Fault { kind: FaultKind::Batch, .. }) => {
                return self.receive_batch(payload.bytes(), touched);
            }
            Err(fault) => return self.broken_line(payload.bytes(), fault),
        };
        match message.kind {
            Kind::Answer | Kind::Refusal => {
                let (id, id_at) = (upstream_id(message.id()), message.id);
                let entry = id.and_then(|id| self.pending.lock().remove(id));
                let entry = entry.or_else(|| self.owner_of_null(&message));
                let (Some(entry), Some(id_at)) = (entry, id_at) else {
                    tracing::debug!(server = %self.key, "an answer nobody waits for is dropped");
                    return;
                };
                settle(entry, id_at, payload, touched);
            }
            Kind::Notification => self.notified(&message, touched),
            Kind::Request => self.answer_request(&message),
        }
    }

    /// Revision 2025-03-26 lets a server answer in batches. What is no message in it is noise.
    fn receive_batch(&self, batch: &[u8], touched: &mut Touched) {
        let mut messages =
            elements(batch).map(|at| at.of(batch)).filter(|one| one.starts_with(b"{"));
        let Some(first) = messages.next() else { return self.noise(batch) };
        for message in std::iter::once(first).chain(messages) {
            self.receive(Payload::Borrowed(message), touched);
        }
    }

    /// A server that could not read a request answers with an error and `"id":null`. It is the
    /// only open call's, if there is only one.
    fn owner_of_null(&self, message: &Message<'_>) -> Option<Entry> {
        if message.id() != b"null" {
            return None;
        }
        let mut pending = self.pending.lock();
        let id = pending.only()?;
        pending.remove(id)
    }

    fn notified(&self, message: &Message<'_>, touched: &mut Touched) {
        match &*message.method() {
            b"notifications/progress" => self.progressed(message, touched),
            b"notifications/tools/list_changed" => self.tools_changed.notify_one(),
            _ => {}
        }
    }

    /// Passes progress on to the call it belongs to, under the client's own token.
    fn progressed(&self, message: &Message<'_>, touched: &mut Touched) {
        let Some(span) = message.params.progress_token else { return };
        let Some(id) = upstream_id(span.of(message.bytes)) else { return };
        let pending = self.pending.lock();
        if let Some(Entry { waiter: Waiter::Client(path), .. }) = pending.get(id)
            && let Some(token) = &path.progress_token
            && path.client.outbox.put(message.bytes, &Edits::one(span, token)).is_ok()
        {
            touched.note(&path.client.outbox);
        }
    }

    /// Trunkline declares no client capabilities to its servers, so only `ping` has an answer.
    fn answer_request(&self, message: &Message<'_>) {
        let mut out = Vec::new();
        if *message.method() == *b"ping" {
            trunkline_wire::write_result(message.id(), b"{}", &mut out);
        } else {
            let method = String::from_utf8_lossy(&message.method()).into_owned();
            out = CallError::UnknownMethod(method).response(message.id());
        }
        self.notify(&out);
    }

    /// Ends a call with an error, if it is still open. True if it was.
    pub(crate) fn fail(&self, id: UpstreamId, error: &CallError) -> bool {
        let entry = self.pending.lock().remove(id);
        match entry {
            Some(Entry { waiter: Waiter::Client(path), .. }) => {
                path.client.fail(&path.id, error);
                true
            }
            Some(Entry { waiter: Waiter::Own(sender), .. }) => {
                drop(sender.send(Err(error.to_string())));
                true
            }
            None => false,
        }
    }

    /// The connection is over: every open call ends, each knowing whether it may have run.
    pub(crate) fn close(&self, what: &str, stderr: &[String]) {
        let written = self.outbox.written();
        self.outbox.close();
        let entries = self.pending.lock().drain();
        for entry in entries {
            if let Waiter::Client(path) = entry.waiter {
                path.client.fail(
                    &path.id,
                    &CallError::ServerGone {
                        server: self.key.to_string(),
                        what: what.to_owned(),
                        may_have_run: entry.sent_at <= written,
                        stderr: stderr.to_vec(),
                    },
                );
            }
        }
    }

    /// Ends the calls that are late and tells the server. True if any call is left open.
    pub(crate) fn expire(&self, now: Tick) -> bool {
        let expired = self.pending.lock().expired(now);
        let after = self.limits.call.unwrap_or_default();
        for id in expired {
            let error = CallError::Timeout { server: self.key.to_string(), after };
            if self.fail(id, &error) {
                let cancelled = format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":\
                     {{\"requestId\":{id},\"reason\":\"timed out\"}}}}"
                );
                self.notify(cancelled.as_bytes());
            }
        }
        self.pending.lock().len() > 0
    }
}

/// Gives a response to whoever waits for it.
fn settle(entry: Entry, id_at: Span, payload: Payload<'_>, touched: &mut Touched) {
    match entry.waiter {
        Waiter::Client(path) => {
            path.client.deliver(&path.id, id_at, payload);
            touched.note(&path.client.outbox);
        }
        // If nobody waits any more, the handshake was given up.
        Waiter::Own(sender) => drop(sender.send(Ok(payload.bytes().to_vec()))),
    }
}

fn with_digits<T>(id: UpstreamId, use_it: impl FnOnce(&[u8]) -> T) -> T {
    Id::Number(i64::from(id)).with_token(use_it)
}
