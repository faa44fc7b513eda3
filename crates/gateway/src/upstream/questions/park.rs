//! Calls that are parked, taken up again and ended, as their connection does it.

use std::ptr;
use std::sync::Arc;

use trunkline_wire::{Message, scan};

use crate::call::{Ability, CallHandle, CallOwner, Payload, Rejected, ReplyTo, Stateless};
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::upstream::calls::pending::{Entry, Waiter};
use crate::upstream::connection::Connection;
use crate::upstream::questions::parked::{Parked, ParkedOutcome, ParkedQuestion};
use crate::upstream::transport::{ResponseShape, UpstreamId};

impl Connection {
    /// The server asks something for the call with this id, whose client is stateless. `Err`: why it
    /// cannot be asked.
    pub(in crate::upstream) fn park(
        self: &Arc<Self>,
        id: UpstreamId,
        how: &Arc<Stateless>,
        message: &Message<'_>,
    ) -> Result<(), String> {
        let method = message.method();
        let params = message.text(message.params.span);
        let Some(ability) = Ability::needed_for(&method, params) else {
            return Err("a stateless client can only be asked for elicitation, sampling and roots"
                .to_owned());
        };
        if !how.can(ability) {
            if let Some(Entry { waiter: Waiter::Client(reply), .. }) =
                self.link.pending.lock().get_mut(id)
            {
                reply.refused.add(ability);
            }
            return Err(format!("the client does not support {}", ability.word()));
        }
        let mut pending = self.link.pending.lock();
        let Some(entry) = pending.get_mut(id) else { return Err("the call has ended".to_owned()) };
        let (parked, is_new) = match std::mem::replace(&mut entry.waiter, Waiter::Fence) {
            Waiter::Client(reply) => match self.parking.admit(self, id, how, reply) {
                Ok(parked) => (parked, true),
                Err(reply) => {
                    entry.waiter = Waiter::Client(reply);
                    return Err("too many calls wait for their clients".to_owned());
                }
            },
            Waiter::Parked(parked) => (parked, false),
            other => {
                entry.waiter = other;
                return Err("it is no client's call".to_owned());
            }
        };
        entry.waiter = Waiter::Parked(Arc::clone(&parked));
        entry.deadline = None;
        drop(pending);
        parked.add(message);
        if is_new {
            self.parking.look_after(&parked);
        }
        Ok(())
    }

    /// Ends a parked call if it still waits for its client. A client that comes at this very moment is
    /// told why.
    pub(in crate::upstream) fn end_parked(
        &self,
        parked: &Parked,
        error: &CallError,
        touched: &mut FlushSet,
    ) -> bool {
        let mut state = parked.state.lock();
        {
            let mut pending = self.link.pending.lock();
            if !pending.get(parked.id).is_some_and(|entry| is_of(entry, parked)) {
                return false; // its client has come, or its answer
            }
            pending.remove(parked.id);
        }
        match state.waiting.take() {
            Some(reply) => reply.fail(error, touched),
            None => state.outcome = Some(ParkedOutcome::Failure(error.clone())),
        }
        drop(state);
        parked.leave_questions(self, touched);
        self.link.call_off(parked.id, "its client did not come again", touched);
        self.link.gave_up(parked.who(), touched);
        self.options.made_room_in(touched);
        true
    }

    /// Answers a request that comes again with what its server has answered meanwhile.
    pub(in crate::upstream) fn deliver_parked(
        self: &Arc<Self>,
        id: UpstreamId,
        reply: ReplyTo,
        (shape, bytes): (ResponseShape, Vec<u8>),
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        // Nothing is open for it: it is answered as if it had been.
        let owner: Arc<dyn CallOwner> = Arc::clone(self) as Arc<dyn CallOwner>;
        if !reply.client.open(&reply.id, CallHandle::Sent { owner, id }) {
            return Err(Rejected::new(reply, CallError::duplicate_id()));
        }
        self.deliver_across(reply, shape, Payload::Owned(bytes), touched);
        Ok(())
    }

    /// A parked call has its client again. `Some`: it has just been answered.
    pub(in crate::upstream) fn unpark(
        self: &Arc<Self>,
        id: UpstreamId,
        message: &Message<'_>,
        mut reply: ReplyTo,
    ) -> Result<Option<ReplyTo>, Box<Rejected>> {
        let mut pending = self.link.pending.lock();
        let owner: Arc<dyn CallOwner> = Arc::clone(self) as Arc<dyn CallOwner>;
        if !reply.client.open(&reply.id, CallHandle::Sent { owner, id }) {
            return Err(Rejected::new(reply, CallError::duplicate_id()));
        }
        reply.kept = Some(message.bytes.into());
        let Some(entry) = pending.get_mut(id) else { return Ok(Some(reply)) };
        let (deadline, sent_at) = (self.link.deadlines.for_call(), entry.sent_at);
        *entry = Entry { waiter: Waiter::Client(reply), deadline, sent_at };
        Ok(None)
    }

    /// The server has answered a call whose client is not there.
    pub(in crate::upstream) fn settle_parked(
        self: &Arc<Self>,
        parked: &Parked,
        shape: ResponseShape,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        let mut state = parked.state.lock();
        match state.waiting.take() {
            Some(reply) => {
                drop(state);
                self.parking.leave(parked);
                self.deliver_across(reply, shape, payload, touched);
            }
            None => {
                state.outcome = Some(ParkedOutcome::Response(shape, payload.bytes().to_vec()));
                drop(state);
            }
        }
        self.ask_others(parked, touched);
    }

    /// A call is over that was asked something and has not answered: it was somebody else's question.
    pub(in crate::upstream) fn ask_others(
        self: &Arc<Self>,
        parked: &Parked,
        touched: &mut FlushSet,
    ) {
        let questions = std::mem::take(&mut parked.state.lock().questions);
        for ParkedQuestion { id, request } in questions {
            let text = request.text(&id);
            if let Ok(question) = scan(&text) {
                self.asked_on(&question, &parked.who(), touched);
            }
        }
    }
}

/// Is this the entry of the call?
fn is_of(entry: &Entry, parked: &Parked) -> bool {
    matches!(&entry.waiter, Waiter::Parked(other) if ptr::eq(&**other, parked))
}
