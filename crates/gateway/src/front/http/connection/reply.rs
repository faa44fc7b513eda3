//! `Reply`: the one answer that a request is owed. Its holder gives it at once, or later from any
//! thread; the connection waits meanwhile.

use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use trunkline_http::{Request, response_head};
use trunkline_wire::Edits;

use super::conn::Conn;
use crate::front::http::access::{HttpRefusal, PROBLEM, Rejection, problem};
use crate::pump::{FlushSet, Frame};

/// Header fields of a response.
pub(crate) type HeaderFields<'a> = [(&'a str, &'a [u8])];

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) conn: Arc<Conn>,
    mode: ReplyMode,
    done: bool,
}

/// How the client wants to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplyMode {
    /// Another request may follow on this connection.
    pub(crate) keep_alive: bool,
    /// The request was refused before its end was read.
    pub(crate) unread: bool,
    /// The client understands chunks: HTTP/1.0 does not.
    pub(crate) chunks: bool,
    /// The request is `HEAD`: no body is sent.
    pub(crate) headless: bool,
    /// The Origin that the browser may show the answer to.
    pub(crate) origin: Option<Box<str>>,
    /// An attached route: refusals are `problem+json`, not JSON-RPC errors.
    pub(crate) api: bool,
    /// The `traceparent` header, where requests are traced.
    pub(crate) parent: Option<Box<str>>,
}

impl ReplyMode {
    /// What nearly all clients get; the head cache compares with it.
    pub(crate) const PLAIN: Self = Self {
        keep_alive: true,
        unread: false,
        chunks: true,
        headless: false,
        origin: None,
        api: false,
        parent: None,
    };

    pub(crate) fn of(request: &Request<'_>, origin: Option<&str>) -> Self {
        Self {
            // HTTP/1.0 keeps a connection only if told each time; a new one does no harm.
            keep_alive: request.minor >= 1 && request.keeps_alive(),
            unread: false,
            chunks: request.minor >= 1,
            headless: request.method == "HEAD",
            origin: origin.map(Into::into),
            api: false,
            parent: None,
        }
    }

    /// For a request that cannot be read to its end.
    pub(crate) fn lost() -> Self {
        Self { keep_alive: false, unread: true, ..Self::PLAIN }
    }
}

impl Reply {
    /// The connection is busy from now on.
    pub(crate) fn new(conn: &Arc<Conn>, mode: ReplyMode) -> Self {
        conn.begin();
        Self { conn: Arc::clone(conn), mode, done: false }
    }

    /// For a connection that the sweeper has marked busy (`SweepAction::RefuseLate`).
    pub(crate) fn taken(conn: &Arc<Conn>) -> Self {
        let mode = ReplyMode { unread: false, ..ReplyMode::lost() };
        Self { conn: Arc::clone(conn), mode, done: false }
    }

    /// Answers all at once.
    pub(crate) fn send(
        mut self,
        status: u16,
        fields: &HeaderFields<'_>,
        body: &[u8],
        touched: &mut FlushSet,
    ) {
        let mut head = Vec::with_capacity(256);
        self.head(status, fields, Some(body.len()), &mut head);
        // RFC 9110, 9.3.2: the head of a HEAD's answer names the length that a GET would have.
        let body = if self.mode.headless { b"" } else { body };
        let frame = Frame { head: &head, tail: b"" };
        // An error means that the client has closed: the answer has no reader.
        let _ = self.conn.outbox.put_framed(frame, body, &Edits::new());
        self.finish(touched);
    }

    pub(crate) fn json(self, status: u16, body: &[u8], touched: &mut FlushSet) {
        self.send(status, &[("Content-Type", JSON)], body, touched);
    }

    /// Refuses the request; `id` is that of its message, if it is known.
    pub(crate) fn refuse(self, why: HttpRefusal, id: &[u8], touched: &mut FlushSet) {
        self.reject(&why.into(), id, touched);
    }

    /// Refuses the request for a reason of ours or of the gate.
    pub(crate) fn reject(self, why: &Rejection, id: &[u8], touched: &mut FlushSet) {
        let (status, words) = (why.status(), why.words());
        tracing::debug!(status, "a request is refused: {words}");
        let (kind, body) = match self.mode.api {
            true => (PROBLEM, problem(status, &words)),
            false => (JSON, why.body(id)),
        };
        let header = why.header();
        let mut fields = vec![("Content-Type", kind)];
        fields.extend(header.as_ref().map(|(name, value)| (*name, &**value)));
        self.send(status, &fields, &body, touched);
    }

    /// The head of an answer; no `length`: it is a stream.
    pub(crate) fn head(
        &self,
        status: u16,
        fields: &HeaderFields<'_>,
        length: Option<usize>,
        out: &mut Vec<u8>,
    ) {
        let keep_alive = self.mode.keep_alive;
        if let Some(origin) = &self.mode.origin {
            let mut all = fields.to_vec();
            all.push(("Access-Control-Allow-Origin", origin.as_bytes()));
            let exposed = if self.mode.api { EXPOSED_BY_API } else { EXPOSED };
            all.push(("Access-Control-Expose-Headers", exposed));
            // Caches must not show one page the answer that another was allowed.
            all.push(("Vary", b"Origin"));
            response_head(out, status, &all, length, keep_alive);
        } else {
            response_head(out, status, fields, length, keep_alive);
        }
        out.truncate(out.len() - HEAD_END.len());
        self.conn.write_date(out);
        out.extend_from_slice(HEAD_END);
    }

    /// The head of an answer in JSON. Nearly all answers are, so the constant part is made once.
    pub(crate) fn json_head(&self, length: usize, out: &mut Vec<u8>) {
        if !self.mode.keep_alive || self.mode.origin.is_some() {
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

    /// Takes the `traceparent` of the request, if requests are traced.
    pub(crate) fn take_parent(&mut self) -> Option<Box<str>> {
        self.mode.parent.take()
    }

    pub(crate) fn is_headless(&self) -> bool {
        self.mode.headless
    }

    pub(crate) fn has_chunks(&self) -> bool {
        self.mode.chunks
    }

    /// The whole answer is in the outbox: the connection becomes free, or ends.
    pub(crate) fn finish(&mut self, touched: &mut FlushSet) {
        self.done = true;
        touched.note(&self.conn.outbox);
        match &self.mode {
            // The rest of the request cannot be told from the next one.
            ReplyMode { unread: true, .. } => self.conn.leave(),
            ReplyMode { keep_alive: true, .. } => self.conn.free(),
            _ => self.conn.outbox.close_when_written(),
        }
    }
}

/// The head of a plain answer up to its length.
static JSON_HEAD: OnceLock<Vec<u8>> = OnceLock::new();
/// Behind the last field of a head.
const HEAD_END: &[u8] = b"\r\n";
/// The end of that head, with the length it is made with.
const LENGTH_END: &str = "0\r\n\r\n";

pub(crate) const JSON: &[u8] = b"application/json";
const EXPOSED: &[u8] = b"Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate";
const EXPOSED_BY_API: &[u8] = b"ETag, Link, Location, Retry-After, WWW-Authenticate";

impl Drop for Reply {
    /// Dropped unanswered: closes the connection, so that the client does not wait.
    fn drop(&mut self) {
        if !self.done {
            self.conn.outbox.close();
        }
    }
}
