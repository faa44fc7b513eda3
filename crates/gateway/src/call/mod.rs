//! What flows is a call: who asked (`Client`), where its answer leaves (`ResponseSink`), and who carries it
//! meanwhile (`CallOwner`). Whoever takes a call out of its `Client` owes it its one outcome.

mod audience;
mod calls;
mod client;
mod question;
mod record;
mod request_era;
mod response_sink;
mod trace;

use std::fmt::Debug;
use std::sync::Arc;

use trunkline_wire::{Edits, Id, Message, Span, write_result};

pub(crate) use audience::Audience;
pub(crate) use client::{CallHandle, Client, Presence, Waiting};
pub(crate) use question::{Ability, Level};
pub(crate) use record::{Asker, CallRecord, Observers};
pub(crate) use request_era::{Refused, RequestEra, Stateless};
pub(crate) use response_sink::{Discard, Payload, Responder, ResponseSink};

use crate::deadlines::Tick;
use crate::error::CallError;
use crate::events::Outcome;
use crate::pump::FlushSet;

/// Whoever has calls under way to a server: the one side of a connection that clients know.
pub(crate) trait CallOwner: Debug + Send + Sync {
    /// The client has cancelled the call with this id of ours.
    fn cancel(&self, id: u32, how: Cancel<'_>, touched: &mut FlushSet);
    /// Trunkline ends: the call gets an error that says whether it may have run.
    fn abandon(&self, id: u32, touched: &mut FlushSet);
    /// A message to the server that needs no answer: a client's answer to its question.
    fn pass(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet);
    /// Do calls only wait here, for a server or for a turn?
    fn is_waiting_room(&self) -> bool {
        false
    }
}

/// How a client has cancelled a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cancel<'a> {
    /// By saying so.
    Said(&'a Message<'a>),
    /// By not waiting any more.
    Left,
    /// It has not: it may not be here any more, and still waits.
    TurnedOut,
    /// By ending its session: it still waits for the answers to its requests.
    SessionEnded,
}

/// The way back of one call.
#[derive(Debug)]
pub(crate) struct ReplyTo {
    pub(crate) client: Arc<Client>,
    pub(crate) id: Id,
    /// The client's progress token, as spelt, if it wants to hear of progress.
    pub(crate) progress_token: Option<Box<[u8]>>,
    pub(crate) sink: ResponseSink,
    pub(crate) request_era: RequestEra,
    pub(crate) refused: Refused,
    /// The request as the server got it, where it may have to be made again or be recognised.
    pub(crate) kept: Option<Box<[u8]>>,
    /// How often its server has asked something.
    pub(crate) rounds: u8,
    /// What is needed to hand the call over again, where its server is expected back when it goes.
    pub(crate) replay: Option<Box<Replay>>,
    /// What is told at its end, where somebody is told.
    pub(crate) record: Option<Arc<CallRecord>>,
    /// It asks for a list of tasks, and is to be shown its client's own.
    pub(crate) lists_tasks: bool,
}

/// A request that can be handed over again.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    /// As the client wrote it, with the server's own name for what it is about.
    pub(crate) request: Box<[u8]>,
    /// When it is late, however often it is handed over.
    pub(crate) deadline: Option<Tick>,
    /// How often it was with a server that went: it may have run.
    pub(crate) cut_off: u8,
}

impl ReplyTo {
    /// Delivers a server's response: the same bytes but for the id.
    pub(crate) fn deliver(&self, id_at: Span, payload: Payload<'_>, touched: &mut FlushSet) {
        if self.client.take(&self.id).is_none() {
            return; // it has had its outcome
        }
        if let Some(note) = &self.record {
            note.answered(payload.bytes());
        }
        let taken =
            self.id.with_token(|id| self.sink.answer(payload, &Edits::one(id_at, id), touched));
        if !taken {
            tracing::debug!("an answer came after its client had gone");
        }
    }

