//! What comes back on one connection: one response after the other, each read as it comes in.

use std::sync::Arc;

use trunkline_http::{BadBody, Body, Event, Events, Framing, Response, response};

use crate::call::Payload;
use crate::limits::{LARGE_MESSAGE, REFUSAL_BYTES};
use crate::pump::{FlushSet, Reader, SourceHandle};
use crate::upstream::http::slot::Slot;
use crate::upstream::http::transport::HttpTransport;
use crate::upstream::http::verdict::{Facts, Verdict};

/// Room offered to one read: a usual answer in one go; more once a body turns out to be large.
const ROOM: usize = 16 * 1024;
const LARGE_ROOM: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Responses {
    transport: Arc<HttpTransport>,
    slot: Arc<Slot>,
    /// Bytes as they came, not yet looked at.
    raw: Vec<u8>,
    incoming: Option<Incoming>,
    /// The connection is being closed; what still comes is not read.
    over: bool,
}

/// A response whose body has not come completely.
#[derive(Debug)]
struct Incoming {
    facts: Facts,
    coding: Coding,
    content: Content,
}

#[derive(Debug)]
enum Coding {
    /// So many bytes as they are: read to where they are wanted.
    Plain(usize),
    Framed(Body),
}

#[derive(Debug)]
enum Content {
    Whole(Vec<u8>),
    Events(Box<Events>),
}

impl Responses {
    pub(super) fn new(line: Arc<HttpTransport>, slot: Arc<Slot>) -> Self {
        Self { transport: line, slot, raw: Vec::new(), incoming: None, over: false }
    }

    /// Looks at a head. False: more bytes are needed first.
    fn head(&mut self, touched: &mut FlushSet) -> bool {
        let (response, length) = match response(&self.raw) {
            Ok(Some(read)) => read,
            Ok(None) => return false,
            Err(bad) => return self.break_off(&format!("answers with bad HTTP: {bad}"), touched),
        };
        // RFC 9110, 15.2: a client MUST be able to take interim responses, also those it did not
        // ask for.
        if response.is_interim() {
            self.raw.drain(..length);
            return true;
        }
        let Some((purpose, session)) = self.slot.purpose() else {
            tracing::debug!(server = %self.transport.key, "a response nobody asked for");
            self.over = true;
            self.transport.connections.drop_slot(&self.slot);
            return false;
        };
        let mut facts = Facts::new(purpose, session, self.transport.dialect, &response);
        if self.transport.is_forwarded && !says_kept(&response) {
            facts.keep = None;
        }
        self.transport.begun(&facts, &response);
        let framing = match response.body(false) {
            Ok(framing) => framing,
            Err(bad) => return self.break_off(&format!("answers with bad HTTP: {bad}"), touched),
        };
        let here = self.raw.len() - length;
        let is_whole =
            framing == Framing::Length(here as u64) && here <= self.transport.limits.message;
        if is_whole && facts.verdict == Verdict::Message {
            self.answer_at_once(&facts, length, touched);
            return false;
        }
        self.begin(facts, framing, length, touched)
    }

    /// The usual answer: it is there completely, and nothing else is.
    fn answer_at_once(&mut self, facts: &Facts, head: usize, touched: &mut FlushSet) {
        let body = self.raw.get(head..).unwrap_or_default();
        self.transport.answered(facts.purpose, Payload::Borrowed(body), touched);
        self.raw.clear();
        self.transport.connections.finish(&self.slot, facts.keep, touched);
    }

