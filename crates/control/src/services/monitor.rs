//! `Monitor`: follows what becomes of the servers. It has them checked, records and publishes changes of their
//! status, and keeps what they offer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trunkline_gateway::{HealthVerdict, Offer, ServerInfo, State};
use trunkline_http::Url;
use trunkline_store::{NewAudit, NewTool, Store, StoreError};

use super::background::Background;
use super::directory::ServerEntry;
use super::events::{EventBus, ServerEvent};
use super::live::LiveServers;
use super::records::{hex, own_record};
use crate::audit::Audit;
use crate::clock;
use crate::health::{BoxFuture, CheckPlan, CheckedServer, Checker, ConnectionPhase, ServerStatus};
use crate::logins::Logins;
use crate::metrics::Metrics;

#[derive(Debug)]
pub(super) struct Monitor {
    pub(super) store: Store,
    pub(super) live: Arc<LiveServers>,
    pub(super) audit: Audit,
    pub(super) events: Arc<EventBus>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) logins: Logins,
    pub(super) checker: Checker,
    /// Between two checks of a server.
    pub(super) interval: Duration,
    pub(super) background: Background,
    /// Where the health of a registered server is asked for, by its id; with its secrets. A leaf lock.
    pub(super) health_urls: Mutex<HashMap<String, Option<String>>>,
    /// Held while all servers are looked at: the health table, the directory and the other leaf locks are
    /// taken under it.
    pub(super) observed: Mutex<Observations>,
}

/// What was last seen of each server, by its id, so that changes are noticed.
#[derive(Debug, Default)]
pub(super) struct Observations {
    statuses: HashMap<String, ServerStatus>,
    /// The last status that has an audit record, and since when it has lasted (ms since 1970): tries in
    /// between do not end it.
    recorded: HashMap<String, (ServerStatus, i64)>,
    /// Since when each ran when it was last seen running, and how often it had been started again then.
    lives: HashMap<String, (Instant, u32)>,
    /// The URL that is checked, and what ends the task that checks it.
    checks: HashMap<String, (Option<String>, CancellationToken)>,
}

impl Observations {
    /// Notes how a server runs. True: it has gone and come back since the last time, and no request has caused that.
    fn note_life(&mut self, entry: &ServerEntry, info: Option<&ServerInfo>) -> bool {
        if !entry.wanted {
            self.lives.remove(&entry.id);
            return false;
        }
        let Some(info) = info.filter(|info| info.state == State::Running) else { return false };
        let life = (info.since, info.restarts);
        let before = self.lives.insert(entry.id.clone(), life);
        // A server that was changed or connected anew counts from 0 again.
        before.is_some_and(|(since, restarts)| info.since != since && info.restarts > restarts)
    }

    /// Notes the status of a server. True: it is worth a record. A server that is tried in vain again and
    /// again gets one record, and one when it is back.
    fn note_status(&mut self, id: &str, status: ServerStatus, at: i64) -> bool {
        match status {
            // On request: what comes next begins then.
            ServerStatus::Disconnected => {
                self.recorded.remove(id);
                false
            }
            ServerStatus::Connecting | ServerStatus::Idle => false,
            ServerStatus::Connected | ServerStatus::Degraded | ServerStatus::Error => {
                let before = self.recorded.get(id).map(|(before, _)| *before);
                if before != Some(status) {
                    self.recorded.insert(id.to_owned(), (status, at));
                }
                before.unwrap_or(ServerStatus::Connected) != status
            }
        }
    }

    fn forget(&mut self, id: &str) {
        self.statuses.remove(id);
        self.recorded.remove(id);
        self.lives.remove(id);
        if let Some((_, end)) = self.checks.remove(id) {
            end.cancel();
        }
    }
}

