//! Calls between a client of one era and a server of the other, and what comes of calls within the
//! stateless one.

use std::sync::Arc;

use trunkline_wire::{Edits, Kind, Message, Span, decode, encode, find, scan};

use crate::call::{Ability, Payload, Rejected, ReplyTo, RequestEra, Stateless};
use crate::era::{self, Era, Translated, Unsealable};
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::upstream::connection::{Connection, heading, under_our_id, with_digits};
use crate::upstream::questions::parking::Parking;
use crate::upstream::questions::rounds::Rounds;
use crate::upstream::transport::ResponseShape;

/// In answer to these a server of the stateless era may ask for something.
fn may_ask(method: &[u8]) -> bool {
    matches!(method, b"tools/call" | b"prompts/get" | b"resources/read")
}

impl Parking {
    /// What a request within the stateless era needs: where its server may ask, it is kept to be
    /// recognised; where it comes again, the server's own state as it wrote it.
    pub(in crate::upstream) fn prepare_within_modern(
        &self,
        server: &str,
        message: &Message<'_>,
        reply: &mut ReplyTo,
    ) -> Result<Option<Vec<u8>>, CallError> {
        let RequestEra::Stateless(how) = &reply.request_era else { return Ok(None) };
        if how.can_be_asked() && may_ask(&message.method()) {
            reply.kept.get_or_insert_with(|| message.bytes.into());
        }
        let Some(at) = message.params.request_state else { return Ok(None) };
        let text = decode(at.of(message.bytes)).unwrap_or_default();
        // The state is bound to the params without `_meta` and answers: those change when the
        // request comes again.
        let digest = era::digest(message.text(message.params.span));
        let method = message.method();
        let bound = state_bound_to(server, how, &method, &digest);
        let opened = match self.open_state(&text, &bound) {
            // It may have been asked without being kept.
            Err(Unsealable::Foreign) => {
                let bound = state_bound_to(server, how, b"", b"");
                self.open_state(&text, &bound)
            }
            opened => opened,
        };
        opened.map(Some).map_err(|why| CallError::BadState(why.to_string()))
    }

    /// The server's state, sealed: a JSON string.
    fn sealed(
        &self,
        server: &str,
        reply: &ReplyTo,
        how: &Stateless,
        state: &[u8],
    ) -> Option<Vec<u8>> {
        let kept = reply.kept.as_deref().and_then(|kept| scan(kept).ok());
        let method = kept.map(|kept| kept.method()).unwrap_or_default();
        let digest = kept.map(|kept| era::digest(kept.text(kept.params.span)).to_vec());
        let digest = digest.unwrap_or_default();
        let bound = state_bound_to(server, how, &method, &digest);
        Some(encode(&self.seal_state(state, &bound)?))
    }
}

/// What the state of a call to this server is bound to.
fn state_bound_to<'a>(
    server: &'a str,
    how: &'a Stateless,
    method: &'a [u8],
    digest: &'a [u8],
) -> [&'a [u8]; 4] {
    [&how.principal, server.as_bytes(), method, digest]
}

impl Connection {
    /// Passes a request on to a server of the other era.
    pub(in crate::upstream) fn submit_across(
        self: &Arc<Self>,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        mut reply: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        if let RequestEra::Stateless(how) = &reply.request_era {
            if message.params.request_state.is_some() {
                return self.parking.resume(message, reply, touched);
            }
            self.facts.raise_level(&self.link, how.level);
        }
        let (id, pending) = match self.open_call(&reply) {
            Ok(opened) => opened,
            Err(error) => return Err(Rejected::new(reply, error)),
        };
        let translated = translated(id, message, changes, &mut reply);
        let request = Some((id, &heading(message, changes)));
        let sent = self.link.transport.send(request, &translated, &Edits::new(), touched);
        self.link.sent(id, reply, sent, pending)
    }

    /// Delivers a response to a call in which the stateless era has a part.
    pub(in crate::upstream) fn deliver_across(
        self: &Arc<Self>,
        reply: ReplyTo,
        shape: ResponseShape,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        let bytes = payload.bytes();
        let asks = || shape.result_type.is_some_and(|at| at.of(bytes) == b"\"input_required\"");
        match (&reply.request_era, self.link.era()) {
            (RequestEra::Session, Era::Modern) if asks() => {
                let result = shape.result.map(|span| span.of(bytes)).unwrap_or_default();
                Rounds::begin(self, reply, result, touched);
            }
            (RequestEra::Stateless(how), Era::Legacy) => {
                deliver_to_modern(&reply, how, shape, payload, touched);
            }
            (RequestEra::Stateless(how), Era::Modern) => {
                self.deliver_within_modern(&reply, how, shape, payload, touched);
            }
            _ => reply.deliver(shape.id, payload, touched),
        }
    }

