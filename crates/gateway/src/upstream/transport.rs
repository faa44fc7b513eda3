//! `Transport`: how messages reach a server: down a pipe, or posted over the network; and the parts of
//! requests and responses that matter on the way.

use std::fmt::Debug;
use std::sync::Arc;

use tokio::sync::oneshot;
use trunkline_catalog::Listing;
use trunkline_wire::{Edits, Kind, Message, Params, Span};

use crate::pump::{FlushSet, Outbox, Refused};

/// An id of ours. Counts up from a random nine-digit number: a small number in some payload or a
/// stray answer is not mistaken for one of ours, and a server that keeps ids in 32 bits, or prints
/// numbers with 14 digits, still answers under the right one.
pub(crate) type UpstreamId = u32;

/// What a request is about, for HTTP headers that repeat it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heading<'a> {
    /// As written, without its quotes.
    pub(crate) method: &'a [u8],
    /// The server's own name or URI, with its quotes.
    pub(crate) name: Option<&'a [u8]>,
    pub(crate) arguments: Option<&'a [u8]>,
}

impl<'a> Heading<'a> {
    /// Of a client's request on which these changes are made.
    pub(super) fn of(message: &Message<'a>, changes: &[(Span, &'a [u8])]) -> Self {
        let changed = |span: Span| {
            let new = changes.iter().find(|(at, _)| *at == span).map(|(_, new)| *new);
            new.unwrap_or_else(|| span.of(message.bytes))
        };
        let Params { name, uri, arguments, .. } = message.params;
        Self {
            method: message.text(message.method),
            name: name.or(uri).map(changed),
            arguments: arguments.map(changed),
        }
    }
}

/// Where an answer to a request of our own comes: the whole response, or why it is no good.
pub(crate) type Answer = oneshot::Receiver<Result<Vec<u8>, String>>;

/// The parts of a response that matter on its way.
#[derive(Clone, Copy, Debug)]
pub(in crate::upstream) struct ResponseShape {
    pub(in crate::upstream) id: Span,
    pub(in crate::upstream) kind: Kind,
    pub(in crate::upstream) result: Option<Span>,
    pub(in crate::upstream) result_type: Option<Span>,
    pub(in crate::upstream) error: Option<Span>,
}

