//! What an HTTP client sends: cut into requests, each handed on when it has come in whole and the
//! one before it is answered.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use trunkline_http::{BadBody, Body, Framing, Request, request};
use trunkline_wire::Edits;

use crate::front::http::budget::Share;
use crate::front::http::conn::{Conn, Open, Stage};
use crate::front::http::front::Front;
use crate::front::http::mcp::converse;
use crate::front::http::refusal::Refusal;
use crate::front::http::repeat::Repeated;
use crate::front::http::reply::{Manner, Reply};
use crate::front::http::routes::{Admission, Visit, admit, follow};
use crate::front::http::sessions::HttpSession;
use crate::pump::{Frame, Reader, SourceHandle, Touched};

#[derive(Debug)]
pub(super) struct HttpReader {
    front: Arc<Front>,
    conn: Arc<Conn>,
    buffer: Vec<u8>,
    reading: Reading,
    /// The head of the last message that was posted here.
    repeated: Option<Repeated>,
    /// Its place among the connections.
    _place: OwnedSemaphorePermit,
}

/// What the next bytes are.
#[derive(Debug)]
enum Reading {
    Head,
    /// Head and body follow each other in the buffer.
    Whole {
        length: usize,
        _share: Share,
    },
    Chunks(Box<Chunks>),
    /// Of no interest: the request was refused.
    Nothing,
}

#[derive(Debug)]
struct Chunks {
    head: Vec<u8>,
    body: Body,
    decoded: Vec<u8>,
    share: Share,
}

/// What came of looking at the bytes.
enum Step {
    Used(usize),
    More,
}

impl HttpReader {
    pub(super) fn new(front: &Arc<Front>, conn: &Arc<Conn>, place: OwnedSemaphorePermit) -> Self {
        Self {
            front: Arc::clone(front),
            conn: Arc::clone(conn),
            buffer: Vec::new(),
            reading: Reading::Head,
            repeated: None,
            _place: place,
        }
    }

    fn step(&mut self, bytes: &[u8], touched: &mut Touched) -> Step {
        match &mut self.reading {
            Reading::Head => match self.repeat(bytes, touched) {
                Some(used) => Step::Used(used),
                None => self.head(bytes, touched),
            },
            Reading::Whole { length, .. } if bytes.len() < *length => {
                self.conn.reached(Stage::Body, bytes.len());
                Step::More
            }
            Reading::Whole { .. } => {
                self.reading = Reading::Head;
                self.head(bytes, touched)
            }
            Reading::Chunks(_) => self.chunks(bytes, touched),
            Reading::Nothing => Step::Used(bytes.len()),
        }
    }

    /// The same head as before, and all of its body.
    fn repeat(&self, bytes: &[u8], touched: &mut Touched) -> Option<usize> {
        let repeated = self.repeated.as_ref()?;
        let (head, length) = repeated.find(bytes)?;
        let body = bytes.get(head..head + length)?;
        if length > self.front.message_limit {
            return None;
        }
        let reply = Reply::new(&self.conn, Manner::PLAIN);
        converse(&self.front, &repeated.session, body, reply, touched);
        Some(head + length)
    }

    fn head(&mut self, bytes: &[u8], touched: &mut Touched) -> Step {
        match request(bytes) {
            Ok(Some((request, length))) => {
                let (head, rest) = bytes.split_at_checked(length).unwrap_or_default();
                self.begin(&request, head, rest, touched)
            }
            Ok(None) => {
                self.conn.reached(Stage::Head, 0);
                Step::More
            }
            Err(bad) => self.lose(bad.into(), Manner::lost(), touched),
        }
    }

    /// The head is there; `rest` is what has come behind it.
    fn begin(
        &mut self,
        request: &Request<'_>,
        head: &[u8],
        rest: &[u8],
        touched: &mut Touched,
    ) -> Step {
        let length = match request.body() {
            Ok(Framing::Length(length)) => Some(usize::try_from(length).unwrap_or(usize::MAX)),
            Ok(Framing::None) => Some(0),
            Ok(Framing::Chunked | Framing::UntilClose) => None,
            Err(bad) => return self.lose(bad.into(), Manner::lost(), touched),
        };
        let admission = admit(&self.front, request);
        let limit = self.front.message_limit;
        let too_large = length.is_some_and(|length| length > limit);
        let whole = length.and_then(|length| rest.get(..length)).filter(|_| !too_large);
        if let Some(body) = whole {
            let posted = self.handle(request, &admission, body, touched);
            let manner = admission.manner(request);
            self.repeated =
                posted.and_then(|session| Repeated::new(session, head, request, &manner));
            return Step::Used(head.len() + body.len());
        }
        let mut share = Share::new(&self.front.bodies);
        let why = match admission.route {
            Err(why) => Some(why),
            Ok(_) if too_large => Some(Refusal::TooLarge(limit)),
            Ok(_) if !share.grow(length.unwrap_or_default()) => Some(Refusal::Crowded),
            Ok(_) => None,
        };
        if let Some(why) = why {
            let manner = admission.manner(request);
            return self.lose(why, Manner { keep_alive: false, unread: true, ..manner }, touched);
        }
        if rest.is_empty() && request.expects_continue() {
            self.say_continue(touched);
        }
        self.conn.reached(Stage::Body, rest.len());
        self.begin_body(length, head, share)
    }