impl Monitor {
    /// Looks again whenever something has changed, until the end.
    pub(super) async fn run(self: &Arc<Self>) {
        let Some(fleet) = self.live.fleet() else { return };
        let (mut servers, mut health) = (fleet.changes(), self.live.health.changes());
        loop {
            self.look();
            self.keep_tools().await;
            tokio::select! {
                () = self.background.end().cancelled() => return,
                changed = servers.changed() => if changed.is_err() { return },
                changed = health.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Since when a server has been in error, however often it was tried in between (ms since 1970).
    pub(super) fn error_since(&self, id: &str) -> Option<i64> {
        let (status, since) = *self.observed.lock().recorded.get(id)?;
        (status == ServerStatus::Error).then_some(since)
    }

    pub(super) fn set_health_url(&self, id: &str, url: Option<String>) {
        self.health_urls.lock().insert(id.to_owned(), url);
    }

    pub(super) fn keep_health_urls(&self, is_there: impl Fn(&str) -> bool) {
        self.health_urls.lock().retain(|id, _| is_there(id));
    }

    /// Takes over what has become of the servers.
    pub(super) fn look(self: &Arc<Self>) {
        let directory = self.live.directory();
        self.metrics.set_servers(directory.reachable().map(|entry| entry.name.as_str()));
        self.logins.keep_only(|login| directory.by_id(login).is_some());
        let mut observed = self.observed.lock();
        let known = observed.statuses.keys();
        let gone: Vec<String> = known.filter(|id| directory.by_id(id).is_none()).cloned().collect();
        for id in gone {
            observed.forget(&id);
            self.live.offers.forget(&id);
            // Of the config file: those that are removed over REST are forgotten there.
            self.live.health.forget(&id);
        }
        for entry in directory.all() {
            self.look_at(entry, &mut observed);
        }
    }

    fn look_at(self: &Arc<Self>, entry: &ServerEntry, observed: &mut Observations) {
        let (live, health) = (&self.live, &self.live.health);
        let info = live.info(entry);
        let came_back = observed.note_life(entry, info.as_ref());
        if came_back {
            health.restarted(&entry.id);
        }
        health.set_phase(&entry.id, live.phase(entry));
        let status = live.status(entry);
        let is_another = observed.statuses.insert(entry.id.clone(), status) != Some(status);
        if is_another || came_back {
            let known = health.of_server(&entry.id);
            // Without stderr: events and records are read by more people than operators.
            let why = live.diagnose(entry, info.as_ref(), known.as_ref(), false);
            let why = why.map(|why| why.message);
            // As the data plane dates it: who asks before this look and after it gets the same date.
            let failed = info.as_ref().filter(|info| matches!(info.state, State::Failed(_)));
            let at = failed.map_or_else(clock::now, |info| clock::at(info.since));
            if observed.note_status(&entry.id, status, at) || came_back {
                self.record_status(entry, status, why.clone(), came_back);
            }
            let (id, name) = (entry.id.clone(), entry.name.clone());
            self.events.publish(ServerEvent::Status { id, name, status, why });
        }
        self.check(entry, observed);
    }

    fn record_status(
        &self,
        entry: &ServerEntry,
        status: ServerStatus,
        why: Option<String>,
        came_back: bool,
    ) {
        let restarted = came_back.then(|| "restarted".to_owned());
        let detail: Vec<String> = restarted.into_iter().chain(why).collect();
        let outcome = status.as_str().to_lowercase();
        self.audit.record(NewAudit {
            detail: Some(detail.join("; ")).filter(|detail| !detail.is_empty()),
            ..own_record("change-status", entry, &outcome, clock::now())
        });
    }

    /// One task checks each server, as long as its URL stays the same.
    fn check(self: &Arc<Self>, entry: &ServerEntry, observed: &mut Observations) {
        let url = self.health_urls.lock().get(&entry.id).cloned().flatten();
        if observed.checks.get(&entry.id).is_some_and(|(known, _)| *known == url) {
            return;
        }
        // A token of its own: the check ends with its server or with Trunkline.
        let end = self.background.end().child_token();
        let check = (url.clone(), end.clone());
        if let Some((_, before)) = observed.checks.insert(entry.id.clone(), check) {
            before.cancel();
        }
        let plan = CheckPlan {
            server_id: entry.id.clone(),
            url: url.and_then(|url| Url::parse(&url).ok()),
            interval: self.interval,
        };
        let server = MonitoredServer { live: Arc::clone(&self.live), id: entry.id.clone() };
        let checker = self.checker.clone();
        self.background.spawn(async move { checker.watch(&plan, &server, &end).await });
    }

    /// Keeps what registered servers offer, so that it is known when they are gone.
    async fn keep_tools(&self) {
        let directory = self.live.directory();
        let Some(fleet) = self.live.fleet() else { return };
        let is_connected =
            |entry: &&ServerEntry| self.live.phase(entry) == ConnectionPhase::Connected;
        for entry in directory.reachable().filter(is_connected) {
            let Some(offer) = fleet.tools(&entry.id) else { continue };
            if !self.live.offers.note(&entry.id, &offer) {
                continue;
            }
            let (id, name, tools) = (entry.id.clone(), entry.name.clone(), offer.tools().count());
            self.events.publish(ServerEvent::Tools { id, name, tools });
            if !entry.is_from_file() {
                self.keep(entry, &offer).await;
            }
        }
    }

    async fn keep(&self, entry: &ServerEntry, offer: &Offer) {
        let kept = offer.tools().map(|tool| NewTool {
            original_name: tool.name.to_owned(),
            definition: String::from_utf8_lossy(tool.definition).into_owned(),
            definition_hash: hex(&Sha256::digest(tool.definition)),
        });
        match self.store.replace_tools(&entry.id, kept.collect(), clock::now()).await {
            // Not found: it was removed meanwhile.
            Ok(_) | Err(StoreError::NotFound) => {}
            Err(error) => {
                tracing::warn!(
                    server = %entry.name,
                    %error,
                    "the store does not keep the tools of this server; the next change of a server tries again"
                );
                self.live.offers.forget(&entry.id);
            }
        }
    }
}

/// A server, to the task that checks it.
#[derive(Debug)]
struct MonitoredServer {
    live: Arc<LiveServers>,
    id: String,
}

impl CheckedServer for MonitoredServer {
    fn phase(&self) -> ConnectionPhase {
        self.live.phase_of(&self.id)
    }

    fn life(&self) -> Option<u64> {
        self.live.fleet()?.life(&self.id)
    }

    fn silent_for(&self) -> Option<Duration> {
        self.live.info_of(&self.id)?.last_message.map(|at| at.elapsed())
    }

    fn is_busy(&self) -> bool {
        self.live.info_of(&self.id).is_some_and(|info| info.open_calls > 0)
    }

    fn name(&self) -> String {
        let directory = self.live.directory();
        directory.by_id(&self.id).map_or_else(|| self.id.clone(), |entry| entry.name.clone())
    }

    fn set_failing(&self, life: u64, is_failing: bool) {
        if let Some(fleet) = self.live.fleet() {
            let verdict = match is_failing {
                true => HealthVerdict::Failing { life },
                false => HealthVerdict::Passing { life },
            };
            fleet.mark(&self.id, verdict);
        }
    }

    fn condemn(&self, life: u64, why: &str) {
        if let Some(fleet) = self.live.fleet() {
            let why = format!("has failed too many checks in a row: {why}");
            fleet.mark(&self.id, HealthVerdict::Useless { life, why });
        }
    }

    fn ask(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            match self.live.fleet() {
                Some(fleet) => fleet.ping(&self.id).await,
                None => Err("it is not known any more".to_owned()),
            }
        })
    }
}
