//! What is known about the servers of a fleet at one moment.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use trunkline_catalog::Listing;
use trunkline_catalog::config::{ServerSpec, ToolFilter};

use crate::era::Era;
use crate::fleet::Fleet;
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
    /// Why it last failed, with its last words on stderr; also when it has come back since.
    pub last_failure: Option<Failure>,
    /// And when.
    pub failed_at: Option<Instant>,
    /// Calls that are with it, and calls that wait for it.
    pub open_calls: usize,
    pub waiting_calls: usize,
    /// When it last said anything; known where servers are started again for as long as it takes.
    pub last_message: Option<Instant>,
    /// Tools it offers, or offered before it went and is expected back.
    pub tools: usize,
}

/// The tools of a server that may be called, looked at where they are: there may be thousands.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    listing: Option<Arc<Listing>>,
    filter: Arc<ToolFilter>,
}

/// Tells an offer from a later one, and keeps nothing of it.
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
    /// The same, not only alike.
    pub fn is_of(&self, offer: &Offer) -> bool {
        let now = offer.mark();
        self.listing.ptr_eq(&now.listing) && self.filter.ptr_eq(&now.filter)
    }
}

impl Fleet {
    /// In the order in which they were given.
    pub fn servers(&self) -> Vec<ServerInfo> {
        self.registry.servers().iter().map(|server| info(server)).collect()
    }

    pub fn server(&self, id: &str) -> Option<ServerInfo> {
        self.find(id).map(|server| info(&server))
    }

    /// How a server was started, or is going to be when it is tried again.
    pub fn spec(&self, id: &str) -> Option<ServerSpec> {
        self.find(id).map(|server| server.spec())
    }

    /// What a server says about how to use it, while it runs.
    pub fn instructions(&self, id: &str) -> Option<String> {
        self.find(id)?.live()?.hello.instructions.clone()
    }

    /// What a server has said that it can do, while it runs.
    pub fn capabilities(&self, id: &str) -> Vec<&'static str> {
        let live = self.find(id).and_then(|server| server.live());
        live.map(|live| live.hello.capabilities()).unwrap_or_default()
    }

    /// The last lines that a server has written to stderr, in this life or in its last one.
    pub fn stderr(&self, id: &str) -> Vec<String> {
        self.find(id).map(|server| server.stderr()).unwrap_or_default()
    }

    /// The tools of a server that may be called. `None`: there is no such server.
    pub fn tools(&self, id: &str) -> Option<Offer> {
        let server = self.find(id)?;
        Some(Offer { listing: server.listing(), filter: server.filter() })
    }
}

fn info(server: &Server) -> ServerInfo {
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
        last_failure: status.last_failure,
        failed_at: status.failed_at,
        open_calls: server.open_calls(),
        waiting_calls: server.waiting_calls(),
        last_message: connection.and_then(|connection| connection.health.last_heard()),
        tools: server.listing().map_or(0, |listing| listing.tools().len()),
    }
}
