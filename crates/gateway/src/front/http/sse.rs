//! Clients of the old transport (revision 2024-11-05): one stream carries everything to the client,
//! and what it posts is answered there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trunkline_http::accepts;
use trunkline_wire::{Edits, Kind};

use crate::call::{Payload, Responder, ResponseSink};
use crate::front::http::caller::Owner;
use crate::front::http::clock::Clock;
use crate::front::http::conn::Open;
use crate::front::http::events::{COMMENT, around, comment, end, framed, put, stream_head};
use crate::front::http::front::Front;
use crate::front::http::mcp::EVENTS;
use crate::front::http::posted::{Posted, check_type, read};
use crate::front::http::refusal::Refusal;
use crate::front::http::reply::Reply;
use crate::front::http::routes::Visit;
use crate::front::http::sessions::{SessionId, random_id};
use crate::front::http::traced_sink::parented;
use crate::limits::{SESSIONS, STREAM_BYTES};
use crate::lock::{Mutex, rank};
use crate::pump::{FlushSet, Frame};
use crate::session::Session;

/// One client of `/sse`; also the door through which everything leaves for it.
#[derive(Debug)]
pub(super) struct SseSession {
    pub(super) id: SessionId,
    pub(super) session: Arc<Session>,
    pub(super) owner: Owner,
    /// When it was opened.
    pub(super) began: u32,
    clock: Arc<Clock>,
    to: Mutex<Option<Reply>, rank::SseReply>,
    spoken: AtomicU32,
}

/// `GET /sse`: opens the stream and tells where to post.
pub(super) fn open(visit: &Visit<'_, '_>, reply: Reply, touched: &mut FlushSet) {
    let front = visit.front;
    if !accepts(visit.request.headers.all("accept"), EVENTS) {
        return reply.refuse(Refusal::NoEventStream, b"null", touched);
    }
    if front.is_draining() {
        return reply.refuse(Refusal::ShuttingDown, b"null", touched);
    }
    let id = random_id().ok().filter(|_| front.sessions.sse_count() < SESSIONS);
    let Some(id) = id else { return reply.refuse(Refusal::Full, b"null", touched) };
    let conn = Arc::clone(&reply.conn);
    let mut out = stream_head(&reply, &[]);
    let words = [b"event: endpoint\ndata: /messages?sessionId=", &id[..], b"\n\n"].concat();
    framed(&reply, &words, &mut out);
    put(&reply, &out);
    touched.note(&conn.outbox);
    let context = front.contexts.context(visit.request.path(), visit.caller);
    let session = Session::of(context, visit.caller.cloned());
    let client = Arc::new(SseSession {
        id,
        session: Arc::clone(&session),
        owner: Owner::new(visit.caller),
        began: front.clock.now(),
        clock: Arc::clone(&front.clock),
        to: Mutex::new(Some(reply)),
        spoken: AtomicU32::new(front.clock.now()),
    });
    session.client.set_stream(Some(ResponseSink::Responder(Arc::clone(&client) as _)));
    front.sessions.add_sse(&client);
    conn.watch(Open::Sse(Arc::downgrade(&client)));
    front.announce(&session);
}

/// `POST /messages`: one message, answered on the stream.
pub(super) fn post(visit: &Visit<'_, '_>, mut reply: Reply, touched: &mut FlushSet) {
    let front = visit.front;
    let Some(id) = visit.request.query().and_then(session_id) else {
        return reply.refuse(Refusal::NoSessionQuery, b"null", touched);
    };
    let Some(client) = front.sessions.get_sse(id.as_bytes(), visit.caller) else {
        return reply.refuse(Refusal::UnknownSession, b"null", touched);
    };
    if let Err(why) = check_type(visit.request.headers.get("content-type")) {
        return reply.refuse(why, b"null", touched);
    }
    let session = &client.session;
    let snapshot = session.context.view.snapshot();
    let door = parented(Arc::clone(&client) as _, reply.take_parent());
    let outcome = read(visit.body, |posted| match posted {
        Posted::Message(message) if front.is_draining() && message.kind == Kind::Request => {
            Err(Refusal::ShuttingDown)
        }
        Posted::Message(message) => {
            session.take(&message, &door, &snapshot, touched);
            Ok(())
        }
        Posted::Batch(batch) if session.allows_batches() => {
            session.receive(batch, &door, &snapshot, touched);
            Ok(())
        }
        Posted::Batch(_) => Err(Refusal::Batch),
        Posted::Broken(kind, _) => Err(Refusal::Message(kind)),
    });
    match outcome {
        Ok(()) => reply.send(202, &[("Content-Type", b"text/plain")], b"Accepted", touched),
        Err(why) => reply.refuse(why, b"null", touched),
    }
}

fn session_id(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}

impl Front {
    /// The stream of this client is gone, and its session with it.
    pub(super) fn sse_left(&self, client: &SseSession) {
        let Some(left) = self.sessions.remove_sse(client) else { return };
        drop(client.to.lock().take());
        client.session.end();
        if left == 0 {
            self.last_left();
        }
    }
}

impl SseSession {
    pub(super) fn comment(&self, touched: &mut FlushSet) {
        let now = self.clock.now();
        if now.saturating_sub(self.spoken.load(Ordering::Relaxed)) < COMMENT {
            return;
        }
        self.spoken.store(now, Ordering::Relaxed);
        if let Some(reply) = &*self.to.lock() {
            comment(reply, touched);
        }
    }

    /// Ends the stream.
    pub(super) fn close(&self, touched: &mut FlushSet) {
        let reply = self.to.lock().take();
        if let Some(reply) = reply {
            end(reply, touched);
        }
    }

    fn put(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        let to = self.to.lock();
        let Some(reply) = &*to else { return false };
        let outbox = &reply.conn.outbox;
        if outbox.len() > STREAM_BYTES {
            tracing::debug!("a stream that is not read is closed");
            outbox.close();
            return false;
        }
        let (mut before, after) = around(reply, EVENT.len() + edits.length(payload.bytes()));
        before.extend_from_slice(EVENT);
        let frame = Frame { head: &before, tail: after };
        let put = match payload {
            Payload::Borrowed(bytes) => outbox.put_framed(frame, bytes, edits),
            Payload::Owned(bytes) => outbox.put_owned(frame, bytes, edits),
        };
        touched.note(outbox);
        self.spoken.store(self.clock.now(), Ordering::Relaxed);
        put.is_ok()
    }
}

const EVENT: &[u8] = b"event: message\ndata: ";

impl Responder for SseSession {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.put(Payload::Borrowed(bytes), edits, touched)
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.put(payload, edits, touched)
    }

    fn unanswered(&self, _: &mut FlushSet) {}
}
