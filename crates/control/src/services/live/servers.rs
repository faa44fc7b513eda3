//! `LiveServers`: the servers there are, and how the data plane and the health table see them.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use trunkline_gateway::{Fleet, Offer, ServerInfo, State, ToolInfo};

use super::offers::OfferDigests;
use crate::access::{Grants, Principal};
use crate::clock;
use crate::fault::{About, Problem};
use crate::health::{ConnectionPhase, HealthTable, ServerStatus};
use crate::services::directory::{KnownServers, ServerDirectory, ServerEntry};
use crate::services::grants::sees;
use crate::services::problems::{no_such_server, no_such_tool};

#[derive(Debug)]
pub(crate) struct LiveServers {
    pub(crate) known: Arc<KnownServers>,
    pub(crate) health: Arc<HealthTable>,
    pub(crate) offers: OfferDigests,
    /// The data plane, once it runs.
    fleet: OnceLock<Fleet>,
    /// Cancelled once what is registered was told to it.
    applied: CancellationToken,
    /// Why a registered server cannot even be tried, by its id. A leaf lock.
    connect_problems: Mutex<HashMap<String, ConnectProblem>>,
}

#[derive(Debug, Clone)]
pub(super) struct ConnectProblem {
    pub(super) at: i64,
    pub(super) message: String,
}

impl LiveServers {
    pub(crate) fn new(known: Arc<KnownServers>, health: Arc<HealthTable>) -> Self {
        Self {
            known,
            health,
            offers: OfferDigests::default(),
            fleet: OnceLock::new(),
            applied: CancellationToken::new(),
            connect_problems: Mutex::default(),
        }
    }

    pub(crate) fn fleet(&self) -> Option<&Fleet> {
        self.fleet.get()
    }

    /// False: there is one already.
    pub(crate) fn set_fleet(&self, fleet: Fleet) -> bool {
        self.fleet.set(fleet).is_ok()
    }

    /// Cancelled once what is registered was told to the data plane.
    pub(crate) fn applied(&self) -> &CancellationToken {
        &self.applied
    }

    pub(crate) fn directory(&self) -> Arc<ServerDirectory> {
        self.known.directory()
    }

    /// By its id or its name.
    pub(crate) fn entry(&self, id: &str) -> Result<ServerEntry, Problem> {
        self.directory().find(id).cloned().ok_or_else(|| no_such_server(id))
    }

    /// A server that is not there for this asker is not there.
    pub(crate) fn check_seen(&self, id: &str, asker: &Principal) -> Result<(), Problem> {
        let directory = self.directory();
        let entry = directory.find(id).filter(|entry| sees(asker, &entry.name));
        entry.map(drop).ok_or_else(|| no_such_server(id))
    }

    pub(crate) fn info(&self, entry: &ServerEntry) -> Option<ServerInfo> {
        self.fleet()?.server(&entry.id)
    }

    /// How often it was not called because of its limits or its tools'.
    pub(crate) fn limited_calls(&self, id: &str) -> u64 {
        let all = self.fleet().map(Fleet::limited_servers).unwrap_or_default();
        all.into_iter().find(|(server, _)| server == id).map_or(0, |(_, count)| count)
    }

    pub(crate) fn info_of(&self, id: &str) -> Option<ServerInfo> {
        self.directory().by_id(id).and_then(|entry| self.info(entry))
    }

    /// What has become of the connection.
    pub(crate) fn phase(&self, entry: &ServerEntry) -> ConnectionPhase {
        if !entry.wanted {
            return ConnectionPhase::Disconnected;
        }
        // Before the fleet is asked: an older connection of it may still run.
        if self.has_connect_problem(&entry.id) {
            return ConnectionPhase::Failed;
        }
        match self.info(entry).map(|info| info.state) {
            Some(State::Running) => ConnectionPhase::Connected,
            Some(State::Failed(_)) => ConnectionPhase::Failed,
            Some(State::Idle) => ConnectionPhase::Idle,
            Some(State::Initializing | State::Stopped) | None => ConnectionPhase::Connecting,
        }
    }

