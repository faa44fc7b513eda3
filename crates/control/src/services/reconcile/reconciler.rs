//! `Reconciler`: one task that compares the store and the config file with what runs, and tells the data plane
//! which servers there are to be.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use trunkline_catalog::config::{Era, RunRules, ServerSpec, Share, TextRules, ToolFilter};
use trunkline_gateway::{Fleet, HealthVerdict};
use trunkline_store::ServerRecord;

use super::applied::{AppliedRevisions, SecretChanges};
use crate::logins::Logins;
use crate::secrets::Safe;
use crate::services::background::Background;
use crate::services::connections::{ConnectionOpener, NoConnection, may_log_in};
use crate::services::directory::{ServerDirectory, ServerOrigin};
use crate::services::live::LiveServers;
use crate::services::monitor::Monitor;
use crate::services::policies::PolicyService;
use crate::services::recall::Recall;
use crate::services::settings::DISCONNECT_GRACE;

/// Other replicas may have changed something, and not every store sends a notification.
const LOOK: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Reconciler {
    pub(crate) live: Arc<LiveServers>,
    pub(crate) opener: ConnectionOpener,
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) logins: Logins,
    pub(crate) policies: Arc<PolicyService>,
    pub(crate) background: Background,
    pub(crate) recall: Recall,
    /// A leaf lock.
    // One server's revision is compared or noted under it; secrets are opened without it.
    pub(crate) applied: Mutex<AppliedRevisions>,
    /// What the store said when it was last asked whether somebody had decided on definitions. A leaf lock.
    pub(crate) reviewed: Mutex<Option<i64>>,
}

