//! `WebReply`: the answer that an attachment owes a request: whole, or as a stream.

use std::fmt;
use std::sync::Arc;

use crate::lock::{Mutex, rank};
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use trunkline_http::{is_field_name, is_field_value, is_type};

use super::compress::{Coding, gzip, is_compressible, packed_tag};
use crate::front::http::access::{PROBLEM, problem};
use crate::front::http::connection::{Conn, EVENTS, EventStream, HeaderFields, OpenReply, Reply};
use crate::limits::COMPRESSED_APART;
use crate::pump::FlushSet;

/// Given at once, or later from any thread. Dropped without an answer, it answers with status 500.
pub struct WebReply {
    reply: Option<Reply>,
    way: ReplyWay,
    /// The shutdown waits for open requests, and so for this one.
    _open: TaskTrackerToken,
}

/// How the answers to one request are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyWay {
    pub(crate) coding: Coding,
    /// Browsers are told to use nothing but https for this host.
    pub(crate) hsts: bool,
}

/// A year (RFC 6797, 6.1.1); not for subdomains, which may be somebody else's.
const HSTS: (&str, &[u8]) = ("Strict-Transport-Security", b"max-age=31536000");

impl ReplyWay {
    /// As the answer is.
    pub(crate) const PLAIN: Self = Self { coding: Coding::Identity, hsts: false };

    fn add_to(self, headers: &mut Vec<(&str, &[u8])>) {
        if self.hsts {
            headers.push(HSTS);
        }
    }
}

impl fmt::Debug for WebReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebReply")
    }
}

impl WebReply {
    pub(crate) fn new(reply: Reply, way: ReplyWay, open: TaskTrackerToken) -> Self {
        Self { reply: Some(reply), way, _open: open }
    }

    /// Answers all at once. `Content-Length` is added; to `HEAD` the body is not sent. Headers that
    /// cannot be sent are left out.
    pub fn send(mut self, status: u16, headers: &[(&str, &[u8])], body: &[u8]) {
        let mut headers = proper(headers);
        self.way.add_to(&mut headers);
        if !is_compressible(status, &headers, body.len()) {
            return self.send_as_is(status, &headers, body);
        }
        headers.push(("Vary", b"Accept-Encoding"));
        if self.way.coding == Coding::Identity {
            return self.send_as_is(status, &headers, body);
        }
        if body.len() < COMPRESSED_APART {
            return self.send_packed(status, &headers, body);
        }
        // A list of some megabytes takes longer than everybody else on this thread should wait.
        let owned = |(name, value): &(&str, &[u8])| ((*name).to_owned(), value.to_vec());
        let (headers, body): (Vec<_>, _) = (headers.iter().map(owned).collect(), body.to_vec());
        // Not awaited: the answer belongs to the task, which sends it.
        drop(tokio::task::spawn_blocking(move || {
            let headers: Vec<(&str, &[u8])> =
                headers.iter().map(|(name, value)| (&**name, &**value)).collect();
            self.send_packed(status, &headers, &body);
        }));
    }

    fn send_packed(&mut self, status: u16, headers: &HeaderFields<'_>, body: &[u8]) {
        let Some(packed) = gzip(body) else { return self.send_as_is(status, headers, body) };
        let is_tag = |name: &str| name.eq_ignore_ascii_case("etag");
        let tag = headers.iter().find(|(name, _)| is_tag(name)).map(|(_, tag)| packed_tag(tag));
        let mut all: Vec<(&str, &[u8])> =
            headers.iter().copied().filter(|(name, _)| !is_tag(name)).collect();
        all.extend(tag.as_deref().map(|tag| ("ETag", tag)));
        all.push(("Content-Encoding", b"gzip"));
        self.send_as_is(status, &all, &packed);
    }

    fn send_as_is(&mut self, status: u16, headers: &HeaderFields<'_>, body: &[u8]) {
        let mut touched = FlushSet::default();
        if let Some(reply) = self.reply.take() {
            reply.send(status, headers, body, &mut touched);
        }
        touched.flush();
    }

