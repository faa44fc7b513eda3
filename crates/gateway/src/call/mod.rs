//! A call: who made it (`Client`), where its answer goes (`ReplyTo`, `ResponseSink`), and which part of the
//! gateway holds it (`CallOwner`). The code that takes a call out of its `Client` gives it its one outcome.

mod audience;
mod client;
mod question;
mod record;
mod stateless;
mod subscription_quota;
mod trace;

use std::cell::Cell;
use std::sync::Arc;

use trunkline_wire::{Edits, Id, Message, Span, write_result};

pub(crate) use audience::Audience;
pub(crate) use client::{
    CallHandle, CallOwner, Cancel, Client, Discard, Payload, Presence, Responder, ResponseSink,
    Waiting,
};
pub(crate) use question::{Ability, Level};
pub(crate) use record::{Asker, CallRecord, Observers};
pub(crate) use stateless::{Refused, Stateless};
pub(crate) use subscription_quota::{SubscriptionQuota, SubscriptionShare, TOO_MANY_SUBSCRIPTIONS};

use crate::deadlines::Tick;
use crate::era::Era;
use crate::error::CallError;
use crate::events::Outcome;
use crate::limiter::{Permit, PermitSlot};
use crate::pump::FlushSet;
use crate::result_scan::ResultSubject;

/// Where the answer to one call goes. Its holder has to give the call its one outcome: dropped without one,
/// it answers with an internal error, and a debug build panics.
#[derive(Debug)]
pub(crate) struct ReplyTo {
    pub(crate) client: Arc<Client>,
    pub(crate) id: Id,
    /// The client's progress token, as spelt, if it wants to hear of progress.
    pub(crate) progress_token: Option<Box<[u8]>>,
    pub(crate) sink: ResponseSink,
    pub(crate) request_era: RequestEra,
    pub(crate) refused: Refused,
    /// The request: as the server got it, if it may be sent again; as its client wrote it, if it has to be recognised
    /// when it comes again.
    pub(crate) kept: Option<Box<[u8]>>,
    /// How often its server has asked something.
    pub(crate) rounds: u8,
    /// The copy that is sent again after a restart of the server; `None`: it is not sent again.
    pub(crate) replay: Option<Box<Replay>>,
    /// What events and traces are made of when the call ends; `None`: there are no observers.
    pub(crate) record: Option<Arc<CallRecord>>,
    /// What the scanner is told of the answer; `None`: it is not scanned.
    pub(crate) subject: Option<Arc<ResultSubject>>,
    /// It is a `tasks/list` whose answer is reduced to the client's own tasks.
    pub(crate) lists_tasks: bool,
    /// What the call holds of its limits until it has its outcome.
    permit: PermitSlot,
    /// The call has its outcome, or another holder will give it.
    // A `Cell`: a reply is handed from holder to holder and never shared between threads.
    settled: Cell<bool>,
}

/// How a client makes its requests: in a session, or each standing for itself.
#[derive(Clone, Debug)]
pub(crate) enum RequestEra {
    /// It said `initialize` before.
    Session,
    Stateless(Arc<Stateless>),
}

impl RequestEra {
    pub(crate) fn is_session(&self) -> bool {
        matches!(self, Self::Session)
    }

    pub(crate) fn era(&self) -> Era {
        match self {
            Self::Session => Era::Legacy,
            Self::Stateless(_) => Era::Modern,
        }
    }
}

/// A call that was not accepted, and why. It is not open in its client.
#[derive(Debug)]
pub(crate) struct Rejected {
    pub(crate) reply: ReplyTo,
    pub(crate) error: CallError,
}

impl Rejected {
    /// Boxed: it is large, and rare.
    pub(crate) fn new(reply: ReplyTo, error: CallError) -> Box<Self> {
        Box::new(Self { reply, error })
    }

    /// Answers the call with the error.
    pub(crate) fn answer(&self, touched: &mut FlushSet) {
        self.reply.fail_taken(&self.error, touched);
    }
}

/// A request that can be sent again.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    /// As the client wrote it, with the server's own name for what it is about.
    pub(crate) request: Box<[u8]>,
    /// Its deadline, however often it is sent.
    pub(crate) deadline: Option<Tick>,
    /// How often its server went away while it had the request: it may have run.
    pub(crate) cut_off: u8,
}

