//! `/mcp`: Streamable HTTP, revisions 2025-03-26 to 2025-11-25.

use std::sync::Arc;

use memchr::memchr2;
use trunkline_http::{Request, accepts, is_type};
use trunkline_wire::{
    Fault, FaultKind, Kind as MessageKind, Message, Revision, decode, elements, is_json, member,
    scan,
};

use crate::call::Door;
use crate::error::CallError;
use crate::front::http::conn::Open;
use crate::front::http::events::{From, Stream};
use crate::front::http::exchange::{Exchange, Kind};
use crate::front::http::refusal::Refusal;
use crate::front::http::reply::Reply;
use crate::front::http::routes::Visit;
use crate::front::http::sessions::HttpSession;
use crate::limits::BATCH_MEMBERS;
use crate::pump::Touched;

pub(super) const EVENTS: &str = "text/event-stream";
const JSON_TYPE: &str = "application/json";

/// What a body turned out to be.
#[derive(Debug)]
pub(super) enum Posted<'a> {
    Message(Message<'a>),
    Batch(&'a [u8]),
    /// Why it is none of these, and the id if one was seen.
    Broken(FaultKind, &'a [u8]),
}

/// Reads a body, without the line ends a message may have between its tokens: servers get one
/// message a line.
pub(super) fn read<T>(body: &[u8], then: impl FnOnce(Posted<'_>) -> T) -> T {
    let posted = parse(body);
    if memchr2(b'\n', b'\r', body).is_none() || matches!(posted, Posted::Broken(..)) {
        return then(posted);
    }
    // It is JSON: no string holds a raw line end.
    let line: Vec<u8> =
        body.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    then(parse(&line))
}

fn parse(body: &[u8]) -> Posted<'_> {
    match scan(body) {
        Ok(message) => Posted::Message(message),
        Err(Fault { kind: FaultKind::Batch, .. }) if is_json(body) => Posted::Batch(body),
        Err(Fault { kind: FaultKind::Batch, .. }) => Posted::Broken(FaultKind::NotJson, b"null"),
        Err(fault) => {
            let id = fault.id.map(|span| span.of(body)).unwrap_or_default();
            let usable = matches!(id.first(), Some(b'"' | b'-' | b'0'..=b'9'));
            let twice = matches!(fault.kind, FaultKind::Duplicate("id"));
            Posted::Broken(fault.kind, if usable && !twice { id } else { b"null" })
        }
    }
}

pub(super) fn check_body(content_type: Option<&[u8]>) -> Result<(), Refusal> {
    let json = content_type.is_some_and(|value| is_type(value, JSON_TYPE));
    if json { Ok(()) } else { Err(Refusal::MediaType) }
}

/// `POST`: one message, or several where the revision has batches.
pub(super) fn post(visit: Visit<'_, '_>, reply: Reply, touched: &mut Touched) {
    if let Err(why) = check_post(visit.request) {
        return reply.refuse(why, b"null", touched);
    }
    let body = visit.body;
    read(body, |posted| match posted {
        Posted::Message(message) if is_initialize(&message) => {
            initialize(&visit, &message, reply, touched);
        }
        Posted::Message(message) => take(visit, &message, reply, touched),
        Posted::Batch(batch) => take_batch(visit, batch, reply, touched),
        Posted::Broken(kind, id) => reply.refuse(Refusal::Message(kind), id, touched),
    });
}

fn check_post(request: &Request<'_>) -> Result<(), Refusal> {
    let willing = |kind| accepts(request.headers.all("accept"), kind);
    // As nearly all clients spell it: found without being read.
    let usual = request.headers.get("accept") == Some(b"application/json, text/event-stream");
    let both = || willing(JSON_TYPE) && willing(EVENTS);
    if !(usual || both()) {
        return Err(Refusal::NotAcceptable);
    }
    check_body(request.headers.get("content-type"))
}

fn is_initialize(message: &Message<'_>) -> bool {
    message.kind == MessageKind::Request && *message.method() == *b"initialize"
}

/// Opens a session, if the request is good for one.
fn initialize(visit: &Visit<'_, '_>, message: &Message<'_>, reply: Reply, touched: &mut Touched) {
    let front = visit.front;
    if let Some(id) = visit.request.headers.get(SESSION) {
        let known = front.sessions.get(id).is_some();
        let why = if known { Refusal::Initialized } else { Refusal::UnknownSession };
        return reply.refuse(why, message.id(), touched);
    }
    if front.is_draining() {
        return reply.refuse(Refusal::ShuttingDown, message.id(), touched);
    }
    let params = message.text(message.params.span);
    let Some(asked) = member(params, "protocolVersion").and_then(decode) else {
        let why = "initialize needs `protocolVersion`, a string".to_owned();
        return reply.json(200, &CallError::InvalidParams(why).response(message.id()), touched);
    };
    let agreed = Revision::negotiate(&asked);
    let context = front.context_of(visit.request.path());
    let opened = match front.sessions.open(&context, agreed, &front.clock) {
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
fn door(session: &Arc<HttpSession>, kind: Kind, reply: Reply) -> Door {
    let conn = Arc::clone(&reply.conn);
    let exchange = Exchange::new(&session.streams, kind, reply);
    conn.watch(Open::Exchange(Arc::downgrade(&exchange)));
    Door::Exit(exchange)
}

fn take(mut visit: Visit<'_, '_>, message: &Message<'_>, reply: Reply, touched: &mut Touched) {
    let session = match session(&mut visit) {
        Ok(session) => session,
        Err(why) => return reply.refuse(why, id_of(message), touched),
    };
    let front = visit.front;
    let snapshot = session.session.context.view.snapshot();
    if message.kind != MessageKind::Request {
        session.session.take(message, &front.nowhere, &snapshot, touched);
        return reply.send(202, &[], b"", touched);
    }
    if front.is_draining() {
        return reply.refuse(Refusal::ShuttingDown, message.id(), touched);
    }
    let door = door(&session, Kind::Request, reply);
    session.session.take(message, &door, &snapshot, touched);
}

fn take_batch(mut visit: Visit<'_, '_>, batch: &[u8], reply: Reply, touched: &mut Touched) {
    let session = match session(&mut visit) {
        Ok(session) => session,
        Err(why) => return reply.refuse(why, b"null", touched),
    };
    if !session.session.allows_batches() {
        return reply.refuse(Refusal::Batch, b"null", touched);
    }
    if !(1..=BATCH_MEMBERS).contains(&elements(batch).count()) {
        return reply.refuse(Refusal::BatchSize, b"null", touched);
    }
    if visit.front.is_draining() {
        return reply.refuse(Refusal::ShuttingDown, b"null", touched);
    }
    let door = door(&session, Kind::Batch, reply);
    session.session.receive(batch, &door, &session.session.context.view.snapshot(), touched);
}

fn id_of<'a>(message: &Message<'a>) -> &'a [u8] {
    if message.kind == MessageKind::Request { message.id() } else { b"null" }
}

const SESSION: &str = "mcp-session-id";

/// The session a request belongs to.
fn session(visit: &mut Visit<'_, '_>) -> Result<Arc<HttpSession>, Refusal> {
    let headers = &visit.request.headers;
    let id = headers.get(SESSION).ok_or(Refusal::NoSession)?;
    if let Some(revision) = headers.get("mcp-protocol-version") {
        let known = std::str::from_utf8(revision).ok().and_then(Revision::known);
        known.ok_or(Refusal::Revision)?;
    }
    let last = visit.known.as_ref().filter(|last| last.id == *id && !last.is_over());
    let session = match last {
        Some(last) => Arc::clone(last),
        None => {
            let found = visit.front.sessions.get(id).ok_or(Refusal::UnknownSession)?;
            *visit.known = Some(Arc::clone(&found));
            found
        }
    };
    session.seen();
    Ok(session)
}

/// `GET`: a stream for what concerns no call, or the rest of one that broke.
pub(super) fn listen(mut visit: Visit<'_, '_>, reply: Reply, touched: &mut Touched) {
    match listening(&mut visit) {
        Ok((session, stream, from)) => {
            stream.attach(reply, &[], from, touched);
            session.session.can_be_told();
        }
        Err(why) => reply.refuse(why, b"null", touched),
    }
}

fn listening(visit: &mut Visit<'_, '_>) -> Result<(Arc<HttpSession>, Arc<Stream>, From), Refusal> {
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
pub(super) fn leave(mut visit: Visit<'_, '_>, reply: Reply, touched: &mut Touched) {
    match session(&mut visit) {
        Ok(session) => {
            session.cancel_calls(&visit.front.nowhere, touched);
            visit.front.sessions.end(&session);
            reply.send(204, &[], b"", touched);
        }
        Err(why) => reply.refuse(why, b"null", touched),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(body: &str) -> String {
        read(body.as_bytes(), |posted| match posted {
            Posted::Message(message) => String::from_utf8(message.bytes.to_vec()).unwrap(),
            Posted::Batch(batch) => format!("batch {}", String::from_utf8_lossy(batch)),
            Posted::Broken(kind, id) => format!("{kind:?} {}", String::from_utf8_lossy(id)),
        })
    }

    #[test]
    fn line_ends_between_tokens_are_dropped() {
        for (body, expected) in [
            (
                "{\"jsonrpc\":\"2.0\",\r\n \"method\":\"a\\nb\"\n}\n",
                "{\"jsonrpc\":\"2.0\", \"method\":\"a\\nb\"}",
            ),
            ("[\n{}\n]", "batch [{}]"),
            ("[\n{]", "NotJson null"),
            ("[\"\n\"]", "NotJson null"),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"a\nb\"}", "NotJson null"),
            ("{\"id\":7,\"method\":\"a\"}", "NotJsonRpc 7"),
            ("", "Truncated null"),
            ("nonsense", "NotJson null"),
        ] {
            assert_eq!(kind(body), expected, "{body}");
        }
    }

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