    /// The same with more changes, if it is an error: with this code.
    pub(crate) fn deliver_edited(
        &self,
        code: Option<i64>,
        id_at: Span,
        payload: Payload<'_>,
        changes: &[(Span, &[u8])],
        touched: &mut FlushSet,
    ) {
        if self.client.take(&self.id).is_none() {
            return;
        }
        if let Some(note) = &self.record {
            note.answered(payload.bytes());
        }
        self.id.with_token(|id| {
            let mut edits = Edits::one(id_at, id);
            for (span, new) in changes {
                edits.add(*span, new);
            }
            match code {
                Some(code) => self.sink.refuse(code, payload, &edits, touched),
                None => self.sink.answer(payload, &edits, touched),
            }
        });
    }

    /// Ends the call with a result of our own.
    pub(crate) fn complete(&self, result: &[u8], touched: &mut FlushSet) {
        if self.client.take(&self.id).is_some() {
            self.answer(result, touched);
        }
    }

    /// Answers a request that is not open.
    pub(crate) fn answer(&self, result: &[u8], touched: &mut FlushSet) {
        self.noted(Outcome::Asked); // nothing else is answered here
        let mut out = Vec::with_capacity(result.len() + 64);
        self.id.with_token(|id| write_result(id, result, &mut out));
        self.sink.answer(Payload::Owned(out), &Edits::new(), touched);
    }

    /// Ends the call with an error.
    pub(crate) fn fail(&self, error: &CallError, touched: &mut FlushSet) {
        if self.client.take(&self.id).is_some() {
            self.fail_taken(error, touched);
        }
    }

    /// The same, if it has been taken out of its client already.
    pub(crate) fn fail_taken(&self, error: &CallError, touched: &mut FlushSet) {
        if let Some(note) = &self.record {
            note.failed(error);
        }
        let era = self.request_era.era();
        let response = self.id.with_token(|id| error.response_in(era, id));
        let code = i64::from(error.code_in(era));
        self.sink.refuse(code, Payload::Owned(response), &Edits::new(), touched);
    }

    /// The call was cancelled and has been taken out of its client. That has no answer, as the
    /// protocol asks, but for a client that did not cancel this very call.
    pub(crate) fn cancelled(&self, how: Cancel<'_>, may_have_run: bool, touched: &mut FlushSet) {
        self.noted(Outcome::Cancelled);
        if matches!(how, Cancel::SessionEnded) {
            let (era, error) = (self.request_era.era(), CallError::SessionEnded { may_have_run });
            let response = Payload::Owned(self.id.with_token(|id| error.response_in(era, id)));
            let code = i64::from(error.code_in(era));
            self.sink.refuse(code, response, &Edits::new(), touched);
            return;
        }
        if matches!(how, Cancel::TurnedOut) {
            let era = self.request_era.era();
            let response = self.id.with_token(|id| CallError::TurnedOut.response_in(era, id));
            self.sink.say(&response, &Edits::new(), touched);
        }
        self.sink.unanswered(touched);
    }

    /// The call has ended without an answer.
    pub(crate) fn noted(&self, outcome: Outcome) {
        if let Some(note) = &self.record {
            note.ended(outcome, 0);
        }
    }

    /// Who asks, for whoever is told.
    pub(crate) fn asker(&self) -> Asker<'_> {
        Asker { client: &self.client, manner: &self.request_era, door: &self.sink }
    }

    /// May it have run on a server that went?
    pub(crate) fn has_run(&self) -> bool {
        self.replay.as_ref().is_some_and(|again| again.cut_off > 0)
    }

    /// The same way back for a call that has not been sent yet.
    pub(crate) fn unsent(&self) -> Self {
        Self {
            client: Arc::clone(&self.client),
            id: self.id.clone(),
            progress_token: self.progress_token.clone(),
            sink: self.sink.clone(),
            request_era: self.request_era.clone(),
            refused: Refused::default(),
            kept: None,
            rounds: 0,
            replay: self.replay.clone(),
            record: self.record.clone(),
            lists_tasks: self.lists_tasks,
        }
    }

    /// Passes progress on, under the client's own token.
    pub(crate) fn progress(&self, token_at: Span, bytes: &[u8], touched: &mut FlushSet) {
        if let Some(token) = &self.progress_token {
            self.sink.say(bytes, &Edits::one(token_at, token), touched);
        }
    }
}