impl Replay {
    /// `changes` are made; the rest is the client's.
    pub(crate) fn new(message: &Message<'_>, changes: &[(Span, &[u8])]) -> Box<Self> {
        let mut edits = Edits::new();
        for (span, new) in changes {
            edits.add(*span, new);
        }
        // Room for a longer name: the copy is made for every call that may be repeated.
        let mut request = Vec::with_capacity(message.bytes.len() + 64);
        edits.write(message.bytes, &mut request);
        Box::new(Self { request: request.into(), deadline: None, cut_off: 0 })
    }
}

impl ReplyTo {
    /// Keeps the request to be sent later, with `changes` made. One that its client may have to make again is also kept
    /// as that wrote it: the server's name for a tool is not the client's.
    pub(crate) fn keep_for_later(&mut self, message: &Message<'_>, changes: &[(Span, &[u8])]) {
        self.replay = Some(Replay::new(message, changes));
        if let RequestEra::Stateless(how) = &self.request_era
            && how.can_be_asked()
        {
            self.kept.get_or_insert_with(|| message.bytes.into());
        }
    }

    pub(crate) fn new(
        client: Arc<Client>,
        id: Id,
        progress_token: Option<Box<[u8]>>,
        sink: ResponseSink,
        request_era: RequestEra,
    ) -> Self {
        Self {
            client,
            id,
            progress_token,
            sink,
            request_era,
            refused: Refused::default(),
            kept: None,
            rounds: 0,
            replay: None,
            record: None,
            subject: None,
            lists_tasks: false,
            permit: PermitSlot::default(),
            settled: Cell::new(false),
        }
    }

    /// The call counts on its limits from now on.
    pub(crate) fn holds(&self, permit: Permit) {
        self.permit.set(permit);
    }

    /// The call has its outcome: a result of so many bytes.
    fn settle(&self, bytes: usize) {
        self.settled.set(true);
        // Here and not with the reply, which its holder may keep: the call has ended.
        let permit = self.permit.take();
        permit.charge(bytes);
    }

    /// Takes the call out of its client, so that this holder decides its outcome. False: another
    /// holder does, or has.
    pub(crate) fn claim(&self) -> bool {
        // Of several that want to end the call (answer, cancellation, timeout, end of the server)
        // only one finds it in the client: that makes it exactly one outcome.
        let is_claimed = self.client.take(&self.id).is_some();
        self.settled.set(!is_claimed);
        is_claimed
    }

    /// Delivers a server's response: the same bytes but for the id.
    pub(crate) fn deliver(&self, id_at: Span, payload: Payload<'_>, touched: &mut FlushSet) {
        if !self.claim() {
            return;
        }
        // Before it is written: that its client has gone is no reason to answer it again.
        self.settle(payload.bytes().len());
        self.observed(payload.bytes());
        let taken =
            self.id.with_token(|id| self.sink.answer(payload, &Edits::one(id_at, id), touched));
        if !taken {
            tracing::debug!("an answer came after its client had gone");
        }
    }

    /// Those who look on are told of the server's response.
    fn observed(&self, response: &[u8]) {
        if let Some(record) = &self.record {
            record.answered(response);
        }
        if let Some(subject) = &self.subject {
            subject.offer(response);
        }
    }

    /// Delivers a server's response with more changes than the id; `code`: it is an error.
    pub(crate) fn deliver_edited(
        &self,
        code: Option<i64>,
        id_at: Span,
        payload: Payload<'_>,
        changes: &[(Span, &[u8])],
        touched: &mut FlushSet,
    ) {
        if !self.claim() {
            return;
        }
        self.settle(payload.bytes().len());
        self.observed(payload.bytes());
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
        if self.claim() {
            self.answer(result, touched);
        }
    }

    /// Answers a request that is not open.
    pub(crate) fn answer(&self, result: &[u8], touched: &mut FlushSet) {
        self.settle(result.len());
        self.noted(Outcome::Asked); // nothing else is answered here
        let mut out = Vec::with_capacity(result.len() + 64);
        self.id.with_token(|id| write_result(id, result, &mut out));
        self.sink.answer(Payload::Owned(out), &Edits::new(), touched);
    }

    /// Ends the call with an error.
    pub(crate) fn fail(&self, error: &CallError, touched: &mut FlushSet) {
        if self.claim() {
            self.fail_taken(error, touched);
        }
    }

    /// Answers with an error; the call has been taken out of its client, or was never open there.
    pub(crate) fn fail_taken(&self, error: &CallError, touched: &mut FlushSet) {
        self.settle(0);
        if let Some(record) = &self.record {
            record.failed(error);
        }
        let (era, error) = (self.request_era.era(), self.client.shown(error));
        let response = self.id.with_token(|id| error.response_in(era, id));
        let code = i64::from(error.code_in(era));
        self.sink.refuse(code, Payload::Owned(response), &Edits::new(), touched);
    }