impl Reconciler {
    /// Runs until the end.
    pub(crate) async fn run(&self) {
        let mut changes = self.opener.store.changes();
        loop {
            // Before the store is read: what is requested later may not be in that reading.
            let request = self.live.known.last_request();
            self.live.known.refresh().await;
            self.live.known.date_file_servers().await;
            self.reconcile().await;
            self.live.known.applied_until(request);
            self.look_at_reviews().await;
            self.policies.follow().await;
            tokio::select! {
                () = self.background.end().cancelled() => return,
                () = self.live.known.reconcile_requested() => {}
                // Logins, too: a logout at one replica is a logout at all.
                () = changes.next() => self.logins.look(),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Somebody may have decided on definitions at another replica.
    async fn look_at_reviews(&self) {
        let Some(fleet) = self.live.fleet() else { return };
        // What the store does not say now, it says at the next look.
        let Ok(mark) = self.opener.store.pins_mark().await else { return };
        let before = self.reviewed.lock().replace(mark);
        if before.is_some_and(|before| before != mark) {
            self.recall.reconsider(fleet, &self.live.directory()).await;
        }
    }

    /// Tells the data plane.
    async fn reconcile(&self) {
        let Some(fleet) = self.live.fleet() else { return };
        let directory = self.live.directory();
        self.forget_all_but(&directory);
        // Once for all servers: each would ask the store for the same list.
        let changes = self.secret_changes().await;
        let mut specs = Vec::new();
        let registered = directory.reachable().filter_map(|entry| match &entry.origin {
            ServerOrigin::Api(record, _) => Some((entry, record)),
            ServerOrigin::File { .. } => None,
        });
        let mut registered: Vec<_> = registered.collect();
        // In the order of their registration: what two of them offer stays with the one that had it first.
        registered.sort_by(|(_, a), (_, b)| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        for (entry, record) in registered {
            let spec = match entry.wanted {
                true => {
                    let running = fleet.spec(&record.id);
                    self.wanted_spec(running, record, &changes).await.map(Some)
                }
                false => Ok(None),
            };
            match spec {
                Ok(spec) => {
                    self.live.clear_connect_problem(&entry.id);
                    specs.extend(spec);
                }
                Err(why) => self.live.set_connect_problem(entry, why.to_string()),
            }
        }
        for entry in &directory.displaced {
            let why = "the config file has a server of this name".to_owned();
            self.live.set_connect_problem(entry, why);
        }
        let of_file = self.live.known.file().wanted();
        self.recall.before_start(Some(fleet), of_file.iter().chain(&specs)).await;
        self.apply(fleet, specs);
        self.recall.forget_read();
        self.live.applied().cancel();
        self.monitor.look();
    }

    /// Makes these, besides those of the config file, the servers. Much may have happened while the store was
    /// read: only servers that are still wanted count, under the names they have now.
    fn apply(&self, fleet: &Fleet, mut specs: Vec<ServerSpec>) {
        let directory = self.live.directory();
        specs.retain_mut(|spec| {
            let entry = directory.reachable_by_id(&spec.id).filter(|entry| entry.wanted);
            let Some(entry) = entry else { return false };
            spec.key.clone_from(&entry.name);
            true
        });
        let mut all = self.live.known.file().wanted();
        let of_file: Vec<String> = all.iter().map(|spec| spec.id.clone()).collect();
        all.extend(specs);
        let (custom, is_new) = self.live.known.file().take_custom();
        // No lock is held here: the data plane stops and starts servers.
        let applied = fleet.apply_within(all, custom, DISCONNECT_GRACE);
        if is_new {
            // A person has changed the file and wants to see the effect: old verdicts do not count.
            for id in &of_file {
                fleet.mark(id, HealthVerdict::Well);
            }
        }
        for name in &applied.started {
            tracing::info!(server = %name, "is being connected");
        }
        for name in &applied.stopped {
            tracing::info!(server = %name, "is disconnected");
        }
        self.applied.lock().keep(|id| directory.by_id(id).is_some());
    }

    /// When the secrets that servers refer to were last changed, if any server does and the store answers.
    async fn secret_changes(&self) -> SecretChanges {
        if !self.applied.lock().has_named_secrets() {
            return None;
        }
        let named = Safe::named(&self.opener.store).await.ok()?;
        Some(named.into_iter().map(|secret| (secret.name, secret.updated_at)).collect())
    }

    /// A registered server as it runs, if nothing about it has changed or the store does not answer; otherwise
    /// as its record has it.
    async fn wanted_spec(
        &self,
        running: Option<ServerSpec>,
        record: &ServerRecord,
        changes: &SecretChanges,
    ) -> Result<ServerSpec, NoConnection> {
        let holds = self.applied.lock().holds(record, changes);
        let running = match running {
            Some(running) if holds => return Ok(running),
            running => running,
        };
        match (self.spec(record, changes).await, running) {
            // A store that does not answer does not stop what runs.
            (Err(NoConnection::NotNow(_)), Some(running)) => Ok(running),
            (made, _) => made,
        }
    }

    /// What is remembered of servers goes with them.
    fn forget_all_but(&self, directory: &ServerDirectory) {
        let there: HashSet<&str> = directory.all().map(|entry| entry.id.as_str()).collect();
        self.live.keep_connect_problems(|id| there.contains(id));
        self.monitor.keep_health_urls(|id| there.contains(id));
    }

    /// A registered server, ready to be connected.
    async fn spec(
        &self,
        record: &ServerRecord,
        changes: &SecretChanges,
    ) -> Result<ServerSpec, NoConnection> {
        let (resolved, names) = self.opener.resolved(record).await?;
        let mut connection = resolved.connection;
        let settings = &self.opener.settings;
        let settled = settings
            .registration
            .stdio
            .resolve_program(&mut connection.transport, &settings.registration.program_search);
        settled.map_err(|why| NoConnection::Never(why.to_string()))?;
        self.applied.lock().note(record, &names, changes);
        self.monitor.set_health_url(&record.id, connection.health_check_url);
        let login = may_log_in(&connection.transport).then(|| record.id.clone());
        Ok(ServerSpec {
            id: record.id.clone(),
            key: record.name.clone(),
            transport: connection.transport,
            disabled: false,
            secrets: resolved.secrets,
            filter: ToolFilter::default(),
            share: Share::default(),
            era: Era::default(),
            // Only where registered servers may be; those of the config file are the operator's own.
            guarded: true,
            login,
            calls: connection.calls,
            tool_limits: Vec::new(),
            run: RunRules::default(),
            texts: TextRules { on_change: connection.on_change, ..TextRules::default() },
            sandbox: connection.sandbox,
        })
    }
}