    /// A response within the stateless era: the same bytes, unless it asks for what the client cannot
    /// do, or forgets to say what it is.
    fn deliver_within_modern(
        &self,
        reply: &ReplyTo,
        how: &Stateless,
        shape: ResponseShape,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        let bytes = payload.bytes();
        let Some(result) = shape.result else {
            let code = how.status_code(code(shape, bytes));
            return reply.deliver_edited(code, shape.id, payload, &[], touched);
        };
        match shape.result_type.map(|span| span.of(bytes)) {
            Some(b"\"input_required\"") => {
                let asked = era::requests_in(result.of(bytes), |_| String::new());
                if let Err(error) = self.link.check_asked(&asked, |ability| how.can(ability)) {
                    return reply.fail(&error, touched);
                }
                let state = find(bytes, result, &["requestState"]);
                if asked.is_empty() && state.is_none() {
                    let error = self.link.senseless("asks for something and does not say for what");
                    return reply.fail(&error, touched);
                }
                let sealed = state.and_then(|at| {
                    self.parking.sealed(self.link.key.id(), reply, how, at.of(bytes))
                });
                if let (Some(at), Some(sealed)) = (state, sealed) {
                    let edits: &[(Span, &[u8])] = &[(at, &sealed)];
                    return reply.deliver_edited(None, shape.id, payload, edits, touched);
                }
            }
            Some(b"\"task\"") => {
                let server = self.link.key.id();
                self.parking.tasks.remember_in(result.of(bytes), server, &reply.client);
            }
            Some(_) => {}
            None => return deliver_completed(reply, how, shape, result, payload, touched),
        }
        reply.deliver(shape.id, payload, touched);
    }
}

/// What a result is that asks for nothing.
const COMPLETE: &[u8] = b"\"complete\"";

/// The code of an error response.
fn code(shape: ResponseShape, bytes: &[u8]) -> Option<i64> {
    let error = shape.error.filter(|_| shape.kind == Kind::Refusal)?;
    era::code_of(error.of(bytes)).or(Some(0))
}

/// A result with what the stateless era wants to know about it. Whatever an older one says of its
/// own kind means nothing here.
fn deliver_completed(
    reply: &ReplyTo,
    how: &Stateless,
    shape: ResponseShape,
    result: Span,
    payload: Payload<'_>,
    touched: &mut FlushSet,
) {
    let new = era::additions(result.of(payload.bytes()), how.cacheable);
    let at = Span::at(result.start() + 1);
    let added: (Span, &[u8]) = (at, &new);
    match shape.result_type {
        Some(own) => {
            let edits = [added, (own, COMPLETE)];
            reply.deliver_edited(None, shape.id, payload, &edits, touched);
        }
        None => reply.deliver_edited(None, shape.id, payload, &[added], touched),
    }
}

/// A response of the older era for a client of the stateless one.
fn deliver_to_modern(
    reply: &ReplyTo,
    how: &Stateless,
    shape: ResponseShape,
    payload: Payload<'_>,
    touched: &mut FlushSet,
) {
    let bytes = payload.bytes();
    if let Some(result) = shape.result {
        return deliver_completed(reply, how, shape, result, payload, touched);
    }
    let missing = reply.refused.missing();
    if !missing.is_empty() {
        return reply.fail(&CallError::MissingCapability(missing), touched);
    }
    let error = shape.error.map(|span| span.of(bytes)).unwrap_or_default();
    match era::refusal_for_modern(error, how.can(Ability::Urls)) {
        Translated::Asks(result) => reply.complete(&result, touched),
        Translated::Cannot => {
            let missing = vec![Ability::Urls.declaration()];
            reply.fail(&CallError::MissingCapability(missing), touched);
        }
        Translated::Code(new) => {
            let at = shape.error.and_then(|error| find(bytes, error, &["code"]));
            let edit = at.map(|at| (at, new.as_bytes()));
            let code = new.parse().ok();
            reply.deliver_edited(code, shape.id, payload, edit.as_slice(), touched);
        }
        Translated::Same => {
            let code = how.status_code(code(shape, bytes));
            reply.deliver_edited(code, shape.id, payload, &[], touched);
        }
    }
}

/// The request as the server gets it. Where it may be asked something on the way, the request
/// is kept: as the client wrote it, to be recognised when it comes again; as the server got it,
/// to be made again.
fn translated(
    id: u32,
    message: &Message<'_>,
    changes: &[(Span, &[u8])],
    reply: &mut ReplyTo,
) -> Vec<u8> {
    let mut spliced = Vec::new();
    with_digits(id, |digits| {
        under_our_id(message, reply, digits, changes).write(message.bytes, &mut spliced);
    });
    let Ok(message_again) = scan(&spliced) else { return spliced };
    let asks = may_ask(&message.method());
    match &reply.request_era {
        RequestEra::Stateless(how) => {
            // Only then: the copy costs as much as the request.
            let kept = reply.kept.take();
            reply.kept =
                (asks && how.can_be_asked()).then(|| kept.unwrap_or_else(|| message.bytes.into()));
            era::for_legacy(&message_again)
        }
        RequestEra::Session => {
            let translated = era::for_modern(&message_again, &reply.client.stamp());
            reply.kept = asks.then(|| translated.as_slice().into());
            translated
        }
    }
}
