//! What is wanted becomes what runs: one task that looks at the store and at the config file and tells
//! the data plane which servers there are to be.

use std::collections::{BTreeSet, HashSet};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use trunkline_catalog::config::{CallRules, CustomTool, Era, ServerSpec, Share, ToolFilter};
use trunkline_gateway::{Fleet, Verdict};
use trunkline_store::{ServerRecord, StoreError};

use super::login::{may_log_in, with_logins};
use super::made::SecretChanges;
use super::roster::{EntryTimes, ServerDirectory, ServerEntry, ServerOrigin};
use super::{ConfigFileState, ConnectProblem, Platform, clock};
use crate::secrets::{self, Resolved, Safe, SecretError, Sources};

/// Others may have changed something, and not every store tells.
const LOOK: Duration = Duration::from_secs(5);
/// Calls of a server that is disconnected have so long to end (US6-AC3).
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

impl Platform {
    /// The config file says this from now on.
    pub fn set_file(&self, servers: Vec<ServerSpec>, custom: Vec<CustomTool>) {
        let mut file = self.0.file.lock();
        file.date(&servers, clock::now());
        file.servers = with_logins(servers);
        file.custom = custom;
        file.is_new = true;
        // Known at once: whoever asks over REST may be there before the store is read again.
        self.enrol(&file, self.roster().records());
        drop(file);
        self.0.wish.notify_one();
    }

    /// Reads the store again. What is known of it stays known if it cannot be read.
    pub(super) async fn reload(&self) -> Result<(), StoreError> {
        let _turn = self.0.reloading.acquire().await; // it is never closed
        let (records, read) = match self.0.store.all_servers().await {
            Ok(records) => (records, Ok(())),
            Err(error) => (self.roster().records(), Err(error)),
        };
        self.enrol(&self.0.file.lock(), records);
        read
    }

