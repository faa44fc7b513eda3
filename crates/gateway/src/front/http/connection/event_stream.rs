//! `EventStream`: a response that is written piece by piece, most often as server-sent events. Every
//! streamed answer of the front is one: of a POST, of a session's stream, of `/sse`, of an attachment.

use bytes::Bytes;
use trunkline_http::{LAST_CHUNK, chunk, chunk_head};
use trunkline_wire::Edits;

use super::conn::{HeaderFields, Reply};
use crate::call::Payload;
use crate::limits::{COMMENT_SECONDS, STREAM_BYTES};
use crate::pump::{FlushSet, Frame};

#[derive(Debug)]
pub(crate) struct EventStream {
    pub(crate) reply: Reply,
    /// When something was last written.
    spoken: u32,
}

/// The media type of event streams.
pub(crate) const EVENTS: &str = "text/event-stream";

/// The header fields of event streams.
const EVENT_FIELDS: [(&str, &[u8]); 3] = [
    ("Content-Type", EVENTS.as_bytes()),
    ("Cache-Control", b"no-cache, no-transform"),
    ("X-Accel-Buffering", b"no"), // else nginx gathers events before it passes them on
];

/// Before the data of an event that has no number.
pub(crate) const MESSAGE: &[u8] = b"event: message\ndata: ";

impl EventStream {
    /// Writes the head of an event stream with these further fields, and its first piece.
    pub(crate) fn begin(
        reply: Reply,
        fields: &HeaderFields<'_>,
        first: &[u8],
        touched: &mut FlushSet,
    ) -> Self {
        let all: Vec<_> = EVENT_FIELDS.iter().chain(fields).copied().collect();
        Self::begin_as(reply, (200, &all), first, touched)
    }

    /// Writes the head of a response of any status and type, and its first piece.
    pub(crate) fn begin_as(
        reply: Reply,
        (status, fields): (u16, &HeaderFields<'_>),
        first: &[u8],
        touched: &mut FlushSet,
    ) -> Self {
        let mut out = Vec::with_capacity(512);
        reply.head(status, fields, None, &mut out);
        if !reply.has_chunks() {
            remove_chunked(&mut out);
            out.extend_from_slice(first);
        } else if !first.is_empty() {
            chunk(first, &mut out);
        }
        let spoken = reply.conn.now();
        let mut stream = Self { reply, spoken };
        stream.put(&out, touched);
        stream
    }

    /// Writes bytes that need no chunk of their own.
    fn put(&mut self, bytes: &[u8], touched: &mut FlushSet) -> bool {
        let conn = &self.reply.conn;
        self.spoken = conn.now();
        touched.note(&conn.outbox);
        let frame = Frame { head: bytes, tail: b"" };
        conn.outbox.put_framed(frame, b"", &Edits::new()).is_ok()
    }

    /// Writes a piece that is no event. False: the client has gone.
    pub(crate) fn write(&mut self, bytes: &[u8], touched: &mut FlushSet) -> bool {
        if bytes.is_empty() {
            return true; // an empty chunk would end the body (RFC 9112, 7.1)
        }
        if !self.reply.has_chunks() {
            return self.put(bytes, touched);
        }
        let mut out = Vec::with_capacity(bytes.len() + 16);
        chunk(bytes, &mut out);
        self.put(&out, touched)
    }

    /// Writes an event; `head` stands before its data. False: the client has gone.
    pub(crate) fn event(
        &mut self,
        head: &[u8],
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        let (before, tail) = self.around(head, edits.length(payload.bytes()));
        let outbox = &self.reply.conn.outbox;
        touched.note(outbox);
        payload.put(outbox, Frame { head: &before, tail }, edits)
    }

    /// Writes an event whose data others keep, too. False: the client has gone.
    pub(crate) fn shared_event(
        &mut self,
        head: &[u8],
        data: &Bytes,
        touched: &mut FlushSet,
    ) -> bool {
        let (before, tail) = self.around(head, data.len());
        let outbox = &self.reply.conn.outbox;
        touched.note(outbox);
        outbox.put_shared(Frame { head: &before, tail }, data).is_ok()
    }

    /// What stands before and behind the data of an event that is written now.
    fn around(&mut self, head: &[u8], length: usize) -> (Vec<u8>, &'static [u8]) {
        self.spoken = self.reply.conn.now();
        let mut before = Vec::with_capacity(96);
        let chunks = self.reply.has_chunks();
        if chunks {
            chunk_head(head.len() + length + 2, &mut before);
        }
        before.extend_from_slice(head);
        (before, if chunks { b"\n\n\r\n" } else { b"\n\n" })
    }

    /// Has the client taken so little that the stream is given up? What it does not read would
    /// fill our memory.
    pub(crate) fn is_unread(&self) -> bool {
        let unread = self.reply.conn.outbox.len() > STREAM_BYTES;
        if unread {
            tracing::debug!("a stream that is not read is closed");
        }
        unread
    }

    pub(crate) fn comment(&mut self, touched: &mut FlushSet) {
        self.write(b":\n\n", touched);
    }

    /// Writes a comment after a long silence: proxies and clients take a silent connection for dead.
    pub(crate) fn comment_if_silent(&mut self, touched: &mut FlushSet) {
        if self.reply.conn.now().saturating_sub(self.spoken) >= COMMENT_SECONDS {
            self.comment(touched);
        }
    }

    /// Ends the stream; the connection may go on.
    pub(crate) fn end(mut self, touched: &mut FlushSet) {
        if self.reply.has_chunks() {
            let frame = Frame { head: LAST_CHUNK, tail: b"" };
            // `put_shared` knows no overflow: a large answer that still waits must not be lost for
            // the five bytes behind it. An error means that the client has gone.
            let _ = self.reply.conn.outbox.put_shared(frame, &Bytes::new());
        }
        self.reply.finish(touched);
    }
}

/// For a client that knows no chunks: the end of the stream is the connection's.
fn remove_chunked(head: &mut Vec<u8>) {
    if let Some(at) = memchr::memmem::find(head, CHUNKED) {
        head.drain(at..at + CHUNKED.len());
    }
}

const CHUNKED: &[u8] = b"Transfer-Encoding: chunked\r\n";
