//! `Line`: how messages reach a server: down a pipe, or posted over the network.

use std::fmt::Debug;
use std::sync::Arc;

use trunkline_wire::Edits;

use crate::pump::{Outbox, Refused, Touched};
use crate::upstream::pending::UpstreamId;

#[derive(Clone, Debug)]
pub(crate) enum Line {
    /// One message a line.
    Pipe(Outbox),
    Post(Arc<dyn Post>),
}

/// A way over the network. What comes back goes to `Connection::receive`.
pub(crate) trait Post: Debug + Send + Sync {
    /// Sends a message. `id`: it is a request, and this is its id. Called with `Pending` locked: must
    /// not call back into the connection.
    fn send(
        &self,
        id: Option<UpstreamId>,
        bytes: &[u8],
        edits: &Edits<'_>,
        touched: &mut Touched,
    ) -> Result<(), Refused>;
    /// May the server have seen this request?
    fn may_have_run(&self, id: UpstreamId) -> bool;
    /// Nobody waits for the answer to this request any more.
    fn forget(&self, id: UpstreamId);
    /// Does what a server asks or says come with the request it belongs to?
    fn says_whose(&self) -> bool;
    /// Nothing more is sent or received.
    fn close(&self);
}

impl Line {
    /// Sends a request, if the server takes any now. Returns the position behind it, by which
    /// `may_have_run` can tell.
    pub(crate) fn request(
        &self,
        id: UpstreamId,
        bytes: &[u8],
        edits: &Edits<'_>,
        touched: &mut Touched,
    ) -> Result<u64, Refused> {
        match self {
            Self::Pipe(outbox) => {
                touched.note(outbox);
                outbox.put_bounded(bytes, edits)
            }
            Self::Post(post) => post.send(Some(id), bytes, edits, touched).map(|()| 0),
        }
    }

    /// Sends a message that has no answer. False if the server has gone.
    pub(crate) fn tell(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut Touched) -> bool {
        match self {
            Self::Pipe(outbox) => {
                touched.note(outbox);
                outbox.put(bytes, edits).is_ok()
            }
            Self::Post(post) => post.send(None, bytes, edits, touched).is_ok(),
        }
    }

    /// What may have reached the server so far; to be asked before `close`.
    pub(crate) fn reach(&self) -> Reach<'_> {
        match self {
            Self::Pipe(outbox) => Reach::Written(outbox.written()),
            Self::Post(post) => Reach::Posted(&**post),
        }
    }

    pub(crate) fn forget(&self, id: UpstreamId) {
        match self {
            Self::Pipe(_) => {}
            Self::Post(post) => post.forget(id),
        }
    }

    pub(crate) fn says_whose(&self) -> bool {
        match self {
            Self::Pipe(_) => false,
            Self::Post(post) => post.says_whose(),
        }
    }

    pub(crate) fn close(&self) {
        match self {
            Self::Pipe(outbox) => outbox.close(),
            Self::Post(post) => post.close(),
        }
    }
}

/// What was not written did not run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reach<'a> {
    Written(u64),
    Posted(&'a dyn Post),
}

impl Reach<'_> {
    pub(crate) fn may_have_run(self, id: UpstreamId, sent_at: u64) -> bool {
        match self {
            Self::Written(written) => sent_at <= written,
            Self::Posted(post) => post.may_have_run(id),
        }
    }
}
