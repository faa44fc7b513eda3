//! What an HTTP client sends: cut into requests, each handed on when it has come in whole and the
//! one before it is answered.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use trunkline_http::{BadBody, Body, Framing, Request, request};
use trunkline_wire::Edits;

use crate::front::http::budget::Share;
use crate::front::http::conn::{Conn, Open, Stage};
use crate::front::http::entry::Line;
use crate::front::http::front::Front;
use crate::front::http::head_cache::{Cached, HeadCache};
use crate::front::http::mcp::converse;
use crate::front::http::refusal::{Refusal, Stop};
use crate::front::http::reply::{Reply, ReplyMode};
use crate::pump::{FlushSet, Frame, Reader, SourceHandle};

#[derive(Debug)]
pub(super) struct HttpReader {
    line: Line,
    buffer: Vec<u8>,
    reading: Reading,
    /// The head of the last message that was posted here.
    repeated: Option<HeadCache>,
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
    too_long: Refusal,
}

/// What came of looking at the bytes.
enum Step {
    Used(usize),
    More,
}

impl HttpReader {
    pub(super) fn new(
        front: &Arc<Front>,
        conn: &Arc<Conn>,
        peer: SocketAddr,
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            line: Line { front: Arc::clone(front), conn: Arc::clone(conn), peer },
            buffer: Vec::new(),
            reading: Reading::Head,
            repeated: None,
            _place: place,
        }
    }

    fn step(&mut self, bytes: &[u8], touched: &mut FlushSet) -> Step {
        match &mut self.reading {
            Reading::Head => match self.repeat(bytes, touched) {
                Some(used) => Step::Used(used),
                None => self.head(bytes, touched),
            },
            Reading::Whole { length, .. } if bytes.len() < *length => {
                self.line.conn.reached(Stage::Body, bytes.len());
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
    fn repeat(&self, bytes: &[u8], touched: &mut FlushSet) -> Option<usize> {
        let repeated = self.repeated.as_ref()?;
        let front = &self.line.front;
        let found = repeated.find(bytes, front.version())?;
        let end = found.head + found.body;
        let body = bytes.get(found.head..end).filter(|_| found.body <= front.message_limit)?;
        match &repeated.good {
            Cached::Session(session) => {
                let reply = Reply::new(&self.line.conn, ReplyMode::PLAIN);
                converse(front, session, body, reply, touched);
            }
            Cached::Alone(alone) => alone.take(&self.line, found.name, body, touched)?,
        }
        Some(end)
    }

    fn head(&mut self, bytes: &[u8], touched: &mut FlushSet) -> Step {
        match request(bytes) {
            Ok(Some((request, length))) => {
                let (head, rest) = bytes.split_at_checked(length).unwrap_or_default();
                self.begin(&request, head, rest, touched)
            }
            Ok(None) => {
                self.line.conn.reached(Stage::Head, 0);
                Step::More
            }
            Err(bad) => self.lose(&Refusal::from(bad).into(), ReplyMode::lost(), touched),
        }
    }

    /// The head is there; `rest` is what has come behind it.
    fn begin(
        &mut self,
        request: &Request<'_>,
        head: &[u8],
        rest: &[u8],
        touched: &mut FlushSet,
    ) -> Step {
        let length = match request.body() {
            Ok(Framing::Length(length)) => Some(usize::try_from(length).unwrap_or(usize::MAX)),
            Ok(Framing::None) => Some(0),
            Ok(Framing::Chunked | Framing::UntilClose) => None,
            Err(bad) => {
                let manner = ReplyMode { api: self.line.is_attached(request), ..ReplyMode::lost() };
                return self.lose(&Refusal::from(bad).into(), manner, touched);
            }
        };
        let entry = self.line.enter(request);
        let too_long = length.is_some_and(|length| length > entry.limit);
        let whole = length.and_then(|length| rest.get(..length)).filter(|_| !too_long);
        if let Some(body) = whole {
            let (manner, version) = (entry.manner.clone(), entry.version);
            let posted = self.line.handle(entry, head, body, touched);
            self.repeated =
                posted.and_then(|good| HeadCache::new(good, head, request, &manner, version));
            return Step::Used(head.len() + body.len());
        }
        let mut share = Share::new(&self.line.front.bodies);
        let why = match entry.way {
            Err(why) => Some(why),
            Ok(_) if too_long => Some(entry.too_long.into()),
            Ok(_) if !share.grow(length.unwrap_or_default()) => Some(Refusal::Crowded.into()),
            Ok(_) => None,
        };
        if let Some(why) = why {
            let manner = ReplyMode { keep_alive: false, unread: true, ..entry.manner };
            return self.lose(&why, manner, touched);
        }
        if rest.is_empty() && request.expects_continue() {
            self.say_continue(touched);
        }
        self.line.conn.reached(Stage::Body, rest.len());
        if let Some(length) = length {
            self.reading = Reading::Whole { length: head.len() + length, _share: share };
            return Step::More;
        }
        let (body, too_long) = (Body::new(Framing::Chunked, entry.limit), entry.too_long);
        let chunks = Chunks { head: head.to_vec(), body, decoded: Vec::new(), share, too_long };
        self.reading = Reading::Chunks(Box::new(chunks));
        Step::Used(head.len())
    }

    fn chunks(&mut self, bytes: &[u8], touched: &mut FlushSet) -> Step {
        let Reading::Chunks(mut chunks) = std::mem::replace(&mut self.reading, Reading::Head)
        else {
            return Step::More; // not reached: only chunks come here
        };
        let used = match chunks.body.decode(bytes, &mut chunks.decoded) {
            Ok(used) => used,
            Err(bad) => {
                let known = request(&chunks.head).ok().flatten();
                let api = known.is_some_and(|(request, _)| self.line.is_attached(&request));
                let why = match bad {
                    BadBody::TooLarge => chunks.too_long,
                    bad => Refusal::Body(bad),
                };
                return self.lose(&why.into(), ReplyMode { api, ..ReplyMode::lost() }, touched);
            }
        };
        if !chunks.body.is_complete() {
            if !chunks.share.grow(chunks.decoded.len()) {
                return self.lose(&Refusal::Crowded.into(), ReplyMode::lost(), touched);
            }
            self.line.conn.reached(Stage::Body, chunks.decoded.len());
            self.reading = Reading::Chunks(chunks);
        } else if let Ok(Some((request, _))) = request(&chunks.head) {
            let entry = self.line.enter(&request);
            self.line.handle(entry, &chunks.head, &chunks.decoded, touched);
        }
        Step::Used(used)
    }

    /// Refuses a request that cannot be read to its end: what follows cannot be made sense of.
    fn lose(&mut self, why: &Stop, manner: ReplyMode, touched: &mut FlushSet) -> Step {
        self.reading = Reading::Nothing;
        Reply::new(&self.line.conn, manner).stop(why, b"null", touched);
        Step::Used(0)
    }

    fn say_continue(&self, touched: &mut FlushSet) {
        let frame = Frame { head: b"HTTP/1.1 100 Continue\r\n\r\n", tail: b"" };
        // Closed: the end is on its way here.
        let _ = self.line.conn.outbox.put_framed(frame, b"", &Edits::new());
        touched.note(&self.line.conn.outbox);
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

    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet) {
        let buffer = std::mem::take(&mut self.buffer);
        let mut rest = &buffer[..];
        while !rest.is_empty() && !self.line.conn.must_wait(rest.len(), source) {
            match self.step(rest, touched) {
                Step::Used(used) => rest = rest.get(used..).unwrap_or_default(),
                Step::More => break,
            }
        }
        let used = buffer.len() - rest.len();
        self.buffer = buffer;
        self.used(used);
    }

    fn ended(&mut self, touched: &mut FlushSet) {
        match self.line.conn.ended() {
            Open::Once(once) => {
                if let Some(once) = once.upgrade() {
                    once.left(touched);
                }
            }
            // The answer is still written, if anybody takes it.
            Open::Nothing | Open::Exchange(_) => {}
            Open::Web(web) => {
                if let Some(web) = web.upgrade() {
                    web.left();
                }
            }
            Open::Stream(stream) => {
                if let Some(stream) = stream.upgrade() {
                    stream.detach(&self.line.conn);
                }
            }
            Open::Sse(client) => {
                if let Some(client) = client.upgrade() {
                    self.line.front.sse_left(&client);
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
            // The start of another request must not keep the room of a large one.
            if used > 0 && self.buffer.len() <= KEPT_CAPACITY / 2 {
                self.buffer.shrink_to(KEPT_CAPACITY);
            }
        } else if self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer = Vec::new();
        } else {
            self.buffer.clear();
        }
    }
}