    /// The call was cancelled and has been taken out of its client. That has no answer, as the
    /// protocol asks, but for a client that did not cancel this very call.
    pub(crate) fn cancelled(&self, how: Cancel<'_>, may_have_run: bool, touched: &mut FlushSet) {
        self.settle(0);
        self.told_cancelled(how, may_have_run, touched);
    }

    /// The call was cancelled while it was with its server, which may go on with it.
    pub(crate) fn abandoned(&self, how: Cancel<'_>, may_have_run: bool, touched: &mut FlushSet) {
        self.settled.set(true);
        self.permit.take().abandon();
        self.told_cancelled(how, may_have_run, touched);
    }

    fn told_cancelled(&self, how: Cancel<'_>, may_have_run: bool, touched: &mut FlushSet) {
        self.noted(Outcome::Cancelled);
        // Over HTTP the requests of an ended session are still open exchanges: each needs a
        // response.
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

    /// Records the end of a call that got no answer of its server.
    pub(crate) fn noted(&self, outcome: Outcome) {
        if let Some(record) = &self.record {
            record.ended(outcome, 0);
        }
    }

    /// Who made the call, for its record.
    pub(crate) fn asker(&self) -> Asker<'_> {
        Asker { client: &self.client, request_era: &self.request_era, sink: &self.sink }
    }

    /// May it have run on a server that went away?
    pub(crate) fn has_run(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| replay.cut_off > 0)
    }

    /// Passes progress on, under the client's own token.
    pub(crate) fn progress(&self, token_at: Span, bytes: &[u8], touched: &mut FlushSet) {
        if let Some(token) = &self.progress_token {
            self.sink.say(bytes, &Edits::one(token_at, token), touched);
        }
    }
}

impl Drop for ReplyTo {
    fn drop(&mut self) {
        if !self.settled.get() {
            self.answer_forgotten();
        }
    }
}

impl ReplyTo {
    /// Nothing else will answer: the client must not wait for ever.
    #[cold]
    fn answer_forgotten(&self) {
        tracing::error!(id = ?self.id, "a call was dropped without an answer: please report this");
        let mut touched = FlushSet::default();
        // Before it is answered: whoever else holds it must not answer it, too.
        self.client.take(&self.id);
        self.fail_taken(&CallError::Internal("the call was lost on its way"), &mut touched);
        touched.flush();
        // A panic that unwinds drops calls, and they are answered: that is what this is for.
        debug_assert!(std::thread::panicking(), "a call was dropped without an outcome");
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::lock::{Mutex, rank};

    /// Keeps what is answered.
    #[derive(Debug, Default)]
    struct Answers(Mutex<Vec<String>, rank::FleetAnswer>);

    impl Responder for Answers {
        fn say(&self, _: &[u8], _: &Edits<'_>, _: &mut FlushSet) -> bool {
            false
        }

        fn answer(&self, payload: Payload<'_>, _: &Edits<'_>, _: &mut FlushSet) -> bool {
            self.0.lock().push(String::from_utf8_lossy(payload.bytes()).into_owned());
            true
        }
    }

    fn reply(client: &Arc<Client>, sink: &Arc<Answers>) -> ReplyTo {
        let sink = Arc::clone(sink) as ResponseSink;
        ReplyTo::new(Arc::clone(client), Id::new(b"7"), None, sink, RequestEra::Session)
    }

    #[test]
    fn a_call_that_is_dropped_is_answered_and_fails_the_test() {
        let (client, sink) = (Arc::default(), Arc::default());
        let forgotten = reply(&client, &sink);
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(forgotten)));
        assert!(dropped.is_err(), "debug builds panic");
        let answers = sink.0.lock();
        assert!(
            matches!(&answers[..], [one] if one.contains("\"id\":7,\"error\":{\"code\":-32603"))
        );
    }

    #[test]
    fn a_call_with_an_outcome_may_be_dropped() {
        let (client, sink) = (Arc::default(), Arc::default());
        let touched = &mut FlushSet::default();
        reply(&client, &sink).fail_taken(&CallError::duplicate_id(), touched);
        reply(&client, &sink).cancelled(Cancel::Left, false, touched);
        reply(&client, &sink).answer(b"{}", touched);
        // It is not open: another one has taken it, and answers.
        reply(&client, &sink).fail(&CallError::duplicate_id(), touched);
        assert_eq!(sink.0.lock().len(), 2);
    }
}
