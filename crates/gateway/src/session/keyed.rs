//! Calls with an idempotency key: each takes its key before it goes on; one whose key is taken gets the answer of the
//! call that has it, or hears what is known of that call.

use std::sync::Arc;

use tokio::sync::oneshot;
use trunkline_catalog::Route as Owner;
use trunkline_wire::{Edits, Span, decode, scan};

use crate::call::{Payload, RequestEra, ResponseSink};
use crate::call_keys::{
    KeptAnswer, KeyClaim, KeyTicket, KeyedCall, KeyedProgress, claim_key, idempotency_key,
};
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::session::keyed_sink::KeyedSink;
use crate::session::limited;
use crate::session::policies::admit_call;
use crate::session::request::SessionRequest;
use crate::session::waiting::wait;

/// What names the key in `_meta`, for people.
const NAME: &str = "trunkline/idempotencyKey";

/// May the call go on now? Else it was refused, or goes on once it has its key. `arguments`: `None` are those of the
/// request.
#[inline]
pub(super) fn admit(
    asked: &SessionRequest<'_>,
    owner: &Owner,
    arguments: Option<&[u8]>,
    touched: &mut FlushSet,
) -> bool {
    if !admit_call(asked, owner, arguments, touched) {
        return false;
    }
    // Nearly no call has one.
    let Some(key_at) = asked.message.params.meta.idempotency_key else { return true };
    if asked.session.context.gateway_info.simple || asked.sink.keyed().is_some() {
        return true;
    }
    claim(asked, (owner, arguments), key_at, touched);
    false
}

/// The request goes to a server from here on. Said before it is sent: its answer may come on another thread at once.
#[inline]
pub(super) fn note_sent(asked: &SessionRequest<'_>) {
    if asked.message.params.meta.idempotency_key.is_some() {
        asked.sink.keyed().into_iter().for_each(KeyedProgress::note_gone_out);
    }
}

/// Goes on once it is known whether the key is free.
#[cold]
fn claim(
    asked: &SessionRequest<'_>,
    (owner, arguments): (&Owner, Option<&[u8]>),
    key_at: Span,
    touched: &mut FlushSet,
) {
    let call = match keyed_call(asked, owner, arguments, key_at) {
        Ok(call) => call,
        Err(error) => return asked.turn_away(&error, touched),
    };
    let context = &asked.session.context;
    let keys = context.call_keys.keys();
    let (sender, claimed) = oneshot::channel();
    // A task of its own: a client that leaves meanwhile must not leave a key behind that nobody has. A ticket that is
    // not taken any more gives the key back.
    let task = async move { drop(sender.send(claim_key(keys, call).await)) };
    drop(context.tasks.spawn_on(task, &context.runtime));
    wait(asked, claimed, |asked, claimed, touched| match claimed {
        Ok(KeyClaim::First(ticket)) => go_on(asked, ticket, touched),
        Ok(KeyClaim::Answered(answer)) => answer_again(asked, answer, touched),
        Ok(KeyClaim::Refused(fault)) => asked.turn_away(&CallError::Keyed(fault), touched),
        // The runtime ends.
        Err(_) => asked.refuse(&CallError::ShuttingDown { may_have_run: false }, touched),
    });
}

fn keyed_call(
    asked: &SessionRequest<'_>,
    owner: &Owner,
    arguments: Option<&[u8]>,
    key_at: Span,
) -> Result<KeyedCall, CallError> {
    let message = asked.message;
    let text = decode(key_at.of(message.bytes));
    let key = text.as_deref().and_then(idempotency_key).ok_or_else(|| {
        let why = format!("`{NAME}` must be a string of 1 to 255 bytes without control characters");
        CallError::InvalidParams(why)
    })?;
    let server = asked.snapshot.server(owner.server);
    let server = server.ok_or(CallError::Internal("a tool's server is not known"))?;
    let tool = decode(&owner.name_token).unwrap_or_default();
    let arguments = arguments.unwrap_or_else(|| message.text(message.params.arguments));
    // Answers are written for the era of their client.
    let (caller, interface) = match asked.era {
        RequestEra::Session => (&asked.session.principal, "session"),
        RequestEra::Stateless(how) => (&how.principal, "stateless"),
    };
    let call = KeyedCall::new((caller, key), (server.key.id(), &tool), interface, arguments);
    let (state, answers) = (message.params.request_state, message.params.input_responses);
    Ok(match (state, answers) {
        (None, None) => call,
        _ => call.answering(message.text(state), message.text(answers)),
    })
}

/// The call has its key, and goes on as any other.
fn go_on(asked: &SessionRequest<'_>, ticket: KeyTicket, touched: &mut FlushSet) {
    let sink: ResponseSink = Arc::new(KeyedSink::new(asked.sink.clone(), ticket));
    (asked.dispatch)(SessionRequest { sink: &sink, ..asked.clone() }, touched);
}

/// It has run before: its client gets what it would have got then.
fn answer_again(asked: &SessionRequest<'_>, answer: KeptAnswer, touched: &mut FlushSet) {
    // It costs no server anything, but its caller a call.
    if let Err(error) = limited::for_own_tool(asked) {
        return asked.turn_away(&error, touched);
    }
    let KeptAnswer { code, body } = answer;
    let Some(id_at) = scan(&body).ok().and_then(|message| message.id) else {
        return asked.refuse(&CallError::Internal("a kept answer is unreadable"), touched);
    };
    let edits = Edits::one(id_at, asked.message.id());
    match code {
        0 => asked.sink.answer(Payload::Owned(body), &edits, touched),
        code => asked.sink.refuse(code, Payload::Owned(body), &edits, touched),
    };
}