    pub(crate) fn phase_of(&self, id: &str) -> ConnectionPhase {
        let directory = self.directory();
        directory.by_id(id).map_or(ConnectionPhase::Disconnected, |entry| self.phase(entry))
    }

    pub(crate) fn status(&self, entry: &ServerEntry) -> ServerStatus {
        match self.phase(entry) {
            ConnectionPhase::Disconnected => ServerStatus::Disconnected,
            ConnectionPhase::Connecting => ServerStatus::Connecting,
            ConnectionPhase::Failed => ServerStatus::Error,
            ConnectionPhase::Idle => ServerStatus::Idle,
            ConnectionPhase::Connected => {
                // The table may lag behind the connection: what it says of a connection does not count.
                let judged = self.health.status(&entry.id).filter(|status| {
                    use ServerStatus::{Connecting, Disconnected, Idle};
                    !matches!(status, Connecting | Disconnected | Idle)
                });
                judged.unwrap_or(ServerStatus::Connected)
            }
        }
    }

    /// The server a problem is about.
    pub(crate) fn about(&self, entry: &ServerEntry) -> About {
        let status = self.status(entry).as_str();
        About { id: entry.id.clone(), name: entry.name.clone(), status }
    }

    /// The server a problem is about as it is now, if its entry was looked up a while ago.
    pub(crate) fn about_now(&self, entry: &ServerEntry) -> About {
        let directory = self.directory();
        self.about(directory.by_id(&entry.id).unwrap_or(entry))
    }

    /// Nothing of a server that is not wanted.
    pub(crate) fn offer(&self, entry: &ServerEntry) -> Option<Offer> {
        self.fleet().filter(|_| entry.wanted).and_then(|fleet| fleet.tools(&entry.id))
    }

    /// How many of a server's tools these grants allow.
    pub(crate) fn count_allowed(&self, entry: &ServerEntry, grants: &Grants) -> usize {
        let offer = self.offer(entry);
        let tools = offer.iter().flat_map(Offer::tools);
        tools.filter(|tool| grants.allows(&entry.name, tool.name)).count()
    }

    /// A tool by its id (`server-id/tool`) or its name (`server.tool`), if the grants allow it.
    pub(crate) fn find_tool(
        &self,
        id: &str,
        grants: &Grants,
    ) -> Result<(ServerEntry, String), Problem> {
        let directory = self.directory();
        let by_id = id
            .match_indices('/')
            .filter_map(|(at, _)| Some((directory.by_id(id.get(..at)?)?, id.get(at + 1..)?)));
        for (entry, tool) in by_id.chain(directory.split_name(id)) {
            let offer = self.offer(entry);
            let is_named = |known: ToolInfo<'_>| known.name == tool;
            let is_offered = offer.is_some_and(|offer| offer.tools().any(is_named));
            if is_offered && grants.allows(&entry.name, tool) {
                return Ok((entry.clone(), tool.to_owned()));
            }
        }
        Err(no_such_tool(id))
    }

    pub(super) fn connect_problem(&self, id: &str) -> Option<ConnectProblem> {
        self.connect_problems.lock().get(id).cloned()
    }

    pub(crate) fn connect_problem_message(&self, id: &str) -> Option<String> {
        self.connect_problem(id).map(|problem| problem.message)
    }

    pub(crate) fn has_connect_problem(&self, id: &str) -> bool {
        self.connect_problems.lock().contains_key(id)
    }

    /// Logged once for each message: the reconciler comes by every few seconds.
    pub(crate) fn set_connect_problem(&self, entry: &ServerEntry, message: String) {
        let mut problems = self.connect_problems.lock();
        if problems.get(&entry.id).is_some_and(|known| known.message == message) {
            return;
        }
        tracing::warn!(server = %entry.name, "cannot be connected: {message}");
        problems.insert(entry.id.clone(), ConnectProblem { at: clock::now(), message });
    }

    pub(crate) fn clear_connect_problem(&self, id: &str) {
        self.connect_problems.lock().remove(id);
    }

    pub(crate) fn keep_connect_problems(&self, is_there: impl Fn(&str) -> bool) {
        self.connect_problems.lock().retain(|id, _| is_there(id));
    }
}
