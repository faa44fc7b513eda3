//! `/mcp` in sessions: Streamable HTTP of revisions 2025-03-26 to 2025-11-25. A POST of the stateless
//! era goes on to `stateless`.

use std::sync::Arc;

use trunkline_http::{Request, accepts};
use trunkline_wire::{Kind as MessageKind, Message, Revision, elements};

use super::post::{PostKind, PostReply, PostedBody, check_content_type, is_stateless, read_body};
use super::stateless;
use super::stateless_fast_path::StatelessFastPath;
use crate::call::ResponseSink;
use crate::error::CallError;
use crate::front::http::access::HttpRefusal;
use crate::front::http::connection::{EVENTS, Reply};
use crate::front::http::front::Front;
use crate::front::http::replicas::{ForwardedMatter, forward, holder_of_session};
use crate::front::http::request::HttpRequest;
use crate::front::http::sessions::{HttpSession, NoSession, ResumableStream, ResumeFrom};
use crate::limits::BATCH_MEMBERS;
use crate::pump::FlushSet;
use crate::session::{self, end_calls, negotiate, receive, take};

/// Where a message goes whose head is known from the message before it.
#[derive(Debug)]
pub(crate) enum CachedRoute {
    /// To this session.
    Session(Arc<HttpSession>),
    /// To a tool, without a session.
    Stateless(StatelessFastPath),
}

/// `POST`: one message, or several where the revision has batches. Returns the route that the head
/// may take again without checks.
pub(crate) fn post(
    request: &HttpRequest<'_, '_>,
    reply: Reply,
    touched: &mut FlushSet,
) -> Option<CachedRoute> {
    let both_eras = !request.front.context.gateway_info.simple;
    let usable = check_head(request.head);
    if usable.is_ok() && both_eras && stateless::is_announced(&request.head.headers) {
        stateless::post(request, reply, touched);
        return StatelessFastPath::of(request).map(CachedRoute::Stateless);
    }
    match usable.and_then(|()| session_of(request)) {
        Ok(session) => {
            post_in_session(request.front, &session, request.body, reply, touched);
            return Some(CachedRoute::Session(session));
        }
        Err(HttpRefusal::Elsewhere(holder)) => {
            forward(request, (holder, ForwardedMatter::Session), reply, touched);
        }
        Err(why) => read_body(request.body, |posted| match (posted, why) {
            (
                PostedBody::Message(message),
                HttpRefusal::NoSession | HttpRefusal::Revision | HttpRefusal::UnknownSession,
            ) if both_eras && is_stateless(&message) => {
                stateless::take(request, &message, reply, touched);
            }
            // 2025-11-25, Transports, Session Management: only `initialize` may come without a
            // session.
            (PostedBody::Message(message), HttpRefusal::NoSession) if is_initialize(&message) => {
                initialize(request, &message, reply, touched);
            }
            (PostedBody::Message(message), HttpRefusal::NoSession)
                if both_eras
                    && message.kind == MessageKind::Request
                    && !names_revision(request) =>
            {
                reply.json(400, &CallError::NoEra.response(message.id()), touched);
            }
            (PostedBody::Message(message), why) => reply.refuse(why, id_of(&message), touched),
            (PostedBody::Broken(kind, id), HttpRefusal::NoSession) => {
                reply.refuse(HttpRefusal::Message(kind), id, touched);
            }
            (_, why) => reply.refuse(why, b"null", touched),
        }),
    }
    None
}

/// Takes what is posted in a session.
pub(crate) fn post_in_session(
    front: &Front,
    session: &Arc<HttpSession>,
    body: &[u8],
    reply: Reply,
    touched: &mut FlushSet,
) {
    session.touch();
    read_body(body, |posted| match posted {
        PostedBody::Message(message)
            if is_stateless(&message) && !front.context.gateway_info.simple =>
        {
            let error = CallError::HeaderMismatch("the head names another revision".to_owned());
            reply.json(400, &error.response(id_of(&message)), touched);
        }
        PostedBody::Message(message) if is_initialize(&message) => {
            reply.refuse(HttpRefusal::Initialized, message.id(), touched);
        }
        PostedBody::Message(message) => take_message(front, session, &message, reply, touched),
        PostedBody::Batch(batch) => take_batch(front, session, batch, reply, touched),
        PostedBody::Broken(kind, id) => reply.refuse(HttpRefusal::Message(kind), id, touched),
    });
}

