//! What is wanted becomes what runs: one task that looks at the store and at the config file and tells
//! the data plane which servers there are to be.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use trunkline_catalog::config::{CallRules, CustomTool, ServerSpec, Share, ToolFilter};
use trunkline_gateway::{Fleet, Verdict};
use trunkline_store::{ServerRecord, StoreError};

use super::made::Changed;
use super::roster::{Entry, Origin, Roster};
use super::{Platform, Trouble, clock};
use crate::secrets::{self, Safe, SecretError, Sources};

/// Other replicas may have changed something.
const LOOK: Duration = Duration::from_secs(5);
/// Calls of a server that is disconnected have so long to end (US6-AC3).
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Servers that are read at a time.
const PAGE: usize = 1_000;

impl Platform {
    /// The config file says this from now on.
    pub fn set_file(&self, servers: Vec<ServerSpec>, custom: Vec<CustomTool>) {
        let mut file = self.0.file.lock();
        file.servers = servers;
        file.custom = custom;
        file.is_new = true;
        drop(file);
        self.0.wish.notify_one();
    }

    /// Reads the store again. What is known of it stays known if it cannot be read.
    pub(super) async fn reload(&self) -> Result<(), StoreError> {
        let (records, read) = match self.records().await {
            Ok(records) => (records, Ok(())),
            Err(error) => (self.roster().records(), Err(error)),
        };
        let file = self.0.file.lock();
        let is_disconnected = |name: &str| file.disconnected.contains(name);
        let roster = Roster::new(&file.servers, is_disconnected, records);
        drop(file);
        *self.0.roster.lock() = Arc::new(roster);
        read
    }

    async fn records(&self) -> Result<Vec<ServerRecord>, StoreError> {
        let (mut records, mut after) = (Vec::new(), String::new());
        loop {
            let page = self.0.store.servers(&after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(records) };
            after.clone_from(&last.name);
            records.extend(page);
        }
    }

    /// Says it when the store cannot be read any more, and when it can again, each once. Serving goes
    /// on with what is known.
    pub(super) fn has_read(&self, read: &Result<(), StoreError>) {
        let was_away = self.0.is_store_away.swap(read.is_err(), Ordering::Relaxed);
        match read {
            Err(error) if !was_away => {
                tracing::warn!(%error, "the registered servers cannot be read; what runs goes on");
            }
            Ok(()) if was_away => tracing::warn!("the registered servers can be read again"),
            _ => {}
        }
    }

    pub(super) fn roster(&self) -> Arc<Roster> {
        Arc::clone(&self.0.roster.lock())
    }

