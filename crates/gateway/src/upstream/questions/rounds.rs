//! A call of a session to a server of the stateless era that asks something: the client is asked, and
//! the request is made again with its answers, for as many rounds as it takes.

use std::sync::{Arc, Weak};

use tokio::time::sleep;
use trunkline_wire::{Edits, Kind, Message, decode, member, scan, upstream_id};

use crate::call::{CallHandle, CallOwner, Cancel, ReplyTo};
use crate::era::{self, InputRequest};
use crate::error::{CallError, TURNED_DOWN};
use crate::limits::{OPEN_QUESTIONS, ROUNDS};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::upstream::connection::{Connection, heading, under_our_id, with_digits};

/// One round: what was asked, and what has been answered.
#[derive(Debug)]
pub(in crate::upstream) struct Rounds {
    itself: Weak<Self>,
    connection: Arc<Connection>,
    requests: Vec<InputRequest>,
    /// What the server wants to be told again, as it wrote it.
    state: Option<Vec<u8>>,
    // The call is taken out under it: of the last answer, a cancellation and the end only one gets
    // it, and ends it.
    open: Mutex<Option<OpenRound>, rank::InputRound>,
}

#[derive(Debug)]
struct OpenRound {
    reply: ReplyTo,
    answers: Vec<Option<Vec<u8>>>,
}

impl Rounds {
    /// `result` is what the server asks for.
    pub(in crate::upstream) fn begin(
        connection: &Arc<Connection>,
        mut reply: ReplyTo,
        result: &[u8],
        touched: &mut FlushSet,
    ) {
        if !reply.claim() {
            return;
        }
        reply.rounds += 1;
        // Clients tell elicitations apart by these, whichever servers and calls they come from.
        let id =
            |key: &str| format!("{}-{key}-{}", connection.link.key, connection.parking.number());
        let requests = era::requests_in(result, id);
        let state = member(result, "requestState").map(<[u8]>::to_vec);
        if let Err(error) = may_go_on(connection, &reply, &requests, state.is_some()) {
            return reply.fail_taken(&error, touched);
        }
        let answers = vec![None; requests.len()];
        let rounds = Arc::new_cyclic(|itself| Self {
            itself: Weak::clone(itself),
            connection: Arc::clone(connection),
            requests,
            state,
            open: Mutex::new(None),
        });
        let owner: Arc<dyn CallOwner> = Arc::clone(&rounds) as Arc<dyn CallOwner>;
        if !reply.client.open(&reply.id, CallHandle::Sent { owner, id: 0 }) {
            return reply.fail_taken(&CallError::duplicate_id(), touched);
        }
        // Before the client is asked: its first answer may come at once.
        *rounds.open.lock() = Some(OpenRound { reply, answers });
        rounds.ask(touched);
        // The server may have given only a state: then there is nothing to wait for.
        rounds.go_on_if_answered(touched);
        rounds.limit();
    }

    fn ask(self: &Arc<Self>, touched: &mut FlushSet) {
        let sinks = match &*self.open.lock() {
            Some(open) => (Arc::clone(&open.reply.client), open.reply.sink.clone()),
            None => return,
        };
        let (client, sink) = sinks;
        let owner: Arc<dyn CallOwner> = Arc::clone(self) as Arc<dyn CallOwner>;
        for (index, request) in self.requests.iter().enumerate() {
            let text = request.text(index.to_string().as_bytes());
            let Ok(question) = scan(&text) else { continue };
            let sinks = [Some(sink.clone()), client.stream()];
            let mut sinks = sinks.iter().flatten();
            if !sinks.any(|sink| client.ask(&question, &owner, sink, touched)) {
                let why = "the client has no stream open on which it could be asked".to_owned();
                let method = request.method.clone();
                return self.end(&CallError::Unaskable { method, why }, touched);
            }
        }
    }

    /// Makes the request again once everything is answered.
    fn go_on_if_answered(&self, touched: &mut FlushSet) {
        // Taken out under the lock: of the last two answers only one finds the round complete.
        let OpenRound { reply, answers } = {
            let mut open = self.open.lock();
            match &*open {
                Some(held) if held.answers.iter().all(Option::is_some) => {}
                _ => return,
            }
            let Some(open) = open.take() else { return };
            open
        };
        if !reply.claim() {
            return;
        }
        let keys = self.requests.iter().map(|request| request.key.clone());
        let answers: Vec<_> = keys.zip(answers.into_iter().flatten()).collect();
        let kept = reply.kept.clone().unwrap_or_default();
        let Ok(request) = scan(&kept) else {
            return reply.fail_taken(&CallError::Internal("a kept request is unreadable"), touched);
        };
        let again = era::retried(&request, &answers, self.state.as_deref());
        self.connection.submit_again(&again, reply, touched);
    }

    fn end(&self, error: &CallError, touched: &mut FlushSet) {
        let open = self.open.lock().take();
        if let Some(OpenRound { reply, .. }) = open {
            self.forget_questions(&reply, "the call has failed", touched);
            reply.fail(error, touched);
        }
    }