fn check_head(head: &Request<'_>) -> Result<(), HttpRefusal> {
    let willing = |kind| accepts(head.headers.all("accept"), kind);
    // Nearly all clients spell it so: compared as a whole, without parsing.
    let usual = head.headers.get("accept") == Some(b"application/json, text/event-stream");
    let both = || willing("application/json") && willing(EVENTS);
    // 2025-11-25, Transports, Sending Messages to the Server: the client MUST accept both types,
    // since the server chooses.
    if !(usual || both()) {
        return Err(HttpRefusal::NotAcceptable);
    }
    check_content_type(head.headers.get("content-type"))
}

/// Does the head say which revision its request is of?
fn names_revision(request: &HttpRequest<'_, '_>) -> bool {
    request.head.headers.get("mcp-protocol-version").is_some()
}

fn is_initialize(message: &Message<'_>) -> bool {
    message.kind == MessageKind::Request && *message.method() == *b"initialize"
}

/// Opens a session, if the request can have one.
fn initialize(
    request: &HttpRequest<'_, '_>,
    message: &Message<'_>,
    reply: Reply,
    touched: &mut FlushSet,
) {
    let front = request.front;
    if front.is_draining() {
        return reply.refuse(HttpRefusal::ShuttingDown, message.id(), touched);
    }
    let agreed = match negotiate(message) {
        Ok(agreed) => agreed,
        Err(error) => return reply.json(200, &error.response(message.id()), touched),
    };
    let context = front.contexts.context(request.head.path(), request.caller);
    let opened = match front.sessions.open(&context, request.caller, agreed, &front.clock) {
        Ok(opened) => opened,
        Err(why) => return reply.refuse(no_session(&why), message.id(), touched),
    };
    // Lists may change before the client asks for them.
    front.announce(&opened.session);
    let sink: ResponseSink =
        PostReply::new(PostKind::Initialize(Arc::clone(&opened.streams)), reply);
    session::initialize(&opened.session, (message, agreed), &sink, touched);
}

pub(super) fn no_session(why: &NoSession) -> HttpRefusal {
    match why {
        NoSession::Full => HttpRefusal::Full,
        NoSession::CallerFull(most) => HttpRefusal::CallerFull(*most),
        NoSession::NoRandom(error) => {
            tracing::error!(%error, "cannot create a session id: getrandom failed");
            HttpRefusal::Full
        }
    }
}

fn take_message(
    front: &Front,
    session: &Arc<HttpSession>,
    message: &Message<'_>,
    reply: Reply,
    touched: &mut FlushSet,
) {
    let snapshot = session.session.context.view.snapshot();
    if message.kind != MessageKind::Request {
        take(&session.session, message, &front.discard, &snapshot, touched);
        // 2025-11-25, Transports, Sending messages: 202 without a body.
        return reply.send(202, &[], b"", touched);
    }
    if front.is_draining() {
        return reply.refuse(HttpRefusal::ShuttingDown, message.id(), touched);
    }
    let sink: ResponseSink = PostReply::new(PostKind::Request(Arc::clone(&session.streams)), reply);
    take(&session.session, message, &sink, &snapshot, touched);
}

fn take_batch(
    front: &Front,
    session: &Arc<HttpSession>,
    batch: &[u8],
    reply: Reply,
    touched: &mut FlushSet,
) {
    // Only revision 2025-03-26 has batches; 2025-06-18 removed them.
    let why = if !session.session.allows_batches() {
        Some(HttpRefusal::Batch)
    } else if !(1..=BATCH_MEMBERS).contains(&elements(batch).count()) {
        Some(HttpRefusal::BatchSize)
    } else {
        front.is_draining().then_some(HttpRefusal::ShuttingDown)
    };
    if let Some(why) = why {
        return reply.refuse(why, b"null", touched);
    }
    let sink: ResponseSink = PostReply::new(PostKind::Batch(Arc::clone(&session.streams)), reply);
    let snapshot = session.session.context.view.snapshot();
    receive(&session.session, batch, &sink, &snapshot, touched);
}