    /// Runs until the end.
    pub(super) async fn reconcile(&self) {
        loop {
            let read = self.reload().await;
            self.has_read(&read);
            self.settle().await;
            tokio::select! {
                () = self.0.end.cancelled() => return,
                () = self.0.wish.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Tells the data plane.
    async fn settle(&self) {
        let Some(fleet) = self.0.fleet.get() else { return };
        let roster = self.roster();
        let changed = self.changed_secrets().await;
        let mut specs = Vec::new();
        for entry in roster.placed() {
            let Origin::Api(record, _) = &entry.origin else { continue };
            let wish = match entry.wanted {
                true => self.wish(fleet, record, &changed).await.map(Some),
                false => Ok(None),
            };
            match wish {
                Ok(spec) => {
                    self.0.troubles.lock().remove(&entry.id);
                    specs.extend(spec);
                }
                Err(why) => self.trouble(entry, why),
            }
        }
        for entry in &roster.displaced {
            self.trouble(entry, "the config file has a server of this name".to_owned());
        }
        self.apply(fleet, specs);
        self.look();
    }

    /// Makes these, besides those of the config file, the servers: as far as they are still wanted,
    /// and under the names they have now. Much may have happened while the store was read.
    fn apply(&self, fleet: &Fleet, mut specs: Vec<ServerSpec>) {
        let roster = self.roster();
        specs.retain_mut(|spec| {
            let entry = roster.placed_of_id(&spec.id).filter(|entry| entry.wanted);
            let Some(entry) = entry else { return false };
            spec.key.clone_from(&entry.name);
            true
        });
        let mut all = self.file_specs();
        let of_file: Vec<String> = all.iter().map(|spec| spec.id.clone()).collect();
        all.extend(specs);
        let (custom, is_new) = {
            let mut file = self.0.file.lock();
            (file.custom.clone(), std::mem::take(&mut file.is_new))
        };
        let applied = fleet.apply_within(all, custom, PATIENCE);
        if is_new {
            // Whoever has changed the file wants to see what comes of it.
            for id in &of_file {
                fleet.mark(id, Verdict::Well);
            }
        }
        for name in &applied.started {
            tracing::info!(server = %name, "is being connected");
        }
        for name in &applied.stopped {
            tracing::info!(server = %name, "is disconnected");
        }
        self.0.made.lock().keep(|id| roster.of_id(id).is_some());
    }

    /// When the secrets that servers refer to were last changed, if any does and it can be read.
    async fn changed_secrets(&self) -> Changed {
        if !self.0.made.lock().names_secrets() {
            return None;
        }
        let named = Safe::named(&self.0.store).await.ok()?;
        Some(named.into_iter().map(|secret| (secret.name, secret.updated_at)).collect())
    }

    /// A registered server as it runs, if nothing about it has changed or nobody can say; otherwise
    /// as its record has it.
    async fn wish(
        &self,
        fleet: &Fleet,
        record: &ServerRecord,
        changed: &Changed,
    ) -> Result<ServerSpec, String> {
        let running = fleet.spec(&record.id);
        let holds = self.0.made.lock().holds(record, changed);
        if let Some(running) = running.as_ref().filter(|_| holds) {
            return Ok(running.clone());
        }
        match (self.spec(record, changed).await, running) {
            // What cannot be read does not stop what runs.
            (Err(SecretError::Store(_)), Some(running)) => Ok(running),
            (Err(error), _) => Err(error.to_string()),
            (Ok(spec), _) => spec,
        }
    }

    fn file_specs(&self) -> Vec<ServerSpec> {
        let file = self.0.file.lock();
        let wanted = file.servers.iter().filter(|spec| !file.disconnected.contains(&spec.key));
        wanted.cloned().collect()
    }

    fn trouble(&self, entry: &Entry, message: String) {
        let mut troubles = self.0.troubles.lock();
        if troubles.get(&entry.id).is_some_and(|known| known.message == message) {
            return;
        }
        tracing::warn!(server = %entry.name, "cannot be connected: {message}");
        troubles.insert(entry.id.clone(), Trouble { at: clock::now(), message });
    }

    /// A registered server, ready to be connected: its secrets are opened here and nowhere else.
    /// The inner error: what it refers to is not there.
    async fn spec(
        &self,
        record: &ServerRecord,
        changed: &Changed,
    ) -> Result<Result<ServerSpec, String>, SecretError> {
        let inner = &self.0;
        let credentials = inner.store.credentials(&record.id).await?;
        let connection = inner.safe.open(record, &credentials)?;
        let names = secrets::secrets_named(&connection);
        let named = inner.safe.values_of(&inner.store, &names).await?;
        let sources = Sources {
            environment: &*inner.settings.environment,
            allowed: &inner.settings.allowed,
            named: &named,
        };
        let resolved = match secrets::resolve(&connection, sources) {
            Ok(resolved) => resolved,
            Err(faults) => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                return Ok(Err(faults.join("; ")));
            }
        };
        inner.made.lock().note(record, &names, changed);
        let connection = resolved.connection;
        let health = connection.health_check_url;
        inner.health_urls.lock().insert(record.id.clone(), health);
        Ok(Ok(ServerSpec {
            id: record.id.clone(),
            key: record.name.clone(),
            transport: connection.transport,
            disabled: false,
            secrets: resolved.secrets,
            filter: ToolFilter::default(),
            share: Share::default(),
            guarded: true,
            calls: CallRules {
                timeout: connection.call_timeout,
                at_once: connection.max_concurrency.and_then(|most| usize::try_from(most).ok()),
            },
        }))
    }
}
