//! Looks after what runs: checks the servers, keeps what they offer, and tells whoever listens.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trunkline_gateway::{Event, EventSink, Fleet, Offer, OfferMark, ServerInfo, State, Verdict};
use trunkline_http::Url;
use trunkline_store::{NewAudit, NewTool, StoreError};

use super::hear::hex;
use super::roster::ServerEntry;
use super::show::sees;
use super::{Platform, ServerEvent, clock};
use crate::access::Principal;
use crate::api::view::{Source, Status};
use crate::health::{BoxFuture, CheckPlan, CheckedServer, ConnectionPhase};
use crate::metrics::{Platform as Measured, ServerMetrics, expose};
use crate::trace::Tracer;

/// What was last seen of each server, so that changes can be told.
#[derive(Debug, Default)]
pub(super) struct Observations {
    statuses: HashMap<String, Status>,
    /// The last status that the audit log tells of, of those that are worth a record, and since when it has
    /// lasted (ms since 1970): tries in between do not end it.
    recorded: HashMap<String, (Status, i64)>,
    /// Since when each ran when it was last seen running, and how often it had been started again then.
    lives: HashMap<String, (Instant, u32)>,
    tools: HashMap<String, (OfferMark, [u8; 32])>,
    checks: HashMap<String, (Option<String>, CancellationToken)>,
}

impl Observations {
    /// Notes how a server runs. True: it has gone and come back since the last time, for no reason that
    /// anybody has given.
    fn note_life(&mut self, entry: &ServerEntry, info: Option<&ServerInfo>) -> bool {
        if !entry.wanted {
            self.lives.remove(&entry.id);
            return false;
        }
        let Some(info) = info.filter(|info| info.state == State::Running) else { return false };
        let life = (info.since, info.restarts);
        let before = self.lives.insert(entry.id.clone(), life);
        // One that was changed or connected anew counts from 0 again.
        before.is_some_and(|(since, restarts)| info.since != since && info.restarts > restarts)
    }

    /// Notes the status of a server. True: it is worth a record. One that is tried in vain again and again
    /// gets one record, and one when it is back.
    fn note_status(&mut self, id: &str, status: Status) -> bool {
        match status {
            // As somebody wished: whatever comes next begins then.
            Status::Disconnected => {
                self.recorded.remove(id);
                false
            }
            Status::Connecting => false,
            Status::Connected | Status::Degraded | Status::Error => {
                let before = self.recorded.get(id).map(|(before, _)| *before);
                if before != Some(status) {
                    self.recorded.insert(id.to_owned(), (status, clock::now()));
                }
                before.unwrap_or(Status::Connected) != status
            }
        }
    }

    /// Since when a server is an error, however often it was tried in between (ms since 1970).
    pub(super) fn error_since(&self, id: &str) -> Option<i64> {
        let (status, since) = self.recorded.get(id)?;
        (*status == Status::Error).then_some(*since)
    }
}

impl Platform {
    /// The data plane runs: from now on what is wanted is made so.
    pub fn attend(&self, fleet: Fleet, events: mpsc::Receiver<Event>, sink: EventSink) {
        // Once only: there is one data plane.
        if self.0.fleet.set(fleet).is_err() {
            return;
        }
        *self.0.sink.lock() = Some(sink);
        let own = self.clone();
        self.0.tasks.spawn(async move { own.reconcile().await });
        let own = self.clone();
        self.0.tasks.spawn(async move { own.hear(events).await });
        let own = self.clone();
        self.0.tasks.spawn(async move { own.follow().await });
        let own = self.clone();
        self.0.tasks.spawn(async move { own.sort().await });
        self.embed();
    }

