//! `OverviewService`: the figures of all servers that an asker sees, and the metrics.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use trunkline_catalog::scan::Severity;
use trunkline_gateway::{EventSink, Fleet, ServerFindings};

use super::context::{ListSize, ListSizes};
use crate::access::{Action, Principal};
use crate::audit::Audit;
use crate::health::{RecentActivity, SPAN, ServerStatus};
use crate::keys::ApiKeys;
use crate::metrics::{AuditMetrics, InstanceMetrics as Measured, Metrics, ServerMetrics, expose};
use crate::services::activity::RejectedLogins;
use crate::services::background::Background;
use crate::services::grants::{grant_of, sees};
use crate::services::live::LiveServers;
use crate::services::settings::Settings;
use crate::services::tools::ToolService;
use crate::trace::Tracer;

#[derive(Debug)]
pub struct OverviewService {
    pub(in crate::services) keys: Arc<ApiKeys>,
    pub(in crate::services) live: Arc<LiveServers>,
    pub(in crate::services) tools: Arc<ToolService>,
    pub(in crate::services) audit: Audit,
    pub(in crate::services) rejected: Arc<RejectedLogins>,
    pub(in crate::services) metrics: Arc<Metrics>,
    pub(in crate::services) settings: Arc<Settings>,
    pub(in crate::services) background: Background,
    pub(in crate::services) sizes: ListSizes,
    /// Where the data plane's events come from; asked for those it has lost. A leaf lock.
    pub(in crate::services) sink: Mutex<Option<EventSink>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Overview {
    pub(crate) statuses: Vec<ServerStatus>,
    /// That the asker may call.
    pub(crate) tools: usize,
    /// How far `recent` reaches back.
    pub(crate) span: Duration,
    pub(crate) calls_per_minute: u64,
    pub(crate) recent: RecentActivity,
    pub(crate) open_calls: usize,
    pub(crate) waiting_calls: usize,
    /// Refused because of a limit, of whomever, since the start.
    pub(crate) limited_calls: u64,
    pub(crate) restarts: u64,
    /// `None`: the asker may not know.
    pub(crate) clients: Option<usize>,
    pub(crate) list_sizes: Arc<[ListSize]>,
}

impl OverviewService {
    /// Of the servers that the asker sees.
    pub(crate) async fn overview(&self, asker: &Principal) -> Overview {
        let list_sizes = match self.live.fleet() {
            Some(fleet) => {
                let grant = grant_of(asker.grants(), "");
                self.sizes.sizes(fleet, grant, &self.background).await
            }
            None => Arc::default(),
        };
        let tools = self.count_tools(asker).await;
        let directory = self.live.directory();
        let seen: Vec<_> = directory.all().filter(|entry| sees(asker, &entry.name)).collect();
        let health = &self.live.health;
        let recent = health.recent_activity(seen.iter().map(|entry| entry.id.as_str()));
        let infos: Vec<_> = seen.iter().filter_map(|entry| self.live.info(entry)).collect();
        let may_see_clients = asker.require(Action::ReadClients).is_ok();
        Overview {
            statuses: seen.iter().map(|entry| self.live.status(entry)).collect(),
            tools,
            span: SPAN,
            calls_per_minute: last_minute(&recent),
            recent,
            open_calls: infos.iter().map(|info| info.open_calls).sum(),
            waiting_calls: infos.iter().map(|info| info.waiting_calls).sum(),
            limited_calls: self.limited_calls(),
            restarts: seen.iter().map(|it| u64::from(health.restarts_total(&it.id))).sum(),
            clients: may_see_clients.then(|| self.settings.connected_clients.all().len()),
            list_sizes,
        }
    }