    /// Begins an answer whose pieces come from elsewhere, and may end anywhere: nothing is written between them.
    pub(crate) fn relay(mut self, status: u16, headers: &[(&str, &[u8])]) -> WebStream {
        let stream = Arc::new(OpenWebStream {
            events: false,
            to: Mutex::new(None),
            gone: CancellationToken::new(),
        });
        if let Some(reply) = self.reply.take() {
            stream.begin(reply, status, &proper(headers));
        }
        WebStream(stream)
    }

    /// Begins an answer that comes piece by piece.
    pub fn stream(mut self, status: u16, headers: &[(&str, &[u8])]) -> WebStream {
        let mut headers = proper(headers);
        self.way.add_to(&mut headers);
        let is_events = |(name, value): &(&str, &[u8])| {
            name.eq_ignore_ascii_case("content-type") && is_type(value, EVENTS)
        };
        let stream = Arc::new(OpenWebStream {
            events: headers.iter().any(is_events),
            to: Mutex::new(None),
            gone: CancellationToken::new(),
        });
        if let Some(reply) = self.reply.take() {
            stream.begin(reply, status, &headers);
        }
        WebStream(stream)
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

fn proper<'a>(headers: &[(&'a str, &'a [u8])]) -> Vec<(&'a str, &'a [u8])> {
    // A header with a line end in it would let its author write the response.
    let good = headers.iter().filter(|(name, value)| is_field_name(name) && is_field_value(value));
    good.copied().collect()
}

/// An answer that comes piece by piece; dropping it ends it.
pub struct WebStream(Arc<OpenWebStream>);

impl fmt::Debug for WebStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebStream")
    }
}

impl WebStream {
    /// Writes the next piece. False: the client has gone, or takes so little that it was given up.
    pub fn write(&self, bytes: &[u8]) -> bool {
        let mut touched = FlushSet::default();
        let written = self.0.write(bytes, &mut touched);
        touched.flush();
        written
    }

    pub fn is_closed(&self) -> bool {
        self.0.gone.is_cancelled()
    }

    /// Breaks it off, so that the client sees that something is missing.
    pub(crate) fn cut(&self) {
        self.0.give_up();
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

/// The stream as its connection knows it.
#[derive(Debug)]
struct OpenWebStream {
    /// It is an event stream: a comment in between does no harm.
    events: bool,
    // Held while a piece is written: the sweeper's comment must not fall into the middle of one.
    to: Mutex<Option<EventStream>, rank::WebReply>,
    gone: CancellationToken,
}

impl OpenWebStream {
    fn begin(self: &Arc<Self>, reply: Reply, status: u16, headers: &HeaderFields<'_>) {
        let mut touched = FlushSet::default();
        let is_head = reply.is_headless();
        let mut stream = EventStream::begin_as(reply, (status, headers), b"", &mut touched);
        if is_head {
            // `HEAD` gets no body: the stream is over at once.
            self.gone.cancel();
            stream.reply.finish(&mut touched);
        } else {
            let conn = Arc::clone(&stream.reply.conn);
            *self.to.lock() = Some(stream);
            conn.watch(Arc::downgrade(self) as _);
            // An end that came before `watch` was reported to no one.
            if conn.has_ended() {
                self.give_up();
            }
        }
        touched.flush();
    }

    fn write(&self, bytes: &[u8], touched: &mut FlushSet) -> bool {
        // The attachment writes on the runtime while the pump may see the client leave.
        let mut to = self.to.lock();
        let Some(stream) = &mut *to else { return false };
        if stream.reply.conn.outbox.is_closed() || stream.is_unread() {
            drop(to);
            self.give_up();
            return false;
        }
        stream.write(bytes, touched)
    }

    /// The client has gone, or takes too little.
    fn give_up(&self) {
        drop(self.to.lock().take()); // closes the connection
        self.gone.cancel();
    }

    fn end(&self, touched: &mut FlushSet) {
        let stream = self.to.lock().take();
        self.gone.cancel();
        if let Some(stream) = stream {
            stream.end(touched);
        }
    }
}

impl OpenReply for OpenWebStream {
    fn tick(&self, _: u32, touched: &mut FlushSet) {
        if let (true, Some(stream)) = (self.events, &mut *self.to.lock()) {
            stream.comment_if_silent(touched);
        }
    }

    fn client_left(&self, _: &Arc<Conn>, _: &mut FlushSet) {
        self.give_up();
    }
}