    fn forget_questions(&self, reply: &ReplyTo, reason: &str, touched: &mut FlushSet) {
        if let Some(itself) = self.itself.upgrade() {
            reply.client.forget_questions_of(&(itself as Arc<dyn CallOwner>), reason, touched);
        }
    }

    /// A client that never answers is not waited for any longer than a server would be.
    fn limit(self: &Arc<Self>) {
        let Some(limit) = self.connection.link.limits.call else { return };
        let rounds = Arc::downgrade(self);
        self.connection.parking.timers.run(async move {
            sleep(limit).await;
            if let Some(rounds) = rounds.upgrade() {
                let mut touched = FlushSet::default();
                let why = "it did not answer in time".to_owned();
                let method = rounds.requests.first().map(|request| request.method.clone());
                let (method, code) = (method.unwrap_or_default(), TURNED_DOWN);
                rounds.end(&CallError::NotAnswered { method, code, why }, &mut touched);
                touched.flush();
            }
        });
    }

    fn answered(&self, answer: &Message<'_>, touched: &mut FlushSet) {
        let place = upstream_id(answer.id()).and_then(|id| usize::try_from(id).ok());
        if answer.kind == Kind::Refusal {
            let error = answer.text(answer.error);
            let why = member(error, "message").and_then(decode).unwrap_or_default();
            let method = place.and_then(|place| self.requests.get(place));
            let method = method.map(|request| request.method.clone()).unwrap_or_default();
            let code = member(error, "code").and_then(|code| std::str::from_utf8(code).ok());
            let code = code.and_then(|code| code.parse().ok()).unwrap_or(TURNED_DOWN);
            let why = why.into_owned();
            return self.end(&CallError::NotAnswered { method, code, why }, touched);
        }
        if let Some(open) = &mut *self.open.lock()
            && let Some(held) = place.and_then(|place| open.answers.get_mut(place))
        {
            *held = Some(answer.text(answer.result).to_vec());
        }
        self.go_on_if_answered(touched);
    }
}

/// Is there something to go on with, and can the client be asked for it?
fn may_go_on(
    connection: &Connection,
    reply: &ReplyTo,
    requests: &[InputRequest],
    has_state: bool,
) -> Result<(), CallError> {
    if reply.kept.is_none() || (requests.is_empty() && !has_state) {
        return Err(connection.link.senseless("asks for something and does not say for what"));
    }
    // A server that asks for ever would keep its client busy and the call open.
    if reply.rounds > ROUNDS {
        return Err(connection.link.senseless("asks again and again"));
    }
    if requests.len() > OPEN_QUESTIONS {
        return Err(connection.link.senseless("asks for too much at once"));
    }
    connection.link.check_asked(requests, |ability| reply.client.can(ability))
}

impl CallOwner for Rounds {
    fn cancel(&self, _: u32, how: Cancel<'_>, touched: &mut FlushSet) {
        let open = self.open.lock().take();
        if let Some(OpenRound { reply, .. }) = open {
            self.forget_questions(&reply, "the call was cancelled", touched);
            reply.cancelled(how, true, touched);
        }
    }

    fn abandon(&self, _: u32, touched: &mut FlushSet) {
        self.end(&CallError::ShuttingDown { may_have_run: true }, touched);
    }

    fn pass(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) {
        let mut whole = Vec::new();
        edits.write(bytes, &mut whole);
        match scan(&whole) {
            Ok(message) if matches!(message.kind, Kind::Answer | Kind::Refusal) => {
                self.answered(&message, touched);
            }
            _ => {} // progress of the client's: there is nobody it could be told
        }
    }
}

impl Connection {
    /// Makes a request again that was kept as this server gets it.
    fn submit_again(self: &Arc<Self>, request: &[u8], reply: ReplyTo, touched: &mut FlushSet) {
        let Ok(message) = scan(request) else {
            return reply.fail_taken(&CallError::Internal("a kept request is unreadable"), touched);
        };
        let mut pending = self.link.pending.lock();
        let id = match self.link.next_id(&mut pending) {
            Ok(id) => id,
            Err(error) => return reply.fail_taken(&error, touched),
        };
        let owner: Arc<dyn CallOwner> = Arc::clone(self) as Arc<dyn CallOwner>;
        if !reply.client.open(&reply.id, CallHandle::Sent { owner, id }) {
            drop(pending);
            return reply.fail_taken(&CallError::duplicate_id(), touched);
        }
        let sent = with_digits(id, |digits| {
            let edits = under_our_id(&message, &reply, digits, &[]);
            let heading = heading(&message, &[]);
            self.link.transport.send(Some((id, &heading)), request, &edits, touched)
        });
        if let Err(rejected) = self.link.sent(id, reply, sent, pending) {
            rejected.answer(touched);
        }
    }
}
