//! One server in full: its process, what it says of itself, the names its tools are listed under, and how
//! it did lately.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use trunkline_catalog::client::Client;
use trunkline_gateway::{Fleet, Grant, ServerInfo, State};
use trunkline_store::HealthSample;

use super::service::ServerService;
use crate::access::Principal;
use crate::clock;
use crate::fault::Problem;
use crate::health::{Health, RecentActivity, WindowTotals};
use crate::services::directory::ServerEntry;
use crate::services::grants::{grant_of, is_operator};
use crate::services::problems::store_problem;

/// Tools whose names are shown: more do not fit a page.
const MOST_NAMES: usize = 200;

#[derive(Debug, Clone)]
pub(crate) struct ServerDetails {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) process: ProcessInfo,
    /// Its name and version, as it says.
    pub(crate) identity: Option<String>,
    pub(crate) capabilities: Vec<&'static str>,
    pub(crate) instructions: Option<String>,
    /// Of the last failure; only for operators.
    pub(crate) stderr: Vec<String>,
    pub(crate) names: Vec<ListedName>,
    pub(crate) recent: RecentActivity,
}

/// Its process or connection. Moments in milliseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProcessInfo {
    pub(crate) state: Option<&'static str>,
    pub(crate) since: Option<i64>,
    pub(crate) pid: Option<u32>,
    pub(crate) started_in: Option<Duration>,
    pub(crate) restarts: u32,
    pub(crate) open_calls: usize,
    pub(crate) waiting_calls: usize,
    /// Refused because of its limits or its tools'.
    pub(crate) limited_calls: u64,
    pub(crate) next_try: Option<i64>,
    pub(crate) failures: u32,
}

/// A tool, the name that most clients see, and the names that others see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedName {
    pub(crate) tool: String,
    pub(crate) name: String,
    /// With the ids of the clients.
    pub(crate) others: Vec<(String, Vec<&'static str>)>,
}

/// The last lines that a server wrote on stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StderrLines {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) state: Option<&'static str>,
    pub(crate) lines: Vec<String>,
}

/// How a server does, and its last checks, the newest first.
#[derive(Debug, Clone)]
pub(crate) struct HealthHistory {
    pub(crate) health: Health,
    pub(crate) window: Option<WindowTotals>,
    pub(crate) samples: Vec<HealthSample>,
}

impl ServerService {
    pub(crate) async fn details(
        &self,
        id: &str,
        asker: &Principal,
    ) -> Result<ServerDetails, Problem> {
        self.live.check_seen(id, asker)?;
        let entry = self.live.entry(id)?;
        let names = self.listed_names(&entry, asker).await;
        let info = self.live.info(&entry);
        let fleet = self.live.fleet();
        // What a server writes on stderr is for operators.
        let failure =
            info.as_ref().and_then(|info| info.last_failure.as_ref()).map(|past| &past.why);
        let stderr = failure.filter(|_| is_operator(asker));
        Ok(ServerDetails {
            process: ProcessInfo {
                restarts: self.live.health.restarts_total(&entry.id),
                limited_calls: self.live.limited_calls(&entry.id),
                ..process(info.as_ref(), self.monitor.error_since(&entry.id))
            },
            capabilities: fleet.map(|fleet| fleet.capabilities(&entry.id)).unwrap_or_default(),
            instructions: fleet.and_then(|fleet| fleet.instructions(&entry.id)),
            stderr: stderr.map(|failure| failure.stderr.clone()).unwrap_or_default(),
            identity: info.and_then(|info| info.identity),
            names,
            recent: self.live.health.recent_activity([entry.id.as_str()]),
            id: entry.id,
            name: entry.name,
        })
    }

    pub(crate) fn stderr(&self, id: &str, asker: &Principal) -> Result<StderrLines, Problem> {
        self.live.check_seen(id, asker)?;
        let entry = self.live.entry(id)?;
        let lines = self.live.fleet().map(|fleet| fleet.stderr(&entry.id)).unwrap_or_default();
        let state = self.live.info(&entry).map(|info| info.state.word());
        Ok(StderrLines { id: entry.id, name: entry.name, state, lines })
    }

    /// How it does, and its last `limit` checks.
    pub(crate) async fn health(
        &self,
        id: &str,
        limit: usize,
        asker: &Principal,
    ) -> Result<HealthHistory, Problem> {
        self.live.check_seen(id, asker)?;
        let entry = self.live.entry(id)?;
        let health = self.live.health.of_server(&entry.id);
        let samples = self.opener.store.health(&entry.id, limit).await;
        let samples = samples.map_err(|error| store_problem(&error))?;
        let (health, window) =
            health.map_or((Health::UNKNOWN, None), |it| (it.health, Some(it.window)));
        Ok(HealthHistory { health, window, samples })
    }

    /// Each tool that the asker may call, by the name it is listed as, and to which clients. A blocking thread
    /// assembles the lists.
    async fn listed_names(&self, entry: &ServerEntry, asker: &Principal) -> Vec<ListedName> {
        let Some(fleet) = self.live.fleet().filter(|_| entry.wanted) else { return Vec::new() };
        let (fleet, id) = (fleet.clone(), entry.id.clone());
        let grant = grant_of(asker.grants(), "");
        let naming = self.background.spawn_blocking(move || names_of(&fleet, &id, grant.as_ref()));
        naming.await.unwrap_or_default() // Trunkline is shutting down
    }
}

fn names_of(fleet: &Fleet, id: &str, grant: Option<&Arc<dyn Grant>>) -> Vec<ListedName> {
    let mut tools: BTreeMap<String, ListedName> = BTreeMap::new();
    for (tool, name) in fleet.listed(None, grant.cloned()).names_of(id) {
        let listed = ListedName { tool: tool.clone(), name, others: Vec::new() };
        tools.insert(tool, listed);
    }
    for client in Client::ALL {
        for (tool, name) in fleet.listed(Some(client), grant.cloned()).names_of(id) {
            let Some(listed) = tools.get_mut(&tool) else { continue };
            if name == listed.name {
                continue;
            }
            match listed.others.iter_mut().find(|(known, _)| *known == name) {
                Some((_, clients)) => clients.push(client.id()),
                None => listed.others.push((name, vec![client.id()])),
            }
        }
    }
    tools.into_values().take(MOST_NAMES).collect()
}

/// `error_since`: when it began to be in error, however often it was tried since (ms since 1970).
fn process(info: Option<&ServerInfo>, error_since: Option<i64>) -> ProcessInfo {
    let Some(info) = info else { return ProcessInfo::default() };
    let has_failed = matches!(info.state, State::Failed(_));
    ProcessInfo {
        state: Some(info.state.word()),
        since: error_since.filter(|_| has_failed).or_else(|| Some(clock::at(info.since))),
        pid: info.pid.filter(|_| info.state == State::Running),
        started_in: info.started_in,
        open_calls: info.open_calls,
        waiting_calls: info.waiting_calls,
        next_try: info.retry.as_ref().map(|retry| clock::at(retry.at)),
        failures: info.retry.as_ref().map_or(0, |retry| retry.failures),
        ..ProcessInfo::default()
    }
}
