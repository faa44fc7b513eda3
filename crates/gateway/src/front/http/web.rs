//! `WebReply`: the answer an attachment owes a request: whole, or as a stream.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use trunkline_http::{is_field_name, is_field_value, is_type};

use crate::front::http::clock::Clock;
use crate::front::http::conn::Open;
use crate::front::http::events::{COMMENT, comment, end, framed, put, unchunked};
use crate::front::http::refusal::problem;
use crate::front::http::reply::Reply;
use crate::limits::STREAM_BYTES;
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;

/// Given at once, or later from any thread. Dropped without an answer, it says that there is none.
pub struct WebReply {
    reply: Option<Reply>,
    clock: Arc<Clock>,
    /// Whoever waits for open requests at the end waits for this one.
    _open: TaskTrackerToken,
}

impl fmt::Debug for WebReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebReply")
    }
}

impl WebReply {
    pub(super) fn new(reply: Reply, clock: &Arc<Clock>, open: TaskTrackerToken) -> Self {
        Self { reply: Some(reply), clock: Arc::clone(clock), _open: open }
    }

    /// Answers all at once. `Content-Length` is added; to `HEAD` the body is not sent. Headers that
    /// cannot be sent are left out.
    pub fn send(mut self, status: u16, headers: &[(&str, &[u8])], body: &[u8]) {
        let mut touched = FlushSet::default();
        if let Some(reply) = self.reply.take() {
            reply.send(status, &proper(headers), body, &mut touched);
        }
        touched.flush();
    }

    /// Begins an answer that comes piece by piece.
    pub fn stream(mut self, status: u16, headers: &[(&str, &[u8])]) -> WebStream {
        let headers = proper(headers);
        let is_events = |(name, value): &(&str, &[u8])| {
            name.eq_ignore_ascii_case("content-type") && is_type(value, "text/event-stream")
        };
        let web = Arc::new(Web {
            events: headers.iter().any(is_events),
            clock: Arc::clone(&self.clock),
            spoken: AtomicU32::new(self.clock.now()),
            to: Mutex::new(None),
            gone: CancellationToken::new(),
        });
        if let Some(reply) = self.reply.take() {
            web.begin(reply, status, &headers);
        }
        WebStream(web)
    }
}

impl Drop for WebReply {
    fn drop(&mut self) {
        let Some(reply) = self.reply.take() else { return };
        let mut touched = FlushSet::default();
        let body = problem(500, "the request was not answered");
        reply.send(500, &[("Content-Type", PROBLEM)], &body, &mut touched);
        touched.flush();
    }
}

pub(super) const PROBLEM: &[u8] = b"application/problem+json";

fn proper<'a>(headers: &[(&'a str, &'a [u8])]) -> Vec<(&'a str, &'a [u8])> {
    let good = headers.iter().filter(|(name, value)| is_field_name(name) && is_field_value(value));
    good.copied().collect()
}

/// An answer that comes piece by piece; dropping it ends it.
pub struct WebStream(Arc<Web>);

impl fmt::Debug for WebStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebStream")
    }
}

impl WebStream {
    /// The next piece. False: the client has gone, or takes so little that it was given up.
    pub fn write(&self, bytes: &[u8]) -> bool {
        let mut touched = FlushSet::default();
        let written = self.0.write(bytes, &mut touched);
        touched.flush();
        written
    }

    pub fn is_closed(&self) -> bool {
        self.0.gone.is_cancelled()
    }

    /// Resolves when the client has gone.
    pub async fn closed(&self) {
        self.0.gone.cancelled().await;
    }
}

impl Drop for WebStream {
    fn drop(&mut self) {
        let mut touched = FlushSet::default();
        self.0.end(&mut touched);
        touched.flush();
    }
}

/// A stream as its connection knows it.
#[derive(Debug)]
pub(super) struct Web {
    /// It is made of events: a comment in between does no harm.
    events: bool,
    clock: Arc<Clock>,
    /// When something was last said.
    spoken: AtomicU32,
    to: Mutex<Option<Reply>, rank::WebReply>,
    gone: CancellationToken,
}

impl Web {
    fn begin(self: &Arc<Self>, reply: Reply, status: u16, headers: &[(&str, &[u8])]) {
        let mut touched = FlushSet::default();
        let mut head = Vec::with_capacity(256);
        reply.head(status, headers, None, &mut head);
        if !reply.has_chunks() {
            unchunked(&mut head);
        }
        put(&reply, &head);
        touched.note(&reply.conn.outbox);
        if reply.is_headless() {
            self.gone.cancel();
            let mut reply = reply;
            reply.finish(&mut touched);
        } else {
            // Whoever leaves from here on is noticed; who has left already, now.
            let conn = Arc::clone(&reply.conn);
            *self.to.lock() = Some(reply);
            conn.watch(Open::Web(Arc::downgrade(self)));
            if conn.has_ended() {
                self.left();
            }
        }
        touched.flush();
    }

    fn write(&self, bytes: &[u8], touched: &mut FlushSet) -> bool {
        let to = self.to.lock();
        let Some(reply) = &*to else { return false };
        let outbox = &reply.conn.outbox;
        if outbox.is_closed() || outbox.len() > STREAM_BYTES {
            tracing::debug!("a stream that is not read is closed");
            drop(to);
            self.left();
            return false;
        }
        if bytes.is_empty() {
            return true; // an empty chunk would be the last
        }
        let mut out = Vec::with_capacity(bytes.len() + 16);
        framed(reply, bytes, &mut out);
        touched.note(outbox);
        self.spoken.store(self.clock.now(), Ordering::Relaxed);
        put(reply, &out)
    }

    /// The client has gone, or is given up.
    pub(super) fn left(&self) {
        drop(self.to.lock().take()); // closes the connection
        self.gone.cancel();
    }

    pub(super) fn comment(&self, touched: &mut FlushSet) {
        let now = self.clock.now();
        if !self.events || now.saturating_sub(self.spoken.load(Ordering::Relaxed)) < COMMENT {
            return;
        }
        self.spoken.store(now, Ordering::Relaxed);
        if let Some(reply) = &*self.to.lock() {
            comment(reply, touched);
        }
    }

    fn end(&self, touched: &mut FlushSet) {
        let reply = self.to.lock().take();
        self.gone.cancel();
        if let Some(reply) = reply {
            end(reply, touched);
        }
    }
}
