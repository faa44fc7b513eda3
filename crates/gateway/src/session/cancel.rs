//! Ways in which open calls end before their answer: cancelled, left, revoked, or abandoned.

use trunkline_wire::{Edits, Id, Message};

use crate::call::{CallHandle, Cancel, Client};
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::session::request::refuse;

/// `notifications/cancelled`. An id that is not open is no error: the answer may be on its way. A
/// cancelled call gets no answer (2025-11-25, Cancellation, Behavior requirements).
pub(super) fn cancelled(client: &Client, message: &Message<'_>, touched: &mut FlushSet) {
    if let Some(span) = message.params.request_id {
        let id = Id::new(span.of(message.bytes));
        cancel(client, &id, Cancel::Said(message), touched);
    }
}

/// The client has left without waiting for this request.
pub(crate) fn leave(client: &Client, id: &Id, touched: &mut FlushSet) {
    cancel(client, id, Cancel::Left, touched);
}

/// The client has left for good, without waiting for any of its requests.
pub(crate) fn leave_all(client: &Client, touched: &mut FlushSet) {
    for id in open_calls(client) {
        cancel(client, &id, Cancel::Left, touched);
    }
}

/// The client's pass was revoked: its open calls end with an error that says so.
pub(crate) fn revoke_calls(client: &Client, touched: &mut FlushSet) {
    for (id, _) in client.open_calls() {
        cancel(client, &id, Cancel::TurnedOut, touched);
    }
}

/// The client has ended its session: each request that is open gets an error that says whether it may
/// have run, and its server is told.
pub(crate) fn end_calls(client: &Client, touched: &mut FlushSet) {
    for id in open_calls(client) {
        cancel(client, &id, Cancel::SessionEnded, touched);
    }
}

/// Waiting calls come first: else the end of a sent one would send the next of them.
fn open_calls(client: &Client) -> Vec<Id> {
    let waits = |handle: &CallHandle| match handle {
        CallHandle::Sent { owner, .. } => owner.is_wait_queue(),
        CallHandle::Waiting(_) => true,
    };
    let (waiting, sent): (Vec<_>, Vec<_>) =
        client.open_calls().into_iter().partition(|(_, handle)| waits(handle));
    waiting.into_iter().chain(sent).map(|(id, _)| id).collect()
}

fn cancel(client: &Client, id: &Id, how: Cancel<'_>, touched: &mut FlushSet) {
    match client.take(id) {
        Some(CallHandle::Sent { owner, id }) => owner.cancel(id, how, touched),
        Some(CallHandle::Waiting(waiting)) => {
            waiting.cancelled.cancel();
            match how {
                Cancel::SessionEnded => {
                    let error = CallError::SessionEnded { may_have_run: false };
                    return id.with_token(|id| refuse(id, &error, &waiting.sink, touched));
                }
                Cancel::TurnedOut => {
                    let response = id.with_token(|id| CallError::TurnedOut.response(id));
                    waiting.sink.say(&response, &Edits::new(), touched);
                }
                Cancel::Said(_) | Cancel::Left => {}
            }
            waiting.sink.unanswered(touched);
        }
        None => {}
    }
}

/// Ends every open call of a client with an error: the gateway goes.
pub(crate) fn abandon(client: &Client) {
    let mut touched = FlushSet::default();
    abandon_unflushed(client, &mut touched);
    touched.flush();
}

/// Ends every open call of a client with an error, which is written when `touched` is flushed.
pub(crate) fn abandon_unflushed(client: &Client, touched: &mut FlushSet) {
    for (id, handle) in client.open_calls() {
        match handle {
            CallHandle::Sent { owner, id } => owner.abandon(id, touched),
            CallHandle::Waiting(waiting) => {
                if client.take(&id).is_some() {
                    waiting.cancelled.cancel();
                    let error = CallError::ShuttingDown { may_have_run: false };
                    id.with_token(|id| refuse(id, &error, &waiting.sink, touched));
                }
            }
        }
    }
}
