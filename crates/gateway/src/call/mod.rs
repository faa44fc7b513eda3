//! What flows is a call: who asked (`Client`), where its answer leaves (`Door`), and who carries it
//! meanwhile (`Carrier`). Whoever takes a call out of its `Client` owes it its one outcome.

mod audience;
mod client;
mod door;
mod question;

use std::fmt::Debug;
use std::sync::Arc;

use trunkline_wire::{Edits, Id, Message, Span};

pub(crate) use audience::Audience;
pub(crate) use client::{Client, Ticket, Waiting};
pub(crate) use door::{Door, Exit, Nowhere, Payload};
pub(crate) use question::{Ability, Level};

use crate::error::CallError;
use crate::pump::Touched;

/// Whoever has calls under way to a server: the one side of a connection that clients know.
pub(crate) trait Carrier: Debug + Send + Sync {
    /// The client has cancelled the call with this id of ours; `message` is how it said so.
    fn cancel(&self, id: u32, message: &Message<'_>, touched: &mut Touched);
    /// Trunkline ends: the call gets an error that says whether it may have run.
    fn abandon(&self, id: u32, touched: &mut Touched);
    /// A message to the server that needs no answer: a client's answer to its question.
    fn pass(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut Touched);
}

/// The way back of one call.
#[derive(Debug)]
pub(crate) struct ReturnPath {
    pub(crate) client: Arc<Client>,
    pub(crate) id: Id,
    /// The client's progress token, as spelt, if it wants to hear of progress.
    pub(crate) progress_token: Option<Box<[u8]>>,
    pub(crate) door: Door,
}

impl ReturnPath {
    /// Delivers a server's response: the same bytes but for the id.
    pub(crate) fn deliver(&self, id_at: Span, payload: Payload<'_>, touched: &mut Touched) {
        if self.client.take(&self.id).is_none() {
            return; // it has had its outcome
        }
        let taken =
            self.id.with_token(|id| self.door.answer(payload, &Edits::one(id_at, id), touched));
        if !taken {
            tracing::debug!("an answer came after its client had gone");
        }
    }

    /// Ends the call with an error.
    pub(crate) fn fail(&self, error: &CallError, touched: &mut Touched) {
        if self.client.take(&self.id).is_some() {
            let response = self.id.with_token(|id| error.response(id));
            self.door.answer(Payload::Owned(response), &Edits::new(), touched);
        }
    }

    /// Passes progress on, under the client's own token.
    pub(crate) fn progress(&self, token_at: Span, bytes: &[u8], touched: &mut Touched) {
        if let Some(token) = &self.progress_token {
            self.door.say(bytes, &Edits::one(token_at, token), touched);
        }
    }
}
