//! `Transport`: the way to one server: down a pipe, or posted over the network; and the parts of requests
//! and responses that matter on it.

use std::fmt::Debug;

use tokio::sync::oneshot;
use trunkline_catalog::Listing;
use trunkline_wire::{Edits, Kind, Span};

use crate::pump::{FlushSet, Refused};

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

/// How messages reach a server. What comes back goes to `Connection::receive`.
pub(crate) trait Transport: Debug + Send + Sync {
    /// Sends a message, if the server takes any now. `request`: it has an answer, under this id. Returns
    /// the position behind it, by which `may_have_run` can tell. Called with `Pending` locked: must not
    /// call back into the connection.
    fn send(
        &self,
        request: Option<(UpstreamId, &Heading<'_>)>,
        bytes: &[u8],
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> Result<u64, Refused>;
    /// May the server have seen this request, which ends at this position?
    fn may_have_run(&self, id: UpstreamId, sent_at: u64) -> bool;
    /// Can this request run although it is called off now?
    fn is_on_its_way(&self, id: UpstreamId) -> bool;
    /// Sends nothing more of this request. May the server have seen it? Only for the end: a pipe is closed
    /// for every request.
    fn withdraw(&self, id: UpstreamId, sent_at: u64) -> bool;
    /// The answer to this request is no longer needed.
    fn forget(&self, id: UpstreamId);
    /// Does what a server asks or says come with the request it belongs to?
    fn ties_questions_to_calls(&self) -> bool;
    /// What the server offers now: some of its tools want their arguments in headers, too.
    fn learn(&self, listing: &Listing);
    /// How often a call that may be made again is.
    fn most_repeats(&self) -> u8;
    /// Do messages take one pipe, in their order?
    fn is_pipe(&self) -> bool;
    /// Sends nothing more if that settles what may have run. To be called before `close`.
    fn end(&self);
    /// Nothing more is sent or received.
    fn close(&self);
}