    fn begin(
        &mut self,
        facts: Facts,
        framing: Framing,
        head: usize,
        touched: &mut FlushSet,
    ) -> bool {
        let limit = match facts.verdict {
            Verdict::Message => self.transport.limits.message,
            _ => usize::MAX,
        };
        if !matches!(facts.verdict, Verdict::Message | Verdict::Events) {
            self.slot.unwanted(); // what it says is known; the rest must not take for ever
        }
        let (coding, content) = match (facts.verdict, framing) {
            (Verdict::Events, _) => {
                let events = Box::new(Events::new(self.transport.limits.message));
                (Coding::Framed(Body::new(framing, limit)), Content::Events(events))
            }
            (Verdict::Message, Framing::Length(length)) => {
                let Some(length) = usize::try_from(length).ok().filter(|length| *length <= limit)
                else {
                    return self.too_large(&facts, touched);
                };
                // Not all that is announced: a server may announce much and send nothing.
                let mut content = Vec::with_capacity(length.min(LARGE_ROOM));
                content.extend_from_slice(self.raw.get(head..).unwrap_or_default());
                self.raw.clear();
                (Coding::Plain(length), Content::Whole(content))
            }
            _ => (Coding::Framed(Body::new(framing, limit)), Content::Whole(Vec::new())),
        };
        if !self.raw.is_empty() {
            self.raw.drain(..head);
        }
        self.incoming = Some(Incoming { facts, coding, content });
        true
    }

    /// Takes what has come of the body. False: more bytes are needed.
    fn body(&mut self, touched: &mut FlushSet) -> bool {
        let Some(incoming) = &mut self.incoming else { return false };
        match incoming.absorb(&mut self.raw) {
            Ok(()) => {}
            Err(BadBody::TooLarge) => {
                let facts = self.incoming.take().map(|incoming| incoming.facts);
                return facts.is_some_and(|facts| self.too_large(&facts, touched));
            }
            Err(bad) => return self.break_off(&format!("answers with bad HTTP: {bad}"), touched),
        }
        if let Content::Events(events) = &mut incoming.content {
            deliver(&self.transport, &self.slot, &incoming.facts, events, touched);
        }
        if !incoming.is_complete() {
            return false;
        }
        self.complete(touched);
        !self.over
    }

    /// The response is there.
    fn complete(&mut self, touched: &mut FlushSet) {
        let Some(Incoming { mut facts, coding, content }) = self.incoming.take() else { return };
        if !self.raw.is_empty() {
            // RFC 9112, 9.2: bytes that no request is waiting for must not be taken for the next
            // response.
            facts.keep = None; // what follows belongs to no request of ours
        }
        let content = match content {
            Content::Whole(content) => content,
            Content::Events(events) => {
                self.over |= facts.keep.is_none();
                return self.transport.stream_ended(&self.slot, &facts, &events, touched);
            }
        };
        let mut content = content;
        if let Coding::Plain(length) = coding
            && content.len() > length
        {
            facts.keep = None;
            content.truncate(length);
        }
        self.over |= facts.keep.is_none();
        match facts.verdict {
            Verdict::Message => {
                let payload = if content.len() < LARGE_MESSAGE {
                    Payload::Borrowed(&content)
                } else {
                    Payload::Owned(content)
                };
                self.transport.answered(facts.purpose, payload, touched);
                self.transport.connections.finish(&self.slot, facts.keep, touched);
            }
            Verdict::Accepted => {
                self.transport.accepted(facts.purpose, facts.status, touched);
                self.transport.connections.finish(&self.slot, facts.keep, touched);
                self.transport.told.notify_one();
            }
            _ => self.transport.refused(&self.slot, &facts, &content, touched),
        }
    }

    fn too_large(&mut self, facts: &Facts, touched: &mut FlushSet) -> bool {
        self.over = true;
        self.transport.too_large(facts.purpose, touched);
        self.transport.connections.drop_slot(&self.slot);
        false
    }

    /// The connection cannot be understood any further.
    fn break_off(&mut self, what: &str, touched: &mut FlushSet) -> bool {
        self.over = true;
        self.incoming = None;
        if let Some((exchange, _)) = self.transport.connections.drop_slot(&self.slot).exchange {
            self.transport.broke_off(exchange, what, touched);
        }
        false
    }
}

