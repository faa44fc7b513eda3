//! `/mcp`: Streamable HTTP, and what is particular to revisions 2025-03-26 to 2025-11-25.

use std::sync::Arc;

use trunkline_http::{Request, accepts};
use trunkline_wire::{Kind as MessageKind, Message, Revision, decode, elements, member};

use crate::call::ResponseSink;
use crate::error::CallError;
use crate::front::http::conn::Open;
use crate::front::http::events::{From, Stream};
use crate::front::http::exchange::{Exchange, Kind};
use crate::front::http::front::Front;
use crate::front::http::head_cache::Cached;
use crate::front::http::posted::{Posted, check_type, read};
use crate::front::http::refusal::Refusal;
use crate::front::http::reply::Reply;
use crate::front::http::routes::Visit;
use crate::front::http::sessions::HttpSession;
use crate::front::http::stateless::{self, is_stateless};
use crate::front::http::stateless_fast_path::StatelessFastPath;
use crate::front::http::traced_sink::parented;
use crate::limits::BATCH_MEMBERS;
use crate::pump::FlushSet;
use crate::session::end_calls;

pub(super) const EVENTS: &str = "text/event-stream";

/// `POST`: one message, or several where the revision has batches. Returns what the head was good
/// for, if that may come again.
pub(super) fn post(visit: &Visit<'_, '_>, reply: Reply, touched: &mut FlushSet) -> Option<Cached> {
    let both_eras = !visit.front.context.face.simple;
    let usable = check_post(visit.request);
    if usable.is_ok() && both_eras && stateless::is_announced(&visit.request.headers) {
        stateless::post(visit, reply, touched);
        return StatelessFastPath::of(visit).map(Cached::Alone);
    }
    match usable.and_then(|()| session(visit)) {
        Ok(session) => {
            converse(visit.front, &session, visit.body, reply, touched);
            return Some(Cached::Session(session));
        }
        Err(why) => read(visit.body, |posted| match (posted, why) {
            (
                Posted::Message(message),
                Refusal::NoSession | Refusal::Revision | Refusal::UnknownSession,
            ) if both_eras && is_stateless(&message) => {
                stateless::take(visit, &message, reply, touched);
            }
            (Posted::Message(message), Refusal::NoSession) if is_initialize(&message) => {
                initialize(visit, &message, reply, touched);
            }
            (Posted::Message(message), Refusal::NoSession)
                if both_eras && message.kind == MessageKind::Request && !names_revision(visit) =>
            {
                reply.json(400, &CallError::NoEra.response(message.id()), touched);
            }
            (Posted::Message(message), why) => reply.refuse(why, id_of(&message), touched),
            (Posted::Broken(kind, id), Refusal::NoSession) => {
                reply.refuse(Refusal::Message(kind), id, touched);
            }
            (_, why) => reply.refuse(why, b"null", touched),
        }),
    }
    None
}

/// What is posted in a session.
pub(super) fn converse(
    front: &Front,
    session: &Arc<HttpSession>,
    body: &[u8],
    reply: Reply,
    touched: &mut FlushSet,
) {
    session.seen();
    read(body, |posted| match posted {
        Posted::Message(message) if is_stateless(&message) && !front.context.face.simple => {
            let error = CallError::HeaderMismatch("the head names another revision".to_owned());
            reply.json(400, &error.response(id_of(&message)), touched);
        }
        Posted::Message(message) if is_initialize(&message) => {
            reply.refuse(Refusal::Initialized, message.id(), touched);
        }
        Posted::Message(message) => take(front, session, &message, reply, touched),
        Posted::Batch(batch) => take_batch(front, session, batch, reply, touched),
        Posted::Broken(kind, id) => reply.refuse(Refusal::Message(kind), id, touched),
    });
}

fn check_post(request: &Request<'_>) -> Result<(), Refusal> {
    let willing = |kind| accepts(request.headers.all("accept"), kind);
    // As nearly all clients spell it: found without being read.
    let usual = request.headers.get("accept") == Some(b"application/json, text/event-stream");
    let both = || willing("application/json") && willing(EVENTS);
    if !(usual || both()) {
        return Err(Refusal::NotAcceptable);
    }
    check_type(request.headers.get("content-type"))
}

/// Does the head say which revision its request is of?
fn names_revision(visit: &Visit<'_, '_>) -> bool {
    visit.request.headers.get("mcp-protocol-version").is_some()
}

fn is_initialize(message: &Message<'_>) -> bool {
    message.kind == MessageKind::Request && *message.method() == *b"initialize"
}

/// Opens a session, if the request is good for one.
fn initialize(visit: &Visit<'_, '_>, message: &Message<'_>, reply: Reply, touched: &mut FlushSet) {
    let front = visit.front;
    if front.is_draining() {
        return reply.refuse(Refusal::ShuttingDown, message.id(), touched);
    }
    let params = message.text(message.params.span);
    let Some(asked) = member(params, "protocolVersion").and_then(decode) else {
        let why = "initialize needs `protocolVersion`, a string".to_owned();
        return reply.json(200, &CallError::InvalidParams(why).response(message.id()), touched);
    };
    let agreed = Revision::negotiate(&asked);
    let context = front.contexts.context(visit.request.path(), visit.caller);
    let opened = match front.sessions.open(&context, visit.caller, agreed, &front.clock) {
        Ok(Some(opened)) => opened,
        Ok(None) => return reply.refuse(Refusal::Full, message.id(), touched),
        Err(error) => {
            tracing::error!(%error, "no session can be opened: there are no random numbers");
            return reply.refuse(Refusal::Full, message.id(), touched);
        }
    };
    front.announce(&opened.session);
    let door = door(&opened, Kind::Initialize, reply);
    opened.session.take(message, &door, &opened.session.context.view.snapshot(), touched);
}

