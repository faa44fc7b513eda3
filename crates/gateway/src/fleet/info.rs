//! What is known about the servers of a fleet at one moment.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use trunkline_catalog::config::ServerSpec;

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

#[derive(Clone, Debug)]
pub struct ToolInfo {
    /// As its server calls it.
    pub name: String,
    /// Byte for byte, but for what strict clients would refuse.
    pub definition: Bytes,
    pub hints: Hints,
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

    /// The tools of a server that may be called. `None`: there is no such server.
    pub fn tools(&self, id: &str) -> Option<Vec<ToolInfo>> {
        let server = self.find(id)?;
        let Some(listing) = server.listing() else { return Some(Vec::new()) };
        let filter = server.filter();
        let tools = listing.tools().iter().filter(|tool| filter.shows(&tool.name));
        let tools = tools.map(|tool| ToolInfo {
            name: tool.name.clone(),
            definition: Bytes::copy_from_slice(&tool.definition),
            hints: Hints::of(&tool.definition),
        });
        Some(tools.collect())
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
        is_modern: connection.as_ref().map(|connection| connection.era() == Era::Modern),
        identity,
        pid,
        started_in,
        restarts,
        last_failure: status.last_failure,
        failed_at: status.failed_at,
        open_calls: server.open_calls(),
        waiting_calls: server.waiting_calls(),
        last_message: connection.and_then(|connection| connection.last_heard()),
        tools: server.listing().map_or(0, |listing| listing.tools().len()),
    }
}