impl Reader for Responses {
    fn room(&mut self) -> &mut Vec<u8> {
        let (room, wanted) = match &mut self.incoming {
            Some(Incoming {
                coding: Coding::Plain(length),
                content: Content::Whole(content),
                ..
            }) => {
                // One byte more: what follows is noticed.
                let left = (*length + 1).saturating_sub(content.len());
                let step = content.len().max(LARGE_ROOM);
                (content, left.min(step))
            }
            Some(_) => (&mut self.raw, 4 * ROOM),
            None => (&mut self.raw, ROOM),
        };
        if room.capacity() - room.len() < wanted.min(ROOM) {
            // Exactly: a whole answer is passed on as it is, and may wait for its reader.
            room.reserve_exact(wanted);
        }
        room
    }

    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet) {
        loop {
            if self.over {
                self.raw.clear();
                return;
            }
            let goes_on = match self.incoming {
                None if self.raw.is_empty() => false,
                None => self.head(touched),
                Some(_) => self.body(touched),
            };
            if !goes_on {
                break;
            }
        }
        // Nothing is lost on a client that does not read: its servers are not read either.
        touched.hold_if_crowded(source);
    }

    fn panicked(&mut self, touched: &mut FlushSet) {
        let what =
            "answered with something that Trunkline failed on (an internal error: see its log)";
        self.break_off(what, touched);
    }

    fn ended(&mut self, touched: &mut FlushSet) {
        if let Some(incoming) = &mut self.incoming {
            incoming.facts.keep = None;
            if incoming.end() {
                return self.complete(touched);
            }
            if let Content::Events(events) = &incoming.content {
                return self.transport.stream_ended(&self.slot, &incoming.facts, events, touched);
            }
            self.break_off("broke off in the middle of its answer", touched);
            return;
        }
        let began = !self.raw.is_empty();
        let ending = self.transport.connections.drop_slot(&self.slot);
        if ending.cut && !began {
            self.transport.connections.pool.lock().note_cut();
        }
        match ending.exchange {
            None => {}
            // Only what was not written at all is sent again unasked (RFC 9110, 9.2.2: a POST is
            // not idempotent).
            Some((exchange, may_have_run)) if began || may_have_run => {
                self.transport.unanswered(exchange, touched);
            }
            Some((exchange, _)) => self.transport.unsent(exchange, touched),
        }
    }
}

impl Incoming {
    /// Moves what has come to where it is wanted.
    fn absorb(&mut self, raw: &mut Vec<u8>) -> Result<(), BadBody> {
        let Coding::Framed(body) = &mut self.coding else { return Ok(()) };
        let taken = match &mut self.content {
            Content::Events(events) => body.decode(raw, events.room())?,
            Content::Whole(content) => {
                let taken = body.decode(raw, content)?;
                if self.facts.verdict != Verdict::Message {
                    content.truncate(REFUSAL_BYTES); // enough to say why
                }
                taken
            }
        };
        if taken == raw.len() {
            raw.clear();
        } else {
            raw.drain(..taken);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        match (&self.coding, &self.content) {
            (Coding::Plain(length), Content::Whole(content)) => content.len() >= *length,
            (Coding::Framed(body), _) => body.is_complete(),
            (Coding::Plain(_), Content::Events(_)) => false,
        }
    }

    /// The connection has ended: was that the end of the response?
    fn end(&mut self) -> bool {
        match &mut self.coding {
            Coding::Plain(_) => false,
            Coding::Framed(body) => body.end().is_ok(),
        }
    }
}

/// Passes on every event that is complete.
fn deliver(
    line: &HttpTransport,
    slot: &Arc<Slot>,
    facts: &Facts,
    events: &mut Events,
    touched: &mut FlushSet,
) {
    while let Some(event) = events.next() {
        match event {
            Event::TooLong(head) => line.event_too_large(facts.purpose, head, touched),
            Event::Message { name, data, .. } if *name != *b"message" => {
                line.named_event(name, data, touched);
            }
            Event::Message { data: [], .. } => {} // only its id counts
            Event::Message { data, .. } if data.len() < LARGE_MESSAGE => {
                line.said(slot, facts.purpose, Payload::Borrowed(data), touched);
            }
            Event::Message { .. } => {
                let data = Payload::Owned(events.take_data());
                line.said(slot, facts.purpose, data, touched);
            }
        }
    }
}

/// Does a proxy promise to keep the connection? Some close it behind each answer and pass on the head of a
/// server that does not: a request that meets the end of a connection may or may not have been heard, so
/// only one that was promised is used again.
fn says_kept(response: &Response<'_>) -> bool {
    let kept = |name| response.headers.has_token(name, "keep-alive");
    kept("connection") || kept("proxy-connection")
}