fn id_of<'a>(message: &Message<'a>) -> &'a [u8] {
    if message.kind == MessageKind::Request { message.id() } else { b"null" }
}

/// The session a request belongs to.
fn session_of(request: &HttpRequest<'_, '_>) -> Result<Arc<HttpSession>, HttpRefusal> {
    let headers = &request.head.headers;
    let id = headers.get("mcp-session-id").ok_or(HttpRefusal::NoSession)?;
    // It may be missing: the session knows what was negotiated (2025-11-25, Transports, Protocol
    // version header).
    if let Some(revision) = headers.get("mcp-protocol-version") {
        let known = std::str::from_utf8(revision).ok().and_then(Revision::known);
        // 2025-11-25, Transports, Protocol version header: an unknown one is refused with 400.
        known.ok_or(HttpRefusal::Revision)?;
    }
    match request.front.sessions.get(id, request.caller) {
        Some(session) => Ok(session),
        None => Err(match holder_of_session(request, id) {
            Some(holder) => HttpRefusal::Elsewhere(holder),
            None => HttpRefusal::UnknownSession,
        }),
    }
}

/// `GET`: a stream for what concerns no call, or the rest of one that broke.
pub(crate) fn listen(request: &HttpRequest<'_, '_>, reply: Reply, touched: &mut FlushSet) {
    match listening(request) {
        Ok((session, stream, from)) => {
            session.touch();
            stream.attach(reply, &[], from, touched);
            session.session.check_lists();
        }
        Err(HttpRefusal::Elsewhere(holder)) => {
            forward(request, (holder, ForwardedMatter::Session), reply, touched);
        }
        Err(why) => reply.refuse(why, b"null", touched),
    }
}

fn listening(
    request: &HttpRequest<'_, '_>,
) -> Result<(Arc<HttpSession>, Arc<ResumableStream>, ResumeFrom), HttpRefusal> {
    let headers = &request.head.headers;
    // 2025-11-25, Transports, Listening for Messages from the Server: the client MUST accept an
    // event stream.
    if !accepts(headers.all("accept"), EVENTS) {
        return Err(HttpRefusal::NoEventStream);
    }
    let session = session_of(request)?;
    if request.front.is_draining() {
        return Err(HttpRefusal::ShuttingDown);
    }
    // 2025-11-25, Transports, Resumability and Redelivery: only what the same stream would have
    // carried may be sent again.
    let Some(event) = headers.get("last-event-id") else {
        let general = session.open_general();
        return Ok((session, general, ResumeFrom::Unsent));
    };
    let (stream, number) = event_id(event).ok_or(HttpRefusal::UnknownEvent)?;
    let stream = session.streams.get(stream).ok_or(HttpRefusal::UnknownEvent)?;
    Ok((session, stream, ResumeFrom::After(number)))
}

/// `STREAM-NUMBER`.
fn event_id(id: &[u8]) -> Option<(u64, u64)> {
    let (stream, number) = std::str::from_utf8(id).ok()?.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

/// `DELETE`: the client needs its session no longer.
pub(crate) fn leave(request: &HttpRequest<'_, '_>, reply: Reply, touched: &mut FlushSet) {
    // 2025-11-25, Transports, Session Management: DELETE is how a client ends its session.
    match session_of(request) {
        Ok(session) => {
            // Before the session ends: its calls are answered, not forgotten.
            end_calls(&session.session.client, touched);
            request.front.sessions.end(&session);
            reply.send(204, &[], b"", touched);
        }
        Err(HttpRefusal::Elsewhere(holder)) => {
            forward(request, (holder, ForwardedMatter::Session), reply, touched);
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
