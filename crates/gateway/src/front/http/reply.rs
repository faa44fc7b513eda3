//! `Reply`: the answer that one request is owed. Whoever holds it may give it at once, or later
//! from any thread; the connection waits meanwhile.

use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use trunkline_http::{Request, response_head};
use trunkline_wire::Edits;

use crate::front::http::conn::Conn;
use crate::front::http::refusal::{Refusal, Stop, problem};
use crate::front::http::web::PROBLEM;
use crate::pump::{FlushSet, Frame};

/// What is put around the body of an answer.
pub(super) type Fields<'a> = [(&'a str, &'a [u8])];

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) conn: Arc<Conn>,
    manner: ReplyMode,
    done: bool,
}

/// How the client wants to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReplyMode {
    /// Another request may follow on this connection.
    pub(super) keep_alive: bool,
    /// The request was refused before its end was read.
    pub(super) unread: bool,
    /// It understands chunks: HTTP/1.0 does not.
    pub(super) chunks: bool,
    /// It wants the head only.
    pub(super) headless: bool,
    /// The page it belongs to, if its browser may show it the answer.
    pub(super) origin: Option<Box<str>>,
    /// It asked for no message: what is wrong is told in the way of the web.
    pub(super) api: bool,
    /// The `traceparent` of its head, where requests are followed.
    pub(super) parent: Option<Box<str>>,
}

impl ReplyMode {
    /// As nearly all do.
    pub(super) const PLAIN: Self = Self {
        keep_alive: true,
        unread: false,
        chunks: true,
        headless: false,
        origin: None,
        api: false,
        parent: None,
    };

    pub(super) fn of(request: &Request<'_>, origin: Option<&str>) -> Self {
        Self {
            // HTTP/1.0 has to be told each time; nobody who speaks it minds a new connection.
            keep_alive: request.minor >= 1 && request.keeps_alive(),
            unread: false,
            chunks: request.minor >= 1,
            headless: request.method == "HEAD",
            origin: origin.map(Into::into),
            api: false,
            parent: None,
        }
    }

    /// For a request that could not be read.
    pub(super) fn lost() -> Self {
        Self { keep_alive: false, unread: true, ..Self::PLAIN }
    }
}

impl Reply {
    /// The connection is busy from now on.
    pub(super) fn new(conn: &Arc<Conn>, manner: ReplyMode) -> Self {
        conn.begin();
        Self { conn: Arc::clone(conn), manner, done: false }
    }

    /// Of a connection that the sweeper has taken.
    pub(super) fn taken(conn: &Arc<Conn>) -> Self {
        let manner = ReplyMode { unread: false, ..ReplyMode::lost() };
        Self { conn: Arc::clone(conn), manner, done: false }
    }

    /// Answers all at once.
    pub(super) fn send(
        mut self,
        status: u16,
        fields: &Fields<'_>,
        body: &[u8],
        touched: &mut FlushSet,
    ) {
        let mut head = Vec::with_capacity(256);
        self.head(status, fields, Some(body.len()), &mut head);
        let body = if self.manner.headless { b"" } else { body };
        let frame = Frame { head: &head, tail: b"" };
        // Closed: there is nobody to tell.
        let _ = self.conn.outbox.put_framed(frame, body, &Edits::new());
        self.finish(touched);
    }

    pub(super) fn json(self, status: u16, body: &[u8], touched: &mut FlushSet) {
        self.send(status, &[("Content-Type", JSON)], body, touched);
    }

    /// Refuses the request; `id` is that of its message, if it is known.
    pub(super) fn refuse(self, why: Refusal, id: &[u8], touched: &mut FlushSet) {
        self.stop(&why.into(), id, touched);
    }

    /// The same for any reason.
    pub(super) fn stop(self, why: &Stop, id: &[u8], touched: &mut FlushSet) {
        let (status, words) = (why.status(), why.words());
        tracing::debug!(status, "a request is refused: {words}");
        let (kind, body) = match self.manner.api {
            true => (PROBLEM, problem(status, &words)),
            false => (JSON, why.body(id)),
        };
        let mut fields = vec![("Content-Type", kind)];
        fields.extend(why.header());
        self.send(status, &fields, &body, touched);
    }

    /// The head of an answer; no `length`: it is a stream.
    pub(super) fn head(
        &self,
        status: u16,
        fields: &Fields<'_>,
        length: Option<usize>,
        out: &mut Vec<u8>,
    ) {
        let keep_alive = self.manner.keep_alive;
        if let Some(origin) = &self.manner.origin {
            let mut all = fields.to_vec();
            all.push(("Access-Control-Allow-Origin", origin.as_bytes()));
            let exposed = if self.manner.api { EXPOSED_BY_API } else { EXPOSED };
            all.push(("Access-Control-Expose-Headers", exposed));
            all.push(("Vary", b"Origin"));
            response_head(out, status, &all, length, keep_alive);
        } else {
            response_head(out, status, fields, length, keep_alive);
        }
        out.truncate(out.len() - HEAD_END.len());
        self.conn.write_date(out);
        out.extend_from_slice(HEAD_END);
    }

    /// The head of an answer in JSON, which nearly all are.
    pub(super) fn json_head(&self, length: usize, out: &mut Vec<u8>) {
        if !self.manner.keep_alive || self.manner.origin.is_some() {
            return self.head(200, &[("Content-Type", JSON)], Some(length), out);
        }
        out.extend_from_slice(JSON_HEAD.get_or_init(|| {
            let mut head = Vec::new();
            response_head(&mut head, 200, &[("Content-Type", JSON)], Some(0), true);
            head.truncate(head.len() - LENGTH_END.len());
            head
        }));
        // Writing to a vector does not fail.
        let _ = write!(out, "{length}\r\n");
        self.conn.write_date(out);
        out.extend_from_slice(HEAD_END);
    }

    /// Where its request comes from, as far as the head says so.
    pub(super) fn take_parent(&mut self) -> Option<Box<str>> {
        self.manner.parent.take()
    }

    pub(super) fn is_headless(&self) -> bool {
        self.manner.headless
    }

    pub(super) fn has_chunks(&self) -> bool {
        self.manner.chunks
    }

    /// All of the answer is put: the connection is free, or ends.
    pub(super) fn finish(&mut self, touched: &mut FlushSet) {
        self.done = true;
        touched.note(&self.conn.outbox);
        match &self.manner {
            ReplyMode { unread: true, .. } => self.conn.leave(),
            ReplyMode { keep_alive: true, .. } => self.conn.free(),
            _ => self.conn.outbox.close_when_written(),
        }
    }
}

/// The head of a plain answer up to its length: written once, it is the same for all.
static JSON_HEAD: OnceLock<Vec<u8>> = OnceLock::new();
/// Behind the last field of a head.
const HEAD_END: &[u8] = b"\r\n";
/// The end of such a head, with the length it is made with.
const LENGTH_END: &str = "0\r\n\r\n";

pub(super) const JSON: &[u8] = b"application/json";
const EXPOSED: &[u8] = b"Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate";
const EXPOSED_BY_API: &[u8] = b"ETag, Link, Location, Retry-After, WWW-Authenticate";

impl Drop for Reply {
    /// Nobody will answer any more: the client must not wait.
    fn drop(&mut self) {
        if !self.done {
            self.conn.outbox.close();
        }
    }
}