/// The door through which the answer to a POST leaves.
fn door(session: &Arc<HttpSession>, kind: Kind, mut reply: Reply) -> ResponseSink {
    let parent = reply.take_parent();
    let conn = Arc::clone(&reply.conn);
    let exchange = Exchange::new(&session.streams, kind, reply);
    conn.watch(Open::Exchange(Arc::downgrade(&exchange)));
    parented(exchange, parent)
}

fn take(
    front: &Front,
    session: &Arc<HttpSession>,
    message: &Message<'_>,
    reply: Reply,
    touched: &mut FlushSet,
) {
    let snapshot = session.session.context.view.snapshot();
    if message.kind != MessageKind::Request {
        session.session.take(message, &front.nowhere, &snapshot, touched);
        return reply.send(202, &[], b"", touched);
    }
    if front.is_draining() {
        return reply.refuse(Refusal::ShuttingDown, message.id(), touched);
    }
    let door = door(session, Kind::Request, reply);
    session.session.take(message, &door, &snapshot, touched);
}

fn take_batch(
    front: &Front,
    session: &Arc<HttpSession>,
    batch: &[u8],
    reply: Reply,
    touched: &mut FlushSet,
) {
    let why = if !session.session.allows_batches() {
        Some(Refusal::Batch)
    } else if !(1..=BATCH_MEMBERS).contains(&elements(batch).count()) {
        Some(Refusal::BatchSize)
    } else {
        front.is_draining().then_some(Refusal::ShuttingDown)
    };
    if let Some(why) = why {
        return reply.refuse(why, b"null", touched);
    }
    let door = door(session, Kind::Batch, reply);
    session.session.receive(batch, &door, &session.session.context.view.snapshot(), touched);
}

fn id_of<'a>(message: &Message<'a>) -> &'a [u8] {
    if message.kind == MessageKind::Request { message.id() } else { b"null" }
}

/// The session a request belongs to.
fn session(visit: &Visit<'_, '_>) -> Result<Arc<HttpSession>, Refusal> {
    let headers = &visit.request.headers;
    let id = headers.get("mcp-session-id").ok_or(Refusal::NoSession)?;
    if let Some(revision) = headers.get("mcp-protocol-version") {
        let known = std::str::from_utf8(revision).ok().and_then(Revision::known);
        known.ok_or(Refusal::Revision)?;
    }
    visit.front.sessions.get(id, visit.caller).ok_or(Refusal::UnknownSession)
}

/// `GET`: a stream for what concerns no call, or the rest of one that broke.
pub(super) fn listen(visit: &Visit<'_, '_>, reply: Reply, touched: &mut FlushSet) {
    match listening(visit) {
        Ok((session, stream, from)) => {
            session.seen();
            stream.attach(reply, &[], from, touched);
            session.session.resume_telling();
        }
        Err(why) => reply.refuse(why, b"null", touched),
    }
}

fn listening(visit: &Visit<'_, '_>) -> Result<(Arc<HttpSession>, Arc<Stream>, From), Refusal> {
    let headers = &visit.request.headers;
    if !accepts(headers.all("accept"), EVENTS) {
        return Err(Refusal::NoEventStream);
    }
    let session = session(visit)?;
    if visit.front.is_draining() {
        return Err(Refusal::ShuttingDown);
    }
    let Some(event) = headers.get("last-event-id") else {
        let general = session.general();
        return Ok((session, general, From::Unsent));
    };
    let (stream, number) = event_id(event).ok_or(Refusal::UnknownEvent)?;
    let stream = session.streams.get(stream).ok_or(Refusal::UnknownEvent)?;
    Ok((session, stream, From::After(number)))
}

/// `STREAM-NUMBER`.
fn event_id(id: &[u8]) -> Option<(u64, u64)> {
    let (stream, number) = std::str::from_utf8(id).ok()?.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

/// `DELETE`: the client needs its session no longer.
pub(super) fn leave(visit: &Visit<'_, '_>, reply: Reply, touched: &mut FlushSet) {
    match session(visit) {
        Ok(session) => {
            end_calls(&session.session.client, touched);
            visit.front.sessions.end(&session);
            reply.send(204, &[], b"", touched);
        }
        Err(why) => reply.refuse(why, b"null", touched),
    }
}

#[cfg(test)]
mod tests {
    use trunkline_wire::scan;

    use super::*;

    #[test]
    fn initialize_is_known_however_it_is_spelt() {
        for (method, expected) in [
            ("initialize", true),
            ("initial\\u0069ze", true),
            ("tools/call", false),
            ("tools\\/call", false),
            ("initialized", false),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
            assert_eq!(is_initialize(&scan(text.as_bytes()).unwrap()), expected, "{method}");
        }
        let notification = br#"{"jsonrpc":"2.0","method":"initialize"}"#;
        assert!(!is_initialize(&scan(notification).unwrap()));
    }

    #[test]
    fn event_ids() {
        assert_eq!(event_id(b"3-14"), Some((3, 14)));
        for id in [&b""[..], b"3", b"3-", b"-3", b"a-1", b"1-2-3", b"1 - 2", b"\xff-1"] {
            assert_eq!(event_id(id), None, "{id:?}");
        }
    }
}