    fn begin_body(&mut self, length: Option<usize>, head: &[u8], share: Share) -> Step {
        if let Some(length) = length {
            self.reading = Reading::Whole { length: head.len() + length, _share: share };
            return Step::More;
        }
        let body = Body::new(Framing::Chunked, self.front.message_limit);
        let chunks = Chunks { head: head.to_vec(), body, decoded: Vec::new(), share };
        self.reading = Reading::Chunks(Box::new(chunks));
        Step::Used(head.len())
    }

    fn chunks(&mut self, bytes: &[u8], touched: &mut Touched) -> Step {
        let Reading::Chunks(mut chunks) = std::mem::replace(&mut self.reading, Reading::Head)
        else {
            return Step::More; // not reached: only chunks come here
        };
        let limit = self.front.message_limit;
        let used = match chunks.body.decode(bytes, &mut chunks.decoded) {
            Ok(used) => used,
            Err(BadBody::TooLarge) => {
                return self.lose(Refusal::TooLarge(limit), Manner::lost(), touched);
            }
            Err(bad) => return self.lose(Refusal::Body(bad), Manner::lost(), touched),
        };
        if !chunks.body.is_complete() {
            if !chunks.share.grow(chunks.decoded.len()) {
                return self.lose(Refusal::Crowded, Manner::lost(), touched);
            }
            self.conn.reached(Stage::Body, chunks.decoded.len());
            self.reading = Reading::Chunks(chunks);
        } else if let Ok(Some((request, _))) = request(&chunks.head) {
            let admission = admit(&self.front, &request);
            self.handle(&request, &admission, &chunks.decoded, touched);
        }
        Step::Used(used)
    }

    /// A request has come in whole. Returns the session a message was posted in, if the head was
    /// good for that.
    fn handle(
        &self,
        request: &Request<'_>,
        admission: &Admission<'_>,
        body: &[u8],
        touched: &mut Touched,
    ) -> Option<Arc<HttpSession>> {
        let reply = Reply::new(&self.conn, admission.manner(request));
        match admission.route {
            Ok(route) => {
                let visit = Visit { front: &self.front, request, body };
                follow(route, &visit, reply, touched)
            }
            Err(why) => {
                reply.refuse(why, b"null", touched);
                None
            }
        }
    }

    /// Refuses a request that cannot be read to its end: what follows cannot be made sense of.
    fn lose(&mut self, why: Refusal, manner: Manner, touched: &mut Touched) -> Step {
        self.reading = Reading::Nothing;
        Reply::new(&self.conn, manner).refuse(why, b"null", touched);
        Step::Used(0)
    }

    fn say_continue(&self, touched: &mut Touched) {
        let frame = Frame { head: b"HTTP/1.1 100 Continue\r\n\r\n", tail: b"" };
        // Closed: the end is on its way here.
        let _ = self.conn.outbox.put_framed(frame, b"", &Edits::new());
        touched.note(&self.conn.outbox);
    }
}

impl Reader for HttpReader {
    fn room(&mut self) -> &mut Vec<u8> {
        let held = self.buffer.len();
        if self.buffer.capacity() - held < ROOM {
            let expected = match &self.reading {
                Reading::Whole { length, .. } => length.saturating_sub(held),
                Reading::Chunks(_) => KEPT_CAPACITY,
                Reading::Head | Reading::Nothing => 0,
            };
            // What is announced is believed only as far as it has come.
            self.buffer.reserve_exact(expected.clamp(2 * ROOM, held.max(LARGE_ROOM)));
        }
        &mut self.buffer
    }

    fn take(&mut self, source: &SourceHandle, touched: &mut Touched) {
        let buffer = std::mem::take(&mut self.buffer);
        let mut rest = &buffer[..];
        while !rest.is_empty() && !self.conn.must_wait(rest.len(), source) {
            match self.step(rest, touched) {
                Step::Used(used) => rest = rest.get(used..).unwrap_or_default(),
                Step::More => break,
            }
        }
        let used = buffer.len() - rest.len();
        self.buffer = buffer;
        self.used(used);
    }

    fn ended(&mut self, touched: &mut Touched) {
        match self.conn.ended() {
            Open::Once(once) => {
                if let Some(once) = once.upgrade() {
                    once.left(touched);
                }
            }
            // The answer is still written, if anybody takes it.
            Open::Nothing | Open::Exchange(_) => {}
            Open::Stream(stream) => {
                if let Some(stream) = stream.upgrade() {
                    stream.detach(&self.conn);
                }
            }
            Open::Sse(client) => {
                if let Some(client) = client.upgrade() {
                    self.front.sse_left(&client);
                }
            }
        }
    }
}

/// For the head of a request and a small body. Most connections are idle: little is kept for each.
const ROOM: usize = 4 * 1024;
const LARGE_ROOM: usize = 256 * 1024;
const KEPT_CAPACITY: usize = 64 * 1024;

impl HttpReader {
    /// Drops bytes that need not be looked at again.
    fn used(&mut self, used: usize) {
        if used < self.buffer.len() {
            self.buffer.drain(..used);
        } else if self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer = Vec::new();
        } else {
            self.buffer.clear();
        }
    }
}
