//! `/sse` and `/messages`: the transport of revision 2024-11-05. One stream carries everything to the
//! client; what it posts is answered there.

use std::net::IpAddr;
use std::sync::Arc;

use trunkline_http::accepts;
use trunkline_wire::{Edits, Kind};

use super::mcp::no_session;
use super::post::{PostedBody, check_content_type, read_body};
use crate::call::{Payload, Responder, ResponseSink};
use crate::front::http::access::HttpRefusal;
use crate::front::http::connection::{EVENTS, EventStream, Reply};
use crate::front::http::replicas::{ForwardedMatter, forward, holder_of_session};
use crate::front::http::request::HttpRequest;
use crate::front::http::sessions::NoSession;
use crate::limiter::AddressAccount;
use crate::pump::FlushSet;
use crate::session::{Session, receive, take};

/// `GET /sse`: opens the stream and tells where to post.
pub(crate) fn open(request: &HttpRequest<'_, '_>, reply: Reply, touched: &mut FlushSet) {
    let front = request.front;
    if !accepts(request.head.headers.all("accept"), EVENTS) {
        return reply.refuse(HttpRefusal::NoEventStream, b"null", touched);
    }
    if front.is_draining() {
        return reply.refuse(HttpRefusal::ShuttingDown, b"null", touched);
    }
    // The id is all that a POST shows: it must not be guessable.
    let room = front.sessions.has_room_for_sse(&front.context, request.caller);
    let named = room.and_then(|()| front.sessions.new_name().map_err(NoSession::NoRandom));
    let (id, name) = match named {
        Ok(named) => named,
        Err(why) => return reply.refuse(no_session(&why), b"null", touched),
    };
    let conn = Arc::clone(&reply.conn);
    // 2024-11-05, Transports, HTTP with SSE: the first event MUST be `endpoint` and say where to
    // post.
    let endpoint = [b"event: endpoint\ndata: /messages?sessionId=", &name[..], b"\n\n"].concat();
    let stream = EventStream::begin(reply, &[], &endpoint, touched);
    let context = front.contexts.context(request.head.path(), request.caller);
    let session = Session::of(context, request.caller.cloned());
    let client = front.sessions.open_sse((id, name), &session, stream);
    session.client.set_stream(Some(Arc::clone(&client) as _));
    // After the session is in the table: a client that leaves now is found there.
    conn.watch(Arc::downgrade(&client) as _);
    front.announce(&session);
}

/// `POST /messages`: one message, answered on the stream.
pub(crate) fn post(request: &HttpRequest<'_, '_>, mut reply: Reply, touched: &mut FlushSet) {
    let front = request.front;
    let Some(id) = request.head.query().and_then(session_id) else {
        return reply.refuse(HttpRefusal::NoSessionQuery, b"null", touched);
    };
    let Some(client) = front.sessions.get_sse(id.as_bytes(), request.caller) else {
        if let Some(holder) = holder_of_session(request, id.as_bytes()) {
            return forward(request, (holder, ForwardedMatter::Session), reply, touched);
        }
        return reply.refuse(HttpRefusal::UnknownSession, b"null", touched);
    };
    if let Err(why) = check_content_type(request.head.headers.get("content-type")) {
        return reply.refuse(why, b"null", touched);
    }
    let session = &client.session;
    let snapshot = session.context.view.snapshot();
    let sink = traced(Arc::clone(&client) as _, reply.take_parent());
    let outcome = read_body(request.body, |posted| match posted {
        PostedBody::Message(message) if front.is_draining() && message.kind == Kind::Request => {
            Err(HttpRefusal::ShuttingDown)
        }
        PostedBody::Message(message) => {
            take(session, &message, &sink, &snapshot, touched);
            Ok(())
        }
        PostedBody::Batch(batch) if session.allows_batches() => {
            receive(session, batch, &sink, &snapshot, touched);
            Ok(())
        }
        PostedBody::Batch(_) => Err(HttpRefusal::Batch),
        PostedBody::Broken(kind, _) => Err(HttpRefusal::Message(kind)),
    });
    match outcome {
        Ok(()) => reply.send(202, &[("Content-Type", b"text/plain")], b"Accepted", touched),
        Err(why) => reply.refuse(why, b"null", touched),
    }
}

fn session_id(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}

/// The stream itself, unless the request has a `traceparent`: posts share one stream.
fn traced(exit: ResponseSink, parent: Option<Box<str>>) -> ResponseSink {
    match parent {
        None => exit,
        Some(parent) => Arc::new(TracedSink { exit, parent }),
    }
}

/// The stream of a client, with the `traceparent` of one request.
#[derive(Debug)]
struct TracedSink {
    exit: ResponseSink,
    parent: Box<str>,
}

impl Responder for TracedSink {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.exit.say(bytes, edits, touched)
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.exit.answer(payload, edits, touched)
    }

    fn refuse(
        &self,
        code: i64,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        self.exit.refuse(code, payload, edits, touched)
    }

    fn unanswered(&self, touched: &mut FlushSet) {
        self.exit.unanswered(touched);
    }

    fn handed_over(&self) {
        self.exit.handed_over();
    }

    fn parent(&self) -> Option<&str> {
        Some(&self.parent)
    }

    fn address(&self) -> Option<&Arc<AddressAccount>> {
        self.exit.address()
    }

    fn peer(&self) -> Option<IpAddr> {
        self.exit.peer()
    }
}