impl ResponseShape {
    pub(in crate::upstream) fn of(message: &Message<'_>) -> Option<Self> {
        let Message { kind, result, result_type, error, .. } = *message;
        Some(Self { id: message.id?, kind, result, result_type, error })
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Transport {
    /// One message a line.
    Pipe(Outbox),
    Post(Arc<dyn NetworkTransport>),
}

/// A transport over the network. What comes back goes to `Connection::receive`.
pub(crate) trait NetworkTransport: Debug + Send + Sync {
    /// Sends a message. `id`: it is a request, and this is its id. Called with `Pending` locked: must
    /// not call back into the connection.
    fn send(
        &self,
        id: Option<UpstreamId>,
        heading: Option<&Heading<'_>>,
        bytes: &[u8],
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> Result<(), Refused>;
    /// May the server have seen this request?
    fn may_have_run(&self, id: UpstreamId) -> bool;
    /// Does this request wait no longer, so that it cannot be taken back?
    fn is_on_its_way(&self, id: UpstreamId) -> bool;
    /// Sends nothing more of this request. May the server have seen it?
    fn withdraw(&self, id: UpstreamId) -> bool;
    /// The answer to this request is no longer needed.
    fn forget(&self, id: UpstreamId);
    /// Does what a server asks or says come with the request it belongs to?
    fn ties_questions_to_calls(&self) -> bool;
    /// What the server offers now: some of its tools want their arguments in headers, too.
    fn learn(&self, listing: &Listing);
    /// Nothing more is sent or received.
    fn close(&self);
}

impl Transport {
    /// Sends a request, if the server takes any now. Returns the position behind it, by which
    /// `may_have_run` can tell.
    pub(crate) fn request(
        &self,
        id: UpstreamId,
        heading: &Heading<'_>,
        bytes: &[u8],
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> Result<u64, Refused> {
        match self {
            Self::Pipe(outbox) => {
                touched.note(outbox);
                // Bounded: a request can be refused with "busy". Answers and notifications (`tell`)
                // cannot, and are put without a bound.
                outbox.put_bounded(bytes, edits)
            }
            Self::Post(post) => {
                post.send(Some(id), Some(heading), bytes, edits, touched).map(|()| 0)
            }
        }
    }

    /// Sends a message that has no answer. False if the server has gone.
    pub(crate) fn tell(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        match self {
            Self::Pipe(outbox) => {
                touched.note(outbox);
                outbox.put(bytes, edits).is_ok()
            }
            Self::Post(post) => post.send(None, None, bytes, edits, touched).is_ok(),
        }
    }

    /// Sends nothing more through a pipe, and says what may have reached the server in the end. To be
    /// asked before `close`.
    pub(crate) fn end(&self) -> Reach<'_> {
        // The pipe is closed first: what was written after the question would be said not to have
        // run, and be sent again. A pool is closed later: a closed one has forgotten which requests
        // still waited in it.
        if let Self::Pipe(outbox) = self {
            outbox.close();
        }
        self.reach()
    }

    /// Sends nothing more of this request, and says whether it may have run. Only for the end: a pipe is
    /// closed for every request.
    pub(crate) fn withdraw(&self, id: UpstreamId, sent_at: u64) -> bool {
        match self {
            Self::Pipe(_) => self.end().may_have_run(id, sent_at),
            Self::Post(post) => post.withdraw(id),
        }
    }

    /// What may have reached the server so far.
    fn reach(&self) -> Reach<'_> {
        match self {
            Self::Pipe(outbox) => Reach::Written(outbox.written()),
            Self::Post(post) => Reach::Posted(&**post),
        }
    }

    /// Can this request run although it is called off now? What is put in front of a pipe is written.
    pub(crate) fn is_on_its_way(&self, id: UpstreamId) -> bool {
        match self {
            Self::Pipe(_) => true,
            Self::Post(post) => post.is_on_its_way(id),
        }
    }

    /// How often a call that may be made again is. A process that has gone is gone; in the network,
    /// who comes back at once may meet the same server going.
    pub(in crate::upstream) fn most_repeats(&self) -> u8 {
        match self {
            Self::Pipe(_) => 1,
            Self::Post(_) => 3,
        }
    }

    pub(crate) fn forget(&self, id: UpstreamId) {
        match self {
            Self::Pipe(_) => {}
            Self::Post(post) => post.forget(id),
        }
    }

    pub(crate) fn ties_questions_to_calls(&self) -> bool {
        match self {
            Self::Pipe(_) => false,
            Self::Post(post) => post.ties_questions_to_calls(),
        }
    }

    pub(crate) fn learn(&self, listing: &Listing) {
        match self {
            Self::Pipe(_) => {}
            Self::Post(post) => post.learn(listing),
        }
    }

    pub(crate) fn close(&self) {
        match self {
            Self::Pipe(outbox) => outbox.close(),
            Self::Post(post) => post.close(),
        }
    }
}

/// What the server may have received: a request that was not written did not run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reach<'a> {
    Written(u64),
    Posted(&'a dyn NetworkTransport),
}

impl Reach<'_> {
    pub(crate) fn may_have_run(self, id: UpstreamId, sent_at: u64) -> bool {
        match self {
            // Only if all of it is written: a server cannot act on half a line.
            Self::Written(written) => sent_at <= written,
            Self::Posted(post) => post.may_have_run(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_withdrawn_from_a_pipe_is_not_written_later() {
        // Nobody writes yet, as if the server did not read.
        let outbox = Outbox::default();
        let transport = Transport::Pipe(outbox.clone());
        let heading = Heading { method: b"tools/call", name: None, arguments: None };
        let mut touched = FlushSet::default();
        let sent_at = transport.request(1, &heading, b"{}", &Edits::new(), &mut touched).unwrap();
        assert!(!transport.withdraw(1, sent_at), "nothing of it was written");
        assert!(outbox.put(b"{}", &Edits::new()).is_err(), "nothing can be written any more");
        assert_eq!(outbox.written(), 0);
        touched.flush();
    }
}
