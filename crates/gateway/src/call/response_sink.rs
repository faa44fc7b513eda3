//! `ResponseSink`: where messages for a client leave.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use trunkline_wire::Edits;

use crate::pump::{FlushSet, Frame, LINE, Outbox};

/// A message that is being delivered: borrowed from a read buffer, or handed over. It holds no raw
/// newline: those between tokens are dropped where they come in.
#[derive(Debug)]
pub(crate) enum Payload<'a> {
    Borrowed(&'a [u8]),
    Owned(Vec<u8>),
}

impl Payload<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }

    /// Puts it into an outbox, framed and with these changes. False: the stream is closed.
    pub(crate) fn put(self, outbox: &Outbox, frame: Frame<'_>, edits: &Edits<'_>) -> bool {
        let put = match self {
            Self::Borrowed(bytes) => outbox.put_framed(frame, bytes, edits),
            Self::Owned(bytes) => outbox.put_owned(frame, bytes, edits),
        };
        put.is_ok()
    }
}

/// Where messages for a client leave: its one stream, or the exchange in which it asked.
#[derive(Clone, Debug)]
pub(crate) enum ResponseSink {
    /// One message a line.
    Line(Outbox),
    Responder(Arc<dyn Responder>),
}

/// Writes messages to a client in the framing of its front. False: the client has gone.
pub(crate) trait Responder: Debug + Send + Sync {
    /// A message before or besides the answer: progress, a question, a word of the log.
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool;
    /// The answer to the request that came in here.
    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool;
    /// The answer to the request that came in here, which is an error with this code.
    fn refuse(
        &self,
        _code: i64,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        self.answer(payload, edits, touched)
    }
    /// The request that came in here gets no answer: it was cancelled.
    fn unanswered(&self, touched: &mut FlushSet);
    /// The request that came in here had to wait, and is with its server now.
    fn handed_over(&self) {}
    /// The `traceparent` of the head that the request came under, where requests are followed.
    fn parent(&self) -> Option<&str> {
        None
    }
    /// What its client calls the tool, where the request itself does not say.
    fn asked(&self) -> Option<&str> {
        None
    }
}

impl ResponseSink {
    pub(crate) fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        match self {
            Self::Line(outbox) => {
                // The put never blocks; the flush at the end of the round writes it.
                touched.note(outbox);
                outbox.put(bytes, edits).is_ok()
            }
            Self::Responder(responder) => responder.say(bytes, edits, touched),
        }
    }

    pub(crate) fn answer(
        &self,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        match self {
            Self::Line(outbox) => {
                touched.note(outbox);
                let put = match payload {
                    Payload::Borrowed(bytes) => outbox.put(bytes, edits),
                    Payload::Owned(bytes) => outbox.put_owned(LINE, bytes, edits),
                };
                put.is_ok()
            }
            Self::Responder(responder) => responder.answer(payload, edits, touched),
        }
    }

    /// An answer that is an error with this code.
    pub(crate) fn refuse(
        &self,
        code: i64,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        match self {
            Self::Line(_) => self.answer(payload, edits, touched),
            Self::Responder(responder) => responder.refuse(code, payload, edits, touched),
        }
    }

    /// An answer made of a head, a body that others share, and a tail.
    pub(crate) fn answer_shared(
        &self,
        head: &[u8],
        body: &Bytes,
        tail: &[u8],
        touched: &mut FlushSet,
    ) -> bool {
        match self {
            Self::Line(outbox) => {
                touched.note(outbox);
                let tail = [tail, LINE.tail].concat();
                outbox.put_shared(Frame { head, tail: &tail }, body).is_ok()
            }
            Self::Responder(responder) => {
                // A copy: HTTP needs the length in front, and lists are asked for rarely.
                let whole = [head, body, tail].concat();
                responder.answer(Payload::Owned(whole), &Edits::new(), touched)
            }
        }
    }

    pub(crate) fn handed_over(&self) {
        if let Self::Responder(responder) = self {
            responder.handed_over();
        }
    }

    pub(crate) fn parent(&self) -> Option<&str> {
        match self {
            Self::Line(_) => None,
            Self::Responder(responder) => responder.parent(),
        }
    }

    pub(crate) fn asked(&self) -> Option<&str> {
        match self {
            Self::Line(_) => None,
            Self::Responder(responder) => responder.asked(),
        }
    }

    pub(crate) fn unanswered(&self, touched: &mut FlushSet) {
        match self {
            Self::Line(_) => {}
            Self::Responder(responder) => responder.unanswered(touched),
        }
    }
}

/// The sink of messages that have no answer: it drops everything.
#[derive(Debug)]
pub(crate) struct Discard;

impl Responder for Discard {
    fn say(&self, _: &[u8], _: &Edits<'_>, _: &mut FlushSet) -> bool {
        false
    }

    fn answer(&self, _: Payload<'_>, _: &Edits<'_>, _: &mut FlushSet) -> bool {
        false
    }

    fn unanswered(&self, _: &mut FlushSet) {}
}
