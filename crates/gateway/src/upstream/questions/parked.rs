//! One call of a stateless client that waits for its client: what is asked, and what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trunkline_wire::{Edits, Message, write_error};

use crate::call::{CallOwner, Client, ReplyTo, RequestEra, Stateless};
use crate::era::InputRequest;
use crate::error::{CallError, NOT_ANSWERED};
use crate::limits::GIVES_WAY;
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::upstream::questions::attribution::{CallPhase, Caller};
use crate::upstream::transport::{ResponseShape, UpstreamId};

/// One call that waits for its client.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(in crate::upstream) handle: u64,
    pub(in crate::upstream) id: UpstreamId,
    pub(in crate::upstream) how: Arc<Stateless>,
    pub(in crate::upstream) client: Arc<Client>,
    pub(in crate::upstream) method: Box<[u8]>,
    pub(in crate::upstream) digest: [u8; 32],
    // Above the open calls: whether it still waits is decided with both held.
    pub(in crate::upstream) state: Mutex<ParkedState, rank::ParkedCall>,
    /// When its client was told what is asked, in milliseconds since the gateway began; 0: not yet.
    /// What is asked later is told it another time.
    // Relaxed where it is stored: `told_at` says why.
    pub(in crate::upstream) told: AtomicU64,
}

#[derive(Debug, Default)]
pub(in crate::upstream) struct ParkedState {
    pub(in crate::upstream) questions: Vec<ParkedQuestion>,
    pub(in crate::upstream) asked: usize,
    /// The client's request, until it is told what is asked.
    pub(in crate::upstream) waiting: Option<ReplyTo>,
    /// The server has answered although it was not.
    pub(in crate::upstream) outcome: Option<ParkedOutcome>,
}

#[derive(Debug)]
pub(in crate::upstream) struct ParkedQuestion {
    /// The server's id for it, as spelt.
    pub(in crate::upstream) id: Box<[u8]>,
    pub(in crate::upstream) request: InputRequest,
}

#[derive(Debug)]
pub(in crate::upstream) enum ParkedOutcome {
    Response(ResponseShape, Vec<u8>),
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
        // Relaxed: only the number counts; whether the call still waits is decided under the locks.
        self.told.load(Ordering::Relaxed)
    }

    pub(in crate::upstream) fn request_era(&self) -> RequestEra {
        RequestEra::Stateless(Arc::clone(&self.how))
    }

    pub(in crate::upstream) fn who(&self) -> Caller {
        Caller::of(&self.client, &self.request_era())
    }

    /// Where its call is, at this time.
    pub(in crate::upstream) fn place(&self, now: u64) -> CallPhase {
        match self.told_at() {
            0 => CallPhase::Asking,
            told if u128::from(now.saturating_sub(told)) > GIVES_WAY.as_millis() => CallPhase::Late,
            _ => CallPhase::Waiting,
        }
    }

    /// Is this the client whose call it is?
    pub(in crate::upstream) fn is_of(&self, client: &Arc<Client>) -> bool {
        Arc::ptr_eq(&self.client, client)
    }

    /// Nobody will answer: whoever asked learns that.
    pub(in crate::upstream) fn leave_questions(
        &self,
        server: &dyn CallOwner,
        touched: &mut FlushSet,
    ) {
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
            Some(reply) => reply.fail(error, touched),
            None => state.outcome = Some(ParkedOutcome::Failure(error.clone())),
        }
    }

    /// The server takes the question with this id of its own back.
    pub(in crate::upstream) fn unask(&self, id: &[u8]) {
        self.state.lock().questions.retain(|question| *question.id != *id);
    }

    pub(in crate::upstream) fn add(&self, message: &Message<'_>) {
        let mut state = self.state.lock();
        // Counted, not the number of open questions: a key must not come twice in one call.
        state.asked += 1;
        let key = format!("question-{}", state.asked);
        let method = String::from_utf8_lossy(&message.method()).into_owned();
        let params = message.text(message.params.span).to_vec();
        let request = InputRequest { key, method, params };
        state.questions.push(ParkedQuestion { id: message.id().into(), request });
    }
}
