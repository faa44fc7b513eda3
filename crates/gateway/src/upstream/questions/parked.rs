//! One call of a stateless client that waits for its client: what is asked, and what came of it.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use trunkline_wire::{Edits, Message, write_error};

use crate::call::{CallHandle, CallOwner, Client, Payload, Rejected, ReplyTo, Stateless};
use crate::era::{self, InputRequest};
use crate::error::{CallError, NOT_ANSWERED};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::upstream::calls::crossing::Shape;
use crate::upstream::calls::pending::{Entry, UpstreamId, Waiter};
use crate::upstream::connection::Connection;

/// One call that waits for its client.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(in crate::upstream) handle: u64,
    pub(in crate::upstream) connection: Weak<Connection>,
    pub(in crate::upstream) id: UpstreamId,
    pub(in crate::upstream) how: Arc<Stateless>,
    pub(in crate::upstream) client: Arc<Client>,
    pub(in crate::upstream) method: Box<[u8]>,
    pub(in crate::upstream) digest: [u8; 32],
    // Above the open calls: whether it still waits is decided with both held.
    pub(in crate::upstream) state: Mutex<State, rank::ParkedCall>,
    /// When its client was told what is asked, in milliseconds since the gateway began; 0: not yet.
    /// What is asked later is told it another time.
    pub(in crate::upstream) told: AtomicU64,
}

#[derive(Debug, Default)]
pub(in crate::upstream) struct State {
    pub(in crate::upstream) questions: Vec<Question>,
    pub(in crate::upstream) asked: usize,
    /// The client's request, until it is told what is asked.
    pub(in crate::upstream) waiting: Option<ReplyTo>,
    /// The server has answered although it was not.
    pub(in crate::upstream) outcome: Option<Outcome>,
}

#[derive(Debug)]
pub(in crate::upstream) struct Question {
    /// The server's id for it, as spelt.
    pub(in crate::upstream) id: Box<[u8]>,
    pub(in crate::upstream) request: InputRequest,
}

#[derive(Debug)]
pub(in crate::upstream) enum Outcome {
    Response(Shape, Vec<u8>),
    Failure(CallError),
}

pub(in crate::upstream) fn gone(why: &str) -> CallError {
    CallError::BadState(why.to_owned())
}

impl Parked {
    /// What its seal is bound to.
    pub(in crate::upstream) fn bound(&self) -> [&[u8]; 3] {
        [&self.how.principal, &self.method, &self.digest]
    }

    /// May its server still be asking what it asks at once?
    pub(in crate::upstream) fn is_being_asked(&self) -> bool {
        self.told_at() == 0
    }

    pub(in crate::upstream) fn told_at(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    /// Ends it if it still waits for its client. Who comes at this very moment is told why.
    pub(in crate::upstream) fn end(&self, error: &CallError, touched: &mut FlushSet) -> bool {
        let Some(connection) = self.connection.upgrade() else { return false };
        let mut state = self.state.lock();
        {
            let mut pending = connection.pending.lock();
            if !pending.get(self.id).is_some_and(|entry| self.is_in(entry)) {
                return false; // its client has come, or its answer
            }
            pending.remove(self.id);
        }
        match state.waiting.take() {
            Some(path) => path.fail(error, touched),
            None => state.outcome = Some(Outcome::Failure(error.clone())),
        }
        drop(state);
        self.leave_questions(&connection, touched);
        connection.call_off(self.id, "its client did not come again", touched);
        connection.gave_up(self.who(), touched);
        connection.made_room_in(touched);
        true
    }

    fn is_in(&self, entry: &Entry) -> bool {
        matches!(&entry.waiter, Waiter::Parked(parked) if ptr::eq(&**parked, self))
    }

    /// Is this the client whose call it is?
    pub(in crate::upstream) fn is_of(&self, client: &Arc<Client>) -> bool {
        Arc::ptr_eq(&self.client, client)
    }

    /// What was asked may have been for something else: the server gets its answers all the same,
    /// and learns what will not be answered any more.
    pub(in crate::upstream) fn pass_answers(&self, message: &Message<'_>, touched: &mut FlushSet) {
        let responses = message.text(message.params.input_responses);
        let Some(connection) = self.connection.upgrade() else { return };
        self.state.lock().questions.retain(|question| {
            match era::answered(responses, &question.request.key) {
                Some(Ok(answer)) => connection.answer_question(&question.id, answer, touched),
                _ => return true,
            }
            false
        });
        self.leave_questions(&connection, touched);
    }

    /// Nobody will answer: whoever asked learns that.
    pub(in crate::upstream) fn leave_questions(&self, server: &Connection, touched: &mut FlushSet) {
        let questions = std::mem::take(&mut self.state.lock().questions);
        for question in questions {
            let mut out = Vec::new();
            write_error(&question.id, NOT_ANSWERED, "the client did not answer", b"", &mut out);
            server.pass(&out, &Edits::new(), touched);
        }
    }

    /// The call ends with an error.
    pub(in crate::upstream) fn fail(&self, error: &CallError, touched: &mut FlushSet) {
        let mut state = self.state.lock();
        match state.waiting.take() {
            Some(path) => path.fail(error, touched),
            None => state.outcome = Some(Outcome::Failure(error.clone())),
        }
    }

    pub(in crate::upstream) fn deliver(
        &self,
        outcome: Outcome,
        path: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        let connection = self.connection.upgrade();
        match (outcome, connection) {
            (Outcome::Failure(error), _) => Err(Rejected::new(path, error)),
            (Outcome::Response(shape, bytes), Some(connection)) => {
                // Nothing is open for it: it is answered as if it had been.
                let carrier: Arc<dyn CallOwner> = Arc::clone(&connection) as Arc<dyn CallOwner>;
                if !path.client.open(&path.id, CallHandle::Sent { carrier, id: self.id }) {
                    return Err(Rejected::new(path, CallError::duplicate_id()));
                }
                connection.deliver_across(path, shape, Payload::Owned(bytes), touched);
                Ok(())
            }
            (Outcome::Response(..), None) => Err(Rejected::new(path, gone("its server has gone"))),
        }
    }

    /// The server takes the question with this id of its own back.
    pub(in crate::upstream) fn unask(&self, id: &[u8]) {
        self.state.lock().questions.retain(|question| *question.id != *id);
    }

    pub(in crate::upstream) fn add(&self, message: &Message<'_>) {
        let mut state = self.state.lock();
        state.asked += 1;
        let key = format!("question-{}", state.asked);
        let method = String::from_utf8_lossy(&message.method()).into_owned();
        let params = message.text(message.params.span).to_vec();
        let request = InputRequest { key, method, params };
        state.questions.push(Question { id: message.id().into(), request });
    }
}