    /// The file is locked until it is done: an older one must not come last.
    fn enrol(&self, file: &ConfigFileState, records: Vec<ServerRecord>) {
        let is_disconnected = |name: &str| file.disconnected.contains(name);
        let times = |id: &str| file.times.get(id).copied().unwrap_or_default();
        let roster = ServerDirectory::new(&file.servers, is_disconnected, times, records);
        *self.0.roster.lock() = Arc::new(roster);
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

    /// Servers of the config file have the date of the first time that any process with this store saw
    /// them.
    async fn date_servers(&self) {
        let undated: Vec<(String, i64)> = {
            let file = self.0.file.lock();
            let date = |id: &String| Some((id.clone(), file.times.get(id)?.first_seen));
            file.undated.iter().filter_map(date).collect()
        };
        if undated.is_empty() || self.0.safe.is_locked() {
            return;
        }
        for (id, seen) in undated {
            let name = format!("first-seen.{id}");
            let value = seen.to_string().into_bytes();
            // The store is away: it is asked again at the next look.
            let Ok(kept) = self.0.store.put_setting_if_absent(&name, value).await else { return };
            let kept = String::from_utf8(kept).ok().and_then(|text| text.parse().ok());
            let mut file = self.0.file.lock();
            file.undated.remove(&id);
            if let Some(times) = file.times.get_mut(&id) {
                times.first_seen = kept.unwrap_or(seen).min(seen);
            }
        }
        self.enrol(&self.0.file.lock(), self.roster().records());
    }

    pub(super) fn roster(&self) -> Arc<ServerDirectory> {
        Arc::clone(&self.0.roster.lock())
    }

    /// Runs until the end.
    pub(super) async fn reconcile(&self) {
        let mut changes = self.0.store.changes();
        loop {
            let read = self.reload().await;
            self.has_read(&read);
            self.date_servers().await;
            self.settle().await;
            tokio::select! {
                () = self.0.end.cancelled() => return,
                () = self.0.wish.notified() => {}
                // Also of logins: who has logged out at one replica is logged out at all.
                () = changes.next() => self.0.logins.look(),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Tells the data plane.
    async fn settle(&self) {
        let Some(fleet) = self.0.fleet.get() else { return };
        let roster = self.roster();
        self.forget_all_but(&roster);
        let changed = self.changed_secrets().await;
        let mut specs = Vec::new();
        for entry in roster.placed() {
            let ServerOrigin::Api(record, _) = &entry.origin else { continue };
            let wish = match entry.wanted {
                true => self.wish(fleet, record, &changed).await.map(Some),
                false => Ok(None),
            };
            match wish {
                Ok(spec) => {
                    self.0.troubles.lock().remove(&entry.id);
                    specs.extend(spec);
                }
                Err(why) => self.trouble(entry, why.to_string()),
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
    async fn changed_secrets(&self) -> SecretChanges {
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
        changed: &SecretChanges,
    ) -> Result<ServerSpec, NoSpec> {
        let running = fleet.spec(&record.id);
        let holds = self.0.made.lock().holds(record, changed);
        if let Some(running) = running.as_ref().filter(|_| holds) {
            return Ok(running.clone());
        }
        match (self.spec(record, changed).await, running) {
            // What cannot be read does not stop what runs.
            (Err(NoSpec::Store(_)), Some(running)) => Ok(running),
            (made, _) => made,
        }
    }

    /// What is remembered of servers goes with them.
    fn forget_all_but(&self, roster: &ServerDirectory) {
        let there: HashSet<&str> = roster.all().map(|entry| entry.id.as_str()).collect();
        self.0.troubles.lock().retain(|id, _| there.contains(id.as_str()));
        self.0.health_urls.lock().retain(|id, _| there.contains(id.as_str()));
    }

    fn file_specs(&self) -> Vec<ServerSpec> {
        let file = self.0.file.lock();
        let wanted = file.servers.iter().filter(|spec| !file.disconnected.contains(&spec.key));
        wanted.cloned().collect()
    }

    fn trouble(&self, entry: &ServerEntry, message: String) {
        let mut troubles = self.0.troubles.lock();
        if troubles.get(&entry.id).is_some_and(|known| known.message == message) {
            return;
        }
        tracing::warn!(server = %entry.name, "cannot be connected: {message}");
        troubles.insert(entry.id.clone(), ConnectProblem { at: clock::now(), message });
    }

    /// How a registered server is reached, and the secrets it refers to: they are opened here and
    /// nowhere else.
    pub(super) async fn opened(
        &self,
        record: &ServerRecord,
    ) -> Result<(Resolved, BTreeSet<String>), NoSpec> {
        let inner = &self.0;
        let credentials = inner.store.credentials(&record.id).await.map_err(NoSpec::Store)?;
        let connection = inner.safe.open(record, &credentials)?;
        let names = secrets::secrets_named(&connection);
        let named = inner.safe.values_of(&inner.store, &names).await?;
        let sources = Sources {
            environment: &*inner.settings.environment,
            allowed: &inner.settings.allowed,
            named: &named,
        };
        let resolved = secrets::resolve(&connection, sources).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            NoSpec::Never(faults.join("; "))
        })?;
        Ok((resolved, names))
    }

    /// A registered server, ready to be connected.
    async fn spec(
        &self,
        record: &ServerRecord,
        changed: &SecretChanges,
    ) -> Result<ServerSpec, NoSpec> {
        let (resolved, names) = self.opened(record).await?;
        let mut connection = resolved.connection;
        let (stdio, own) = (&self.0.settings.stdio, &self.0.settings.own);
        stdio
            .settle(&mut connection.transport, own)
            .map_err(|why| NoSpec::Never(why.to_string()))?;
        self.0.made.lock().note(record, &names, changed);
        let health = connection.health_check_url;
        self.0.health_urls.lock().insert(record.id.clone(), health);
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
            guarded: true,
            login,
            calls: CallRules {
                timeout: connection.call_timeout,
                at_once: connection.max_concurrency.and_then(|most| usize::try_from(most).ok()),
            },
        })
    }
}

impl ConfigFileState {
    /// Notes which servers are new and which have changed; called before they replace the ones of before.
    fn date(&mut self, servers: &[ServerSpec], now: i64) {
        for spec in servers {
            let before = self.servers.iter().find(|before| before.id == spec.id);
            match self.times.get_mut(&spec.id) {
                None => {
                    self.times
                        .insert(spec.id.clone(), EntryTimes { first_seen: now, changed: now });
                    self.undated.insert(spec.id.clone());
                }
                Some(times) => {
                    let is_same = before.is_some_and(|before| {
                        // Whether it may be logged in at is added to what the file says.
                        *before == ServerSpec { login: before.login.clone(), ..spec.clone() }
                    });
                    if !is_same {
                        times.changed = now;
                    }
                }
            }
        }
        let is_there = |id: &str| servers.iter().any(|spec| spec.id == id);
        self.times.retain(|id, _| is_there(id));
        self.undated.retain(|id| is_there(id));
    }
}

/// Why a server cannot be connected.
#[derive(Debug)]
pub(super) enum NoSpec {
    /// What it takes cannot be read at the moment.
    Store(StoreError),
    /// Not before something is changed.
    Never(String),
}

impl Display for NoSpec {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(out),
            Self::Never(why) => why.fmt(out),
        }
    }
}

impl From<SecretError> for NoSpec {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::Store(error) => Self::Store(error),
            error => Self::Never(error.to_string()),
        }
    }
}