    /// Looks again whenever something has changed.
    async fn follow(&self) {
        let Some(fleet) = self.0.fleet.get() else { return };
        let (mut servers, mut health) = (fleet.changes(), self.0.wards.changes());
        loop {
            self.look();
            self.write_tools().await;
            tokio::select! {
                () = self.0.end.cancelled() => return,
                changed = servers.changed() => if changed.is_err() { return },
                changed = health.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Takes over what has become of the servers.
    pub(super) fn look(&self) {
        let roster = self.roster();
        self.0.metrics.set_servers(roster.placed().map(|entry| entry.name.as_str()));
        self.0.logins.keep_only(|login| roster.of_id(login).is_some());
        let mut seen = self.0.seen.lock();
        let gone: Vec<String> =
            seen.statuses.keys().filter(|id| roster.of_id(id).is_none()).cloned().collect();
        for id in gone {
            seen.statuses.remove(&id);
            seen.recorded.remove(&id);
            seen.lives.remove(&id);
            seen.tools.remove(&id);
            // Of the config file: those that are removed over REST are forgotten there.
            self.0.wards.forget(&id);
            if let Some((_, end)) = seen.checks.remove(&id) {
                end.cancel();
            }
        }
        for entry in roster.all() {
            let info = self.info(entry);
            let came_back = seen.note_life(entry, info.as_ref());
            if came_back {
                self.0.wards.restarted(&entry.id);
            }
            self.0.wards.set_phase(&entry.id, self.phase(entry));
            let status = self.status(entry);
            let is_another = seen.statuses.insert(entry.id.clone(), status) != Some(status);
            if is_another || came_back {
                let ward = self.0.wards.of_server(&entry.id);
                let why = self.why(entry, info.as_ref(), ward.as_ref(), false);
                let why = why.map(|why| why.message);
                if seen.note_status(&entry.id, status) || came_back {
                    self.record_status(entry, status, why.clone(), came_back);
                }
                let (id, name) = (entry.id.clone(), entry.name.clone());
                self.0.news.publish(ServerEvent::Status { id, name, status, why });
            }
            self.check(entry, &mut seen);
        }
    }

    /// What has become of a server is in the audit log, too: nobody may have been looking.
    fn record_status(
        &self,
        entry: &ServerEntry,
        status: Status,
        why: Option<String>,
        came_back: bool,
    ) {
        let restarted = came_back.then(|| "restarted".to_owned());
        let detail: Vec<String> = restarted.into_iter().chain(why).collect();
        self.0.audit.record(NewAudit {
            at: clock::now(),
            principal: "trunkline".to_owned(),
            action: "change-status".to_owned(),
            server_id: Some(entry.id.clone()),
            server_name: Some(entry.name.clone()),
            outcome: status.as_str().to_lowercase(),
            detail: Some(detail.join("; ")).filter(|detail| !detail.is_empty()),
            ..NewAudit::default()
        });
    }

    /// There is one task that checks each server, as long as it stays the same.
    fn check(&self, entry: &ServerEntry, seen: &mut Observations) {
        let url = self.0.health_urls.lock().get(&entry.id).cloned().flatten();
        if seen.checks.get(&entry.id).is_some_and(|(known, _)| *known == url) {
            return;
        }
        let end = self.0.end.child_token();
        if let Some((_, before)) = seen.checks.insert(entry.id.clone(), (url.clone(), end.clone()))
        {
            before.cancel();
        }
        let checking = CheckPlan {
            server_id: entry.id.clone(),
            url: url.and_then(|url| Url::parse(&url).ok()),
            interval: self.0.settings.health_interval,
        };
        let ward = MonitoredServer { platform: self.clone(), id: entry.id.clone() };
        let checker = self.0.checker.clone();
        self.0.tasks.spawn(async move { checker.watch(&checking, &ward, &end).await });
    }

    /// Keeps what registered servers offer, so that it is known when they are gone.
    async fn write_tools(&self) {
        let roster = self.roster();
        let Some(fleet) = self.0.fleet.get() else { return };
        for entry in roster.placed().filter(|entry| self.phase(entry) == ConnectionPhase::Connected)
        {
            let Some(offer) = fleet.tools(&entry.id) else { continue };
            let known = self.0.seen.lock().tools.get(&entry.id).cloned();
            // Of most servers nothing has changed, and there may be thousands of tools.
            if known.as_ref().is_some_and(|(mark, _)| mark.is_of(&offer)) {
                continue;
            }
            let digest = digest(&offer);
            let noted = (offer.mark(), digest);
            self.0.seen.lock().tools.insert(entry.id.clone(), noted);
            if known.is_some_and(|(_, before)| before == digest) {
                continue;
            }
            let (id, name, tools) = (entry.id.clone(), entry.name.clone(), offer.tools().count());
            self.0.news.publish(ServerEvent::Tools { id, name, tools });
            if entry.source() == Source::Api {
                self.keep(&entry.id, &offer).await;
            }
        }
    }

    /// Of what a server offers: made once for each listing.
    pub(super) fn digest_of(&self, id: &str, offer: &Offer) -> [u8; 32] {
        let seen = self.0.seen.lock();
        let known = seen.tools.get(id).filter(|(mark, _)| mark.is_of(offer));
        let known = known.map(|(_, digest)| *digest);
        drop(seen);
        known.unwrap_or_else(|| digest(offer))
    }

    async fn keep(&self, id: &str, offer: &Offer) {
        let kept = offer.tools().map(|tool| NewTool {
            original_name: tool.name.to_owned(),
            definition: String::from_utf8_lossy(tool.definition).into_owned(),
            definition_hash: hex(&Sha256::digest(tool.definition)),
        });
        match self.0.store.replace_tools(id, kept.collect(), clock::now()).await {
            // Removed meanwhile.
            Ok(_) | Err(StoreError::NotFound) => {}
            Err(error) => {
                tracing::warn!(%error, "the tools of a server cannot be kept");
                self.0.seen.lock().tools.remove(id);
            }
        }
    }

    /// The body of `GET /metrics`, with the servers that the asker sees.
    pub fn metrics(&self, asker: &Principal) -> String {
        let roster = self.roster();
        let seen = roster.placed().filter(|entry| sees(asker, &entry.name));
        let entries: Vec<_> = seen.map(|entry| (entry, self.info(entry))).collect();
        let servers: Vec<_> = entries
            .iter()
            .map(|(entry, info)| ServerMetrics {
                name: &entry.name,
                status: self.status(entry),
                restarts: info.as_ref().map_or(0, |info| u64::from(info.restarts)),
                tools: info.as_ref().map_or(0, |info| info.tools as u64),
                open_calls: info.as_ref().map_or(0, |info| info.open_calls as u64),
            })
            .collect();
        let audit = self.0.audit.state();
        let measured = Measured {
            servers: &servers,
            audit_waiting: audit.waiting as u64,
            audit_lost: audit.lost,
            tokens_refused: self.0.strangers.refused(),
            events_lost: self.0.sink.lock().as_ref().map_or(0, EventSink::lost),
            traces_dropped: self.0.settings.tracer.as_ref().map_or(0, Tracer::dropped),
            ..Measured::default()
        };
        expose(&self.0.metrics, &measured, |name| sees(asker, name))
    }
}

/// A server, to the one who checks it.
#[derive(Debug)]
struct MonitoredServer {
    platform: Platform,
    id: String,
}

impl CheckedServer for MonitoredServer {
    fn phase(&self) -> ConnectionPhase {
        let roster = self.platform.roster();
        roster
            .of_id(&self.id)
            .map_or(ConnectionPhase::Disconnected, |entry| self.platform.phase(entry))
    }

    fn silent_for(&self) -> Option<Duration> {
        let roster = self.platform.roster();
        let info = self.platform.info(roster.of_id(&self.id)?)?;
        info.last_message.map(|at| at.elapsed())
    }

    fn is_busy(&self) -> bool {
        let roster = self.platform.roster();
        let info = roster.of_id(&self.id).and_then(|entry| self.platform.info(entry));
        info.is_some_and(|info| info.open_calls > 0)
    }

    fn name(&self) -> String {
        let roster = self.platform.roster();
        roster.of_id(&self.id).map_or_else(|| self.id.clone(), |entry| entry.name.clone())
    }

    fn set_failing(&self, is_failing: bool) {
        if let Some(fleet) = self.platform.0.fleet.get() {
            let verdict = if is_failing { Verdict::Failing } else { Verdict::Passing };
            fleet.mark(&self.id, verdict);
        }
    }

    fn condemn(&self, why: &str) {
        if let Some(fleet) = self.platform.0.fleet.get() {
            let why = format!("has failed too many checks in a row: {why}");
            fleet.mark(&self.id, Verdict::Useless(why));
        }
    }

    fn ask(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            match self.platform.0.fleet.get() {
                Some(fleet) => fleet.ask(&self.id).await,
                None => Err("it is not known any more".to_owned()),
            }
        })
    }
}

pub(super) fn digest(offer: &Offer) -> [u8; 32] {
    let mut sum = Sha256::new();
    for tool in offer.tools() {
        sum.update(tool.definition.len().to_le_bytes());
        sum.update(tool.definition);
    }
    sum.finalize().into()
}
