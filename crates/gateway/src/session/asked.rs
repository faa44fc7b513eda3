//! `SessionRequest`: a request on its way through a session, whatever era its client is of.

use std::sync::Arc;

use trunkline_wire::{Edits, FaultKind, Id, Message, MessageFault, write_result};

use crate::call::{Client, Payload, RequestEra, ResponseSink};
use crate::era::Era;
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::registry::Snapshot;

#[derive(Clone, Debug)]
pub(crate) struct SessionRequest<'a> {
    pub(crate) message: &'a Message<'a>,
    pub(crate) id: Id,
    /// Where the answer leaves.
    pub(crate) door: &'a ResponseSink,
    pub(crate) snapshot: &'a Snapshot,
    /// Whose it is, and how it asks.
    pub(crate) client: &'a Arc<Client>,
    pub(crate) manner: &'a RequestEra,
}

impl SessionRequest<'_> {
    pub(super) fn answer(&self, result: &[u8], touched: &mut FlushSet) {
        let mut out = Vec::with_capacity(result.len() + 64);
        write_result(self.message.id(), result, &mut out);
        self.door.answer(Payload::Owned(out), &Edits::new(), touched);
    }

    pub(super) fn refuse(&self, error: &CallError, touched: &mut FlushSet) {
        refuse_in(self.manner.era(), self.message.id(), error, self.door, touched);
    }
}

/// An error in answer to a request that was made in that era.
pub(super) fn refuse_in(
    era: Era,
    id: &[u8],
    error: &CallError,
    door: &ResponseSink,
    touched: &mut FlushSet,
) {
    let response = Payload::Owned(error.response_in(era, id));
    door.refuse(i64::from(error.code_in(era)), response, &Edits::new(), touched);
}

/// A message over the limit.
pub(crate) fn refuse_oversize(
    id: &[u8],
    limit: usize,
    door: &ResponseSink,
    touched: &mut FlushSet,
) {
    let why = format!("the message is over the limit of {limit} bytes (see --max-message)");
    refuse(id, &CallError::InvalidRequest(why), door, touched);
}

/// Bytes that are no message.
pub(super) fn refuse_unread(
    bytes: &[u8],
    fault: MessageFault,
    door: &ResponseSink,
    touched: &mut FlushSet,
) {
    let error = match fault.kind {
        kind if kind.is_parse_error() => CallError::Unreadable(kind),
        FaultKind::Batch => CallError::InvalidRequest(
            "batches are part of revision 2025-03-26 only; send one message at a time".to_owned(),
        ),
        kind => CallError::InvalidRequest(kind.to_string()),
    };
    // A request gets its error under its own id where that can be told.
    let id = fault.id.map(|span| span.of(bytes)).unwrap_or_default();
    let usable = matches!(id.first(), Some(b'"' | b'-' | b'0'..=b'9'));
    let twice = matches!(fault.kind, FaultKind::Duplicate("id"));
    refuse(if usable && !twice { id } else { b"null" }, &error, door, touched);
}

/// An error in answer to what is not yet, or no longer, a request of a known client.
pub(super) fn refuse(id: &[u8], error: &CallError, door: &ResponseSink, touched: &mut FlushSet) {
    door.answer(Payload::Owned(error.response(id)), &Edits::new(), touched);
}

pub(super) fn unknown_method(message: &Message<'_>) -> CallError {
    CallError::UnknownMethod(String::from_utf8_lossy(&message.method()).into_owned())
}
