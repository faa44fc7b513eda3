//! `SessionRequest`: a request on its way through a session, whatever era its client is of.

use std::sync::Arc;

use trunkline_wire::{Edits, FaultKind, Id, Message, MessageFault, write_result};

use crate::call::{CallRecord, Client, Payload, RequestEra, ResponseSink};
use crate::era::Era;
use crate::error::CallError;
use crate::events::Outcome;
use crate::instance;
use crate::policy::PolicyRefusal;
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::session::client_session::Session;
use crate::upstream::Server;

#[derive(Clone, Debug)]
pub(crate) struct SessionRequest<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) message: &'a Message<'a>,
    pub(crate) id: Id,
    /// Where the answer leaves.
    pub(crate) sink: &'a ResponseSink,
    pub(crate) snapshot: &'a Snapshot,
    /// The client that asks, and the era in which it does.
    pub(crate) client: &'a Arc<Client>,
    pub(crate) era: &'a RequestEra,
    /// Handles the request again after it had to wait. A field, so that this file does not know the
    /// dispatcher.
    pub(super) dispatch: fn(SessionRequest<'_>, &mut FlushSet),
    /// Its place in the line of its client, if it had to wait there before.
    pub(super) place: Option<u64>,
}

impl SessionRequest<'_> {
    /// Handles the request again if the lists have changed since the round began in which it was read: the
    /// server that it needs may have come meanwhile. False: nothing has changed.
    pub(super) fn retry_if_outdated(&self, touched: &mut FlushSet) -> bool {
        let now = self.session.context.view.snapshot();
        if std::ptr::eq(&raw const *now, self.snapshot) {
            return false;
        }
        (self.dispatch)(SessionRequest { snapshot: &now, ..self.clone() }, touched);
        true
    }

    pub(super) fn answer(&self, result: &[u8], touched: &mut FlushSet) {
        let mut out = Vec::with_capacity(result.len() + 64);
        write_result(self.message.id(), result, &mut out);
        self.sink.answer(Payload::Owned(out), &Edits::new(), touched);
    }

    pub(super) fn refuse(&self, error: &CallError, touched: &mut FlushSet) {
        let error = self.client.shown(error);
        refuse_in(self.era.era(), self.message.id(), &error, self.sink, touched);
    }

    /// Refuses a request that reaches no server, and records it.
    pub(super) fn turn_away(&self, error: &CallError, touched: &mut FlushSet) {
        self.record_without_server(None, Outcome::Refused);
        self.refuse(error, touched);
    }

    /// Records a request that policies refuse.
    pub(super) fn record_forbidden(&self, refusal: &Arc<PolicyRefusal>) {
        if let Some(sink) = &self.session.context.events {
            CallRecord::forbidden(self.message, self.client, sink, refusal);
        }
    }

    /// `about`: what the request is about, if its params do not name it.
    pub(super) fn record_without_server(&self, about: Option<&str>, outcome: Outcome) {
        if let Some(sink) = &self.session.context.events {
            CallRecord::without_server(self.message, self.client, sink, (about, outcome));
        }
    }

    /// `_meta` of our own results. `tells`: another Trunkline learns here which instances are
    /// behind this one.
    pub(super) fn own_meta(&self, tells: bool) -> Vec<u8> {
        let context = &self.session.context;
        let instances = match tells && instance::is_asked_for(self.message) {
            true => context.registry.instances(),
            false => Vec::new(),
        };
        context.gateway_info.meta(&instances)
    }
}

/// Refuses a request in the words of its era.
pub(super) fn refuse_in(
    era: Era,
    id: &[u8],
    error: &CallError,
    sink: &ResponseSink,
    touched: &mut FlushSet,
) {
    let response = Payload::Owned(error.response_in(era, id));
    sink.refuse(i64::from(error.code_in(era)), response, &Edits::new(), touched);
}

/// Refuses a message over the limit.
pub(crate) fn refuse_oversize(
    id: &[u8],
    limit: usize,
    sink: &ResponseSink,
    touched: &mut FlushSet,
) {
    refuse(id, &CallError::over_limit(limit), sink, touched);
}

/// Refuses bytes that are no message.
pub(super) fn refuse_unread(
    bytes: &[u8],
    fault: MessageFault,
    sink: &ResponseSink,
    touched: &mut FlushSet,
) {
    let error = match fault.kind {
        kind if kind.is_parse_error() => CallError::Unreadable(kind),
        FaultKind::Batch => CallError::InvalidRequest(
            "batches are part of revision 2025-03-26 only; send one message at a time".to_owned(),
        ),
        kind => CallError::InvalidRequest(kind.to_string()),
    };
    // The error carries the id of the request where one can be read.
    let id = fault.id.map(|span| span.of(bytes)).unwrap_or_default();
    let usable = matches!(id.first(), Some(b'"' | b'-' | b'0'..=b'9'));
    let twice = matches!(fault.kind, FaultKind::Duplicate("id"));
    refuse(if usable && !twice { id } else { b"null" }, &error, sink, touched);
}

/// Refuses a message that is not yet, or no longer, a request of a session.
pub(super) fn refuse(id: &[u8], error: &CallError, sink: &ResponseSink, touched: &mut FlushSet) {
    sink.answer(Payload::Owned(error.response(id)), &Edits::new(), touched);
}

pub(super) fn unknown_method(message: &Message<'_>) -> CallError {
    CallError::UnknownMethod(String::from_utf8_lossy(&message.method()).into_owned())
}

/// The error of a request whose server does not run.
pub(super) fn absent(server: &Server) -> CallError {
    CallError::ServerAbsent { server: server.key.to_string(), why: server.absence() }
}