    /// How many tools the asker may call. Each of them is looked at: not on the thread that answers everybody.
    async fn count_tools(&self, asker: &Principal) -> usize {
        let (live, tools, asker) = (Arc::clone(&self.live), Arc::clone(&self.tools), asker.clone());
        let counting = self.background.spawn_blocking(move || {
            let directory = live.directory();
            let seen: Vec<_> = directory.all().filter(|entry| sees(&asker, &entry.name)).collect();
            tools.count_seen(&seen, &asker)
        });
        // An error means that Trunkline is shutting down.
        counting.await.unwrap_or_default()
    }

    fn limited_calls(&self) -> u64 {
        let limited = self.live.fleet().map(Fleet::limited_calls).unwrap_or_default();
        limited.iter().map(|limited| limited.count).sum()
    }

    /// The metrics in Prometheus' text format, with the servers that the asker sees.
    pub(crate) fn metrics(&self, asker: &Principal) -> String {
        let directory = self.live.directory();
        let seen = directory.reachable().filter(|entry| sees(asker, &entry.name));
        let seen: Vec<_> = seen.collect();
        let all: Vec<_> = seen.iter().map(|entry| self.live.status(entry)).collect();
        let statuses = ServerStatus::ALL.map(|status| {
            let count = all.iter().filter(|found| **found == status).count();
            (status.as_str(), count as u64)
        });
        let apart = seen.into_iter().filter(|entry| self.metrics.is_apart(&entry.name));
        let entries: Vec<_> = apart.map(|entry| (entry, self.live.info(entry))).collect();
        let found = self.live.fleet().map(Fleet::findings).unwrap_or_default();
        let counts: Vec<Vec<(&'static str, u64)>> = entries
            .iter()
            .map(|(entry, _)| {
                let of = found.iter().find(|server| server.id == entry.id);
                let counts = of.map(ServerFindings::counts).unwrap_or_default();
                let words = Severity::ALL.map(Severity::word);
                words.into_iter().zip(counts.map(|count| count as u64)).collect()
            })
            .collect();
        let servers: Vec<_> = entries
            .iter()
            .zip(&counts)
            .map(|((entry, info), findings)| ServerMetrics {
                findings,
                name: &entry.name,
                status: self.live.status(entry),
                restarts: info.as_ref().map_or(0, |info| u64::from(info.restarts)),
                tools: info.as_ref().map_or(0, |info| info.tools as u64),
                open_calls: info.as_ref().map_or(0, |info| info.open_calls as u64),
            })
            .collect();
        let audit = self.audit.state();
        let limited = self.live.fleet().map(Fleet::limited_calls).unwrap_or_default();
        let measured = Measured {
            limited: &limited,
            results: self.live.fleet().map(Fleet::result_scans).unwrap_or_default(),
            policy_refusals: self.settings.policies.refused(),
            policies: self.settings.policies.current().infos().count() as u64,
            servers: &servers,
            statuses: &statuses,
            store_silent_seconds: self.keys.silence().as_secs(),
            is_stale: self.keys.is_stale(),
            audit: AuditMetrics {
                waiting: audit.waiting as u64,
                lost: audit.lost,
                export_lost: self.audit.export_lost().load(Ordering::Relaxed),
                spool: [audit.spool.records, audit.spool.bytes, audit.spool.limit],
                is_store_up: audit.trouble.is_none(),
            },
            // Relaxed: a count that is only shown.
            tokens_refused: self.rejected.total(),
            events_lost: self.sink.lock().as_ref().map_or(0, EventSink::lost),
            traces_dropped: self.settings.tracer.as_ref().map_or(0, Tracer::dropped),
            ..Measured::default()
        };
        expose(&self.metrics, &measured, |name| sees(asker, name))
    }

    /// Counts calls of tools, whatever came of them.
    pub fn calls_ended(&self) -> u64 {
        self.metrics.calls_ended()
    }
}

/// The last whole minute: the slice that is not over yet does not count.
fn last_minute(recent: &RecentActivity) -> u64 {
    let whole = recent.slices.iter().rev().skip(1).take(6);
    whole.map(|(_, slice)| slice.calls).sum()
}
