//! What is known about the servers and tools of a fleet at one moment.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use trunkline_catalog::Listing;
use trunkline_catalog::config::ToolFilter;

use crate::era::Era;
use crate::upstream::{Failure, Hints, Retry, Server, State, Status};

#[derive(Clone, Debug)]
pub struct ServerInfo {
    pub key: String,
    pub state: State,
    /// Since when it has been in this state.
    pub since: Instant,
    /// It has failed, and this is when it is tried again.
    pub retry: Option<Retry>,
    /// The protocol revision it answered with.
    pub protocol: Option<String>,
    /// It is of the stateless era; known while it runs.
    pub is_modern: Option<bool>,
    /// The name and version it gave itself.
    pub identity: Option<String>,
    pub pid: Option<u32>,
    /// From its start until its tools were known.
    pub started_in: Option<Duration>,
    pub restarts: u32,
    /// Its last failure; also when it has come back since.
    pub last_failure: Option<PastFailure>,
    /// Calls that are with it, and calls that wait for it.
    pub open_calls: usize,
    pub waiting_calls: usize,
    /// When it last said anything; known where servers are started again for as long as it takes.
    pub last_message: Option<Instant>,
    /// Tools it offers, or offered before it went and is expected back.
    pub tools: usize,
}

/// Why a server failed, with its last lines on stderr, and when.
#[derive(Clone, Debug)]
pub struct PastFailure {
    pub why: Failure,
    pub at: Option<Instant>,
}

/// The tools of a server that may be called. They are borrowed, since there may be thousands.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    listing: Option<Arc<Listing>>,
    filter: Arc<ToolFilter>,
}

/// Identifies an offer without keeping it, to notice a later one.
#[derive(Clone, Debug)]
pub struct OfferMark {
    listing: Weak<Listing>,
    filter: Weak<ToolFilter>,
}

#[derive(Clone, Copy, Debug)]
pub struct ToolInfo<'a> {
    /// As its server calls it.
    pub name: &'a str,
    /// Byte for byte, but for what strict clients would refuse.
    pub definition: &'a [u8],
}

impl ToolInfo<'_> {
    pub fn hints(&self) -> Hints {
        Hints::of(self.definition)
    }
}

impl Offer {
    pub(super) fn new(listing: Option<Arc<Listing>>, filter: Arc<ToolFilter>) -> Self {
        Self { listing, filter }
    }

    pub fn tools(&self) -> impl Iterator<Item = ToolInfo<'_>> {
        let listed = self.listing.iter().flat_map(|listing| listing.tools());
        let shown = listed.filter(|tool| self.filter.shows(&tool.name));
        shown.map(|tool| ToolInfo { name: &tool.name, definition: &tool.definition })
    }

    pub fn mark(&self) -> OfferMark {
        let listing = self.listing.as_ref().map_or_else(Weak::new, Arc::downgrade);
        OfferMark { listing, filter: Arc::downgrade(&self.filter) }
    }
}

impl OfferMark {
    /// Is it the very same offer, not only an equal one?
    pub fn is_of(&self, offer: &Offer) -> bool {
        let now = offer.mark();
        self.listing.ptr_eq(&now.listing) && self.filter.ptr_eq(&now.filter)
    }
}

pub(super) fn info(server: &Server) -> ServerInfo {
    let status = server.status();
    let connection = server.connection();
    let Status { state, protocol, identity, pid, started_in, restarts, .. } = status;
    ServerInfo {
        key: server.key.to_string(),
        state,
        since: status.since,
        retry: status.retry,
        protocol,
        is_modern: connection.as_ref().map(|connection| connection.link.era() == Era::Modern),
        identity,
        pid,
        started_in,
        restarts,
        last_failure: status.last_failure.map(|why| PastFailure { why, at: status.failed_at }),
        open_calls: server.open_calls(),
        waiting_calls: server.waiting_calls(),
        last_message: connection.and_then(|connection| connection.health.last_heard()),
        tools: server.listing().map_or(0, |listing| listing.tools().len()),
    }
}

/// A custom tool as it is listed.
#[derive(Clone, Debug)]
pub struct CustomInfo {
    name: String,
    definition: Bytes,
}

impl CustomInfo {
    pub(super) fn new(name: String, definition: Bytes) -> Self {
        Self { name, definition }
    }

    pub fn tool(&self) -> ToolInfo<'_> {
        ToolInfo { name: &self.name, definition: &self.definition }
    }
}
