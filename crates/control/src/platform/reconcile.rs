//! What is wanted becomes what runs: one task that looks at the store and at the config file and tells
//! the data plane which servers there are to be.

use std::sync::Arc;
use std::time::Duration;

use trunkline_catalog::config::{CallRules, CustomTool, ServerSpec, Share, ToolFilter};
use trunkline_store::{ServerRecord, StoreError};

use super::roster::{Entry, Origin, Roster};
use super::{Platform, Trouble, clock};
use crate::secrets::{self, SecretError, Sources};

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
        drop(file);
        self.0.wish.notify_one();
    }

    /// Reads the store again. What is known stays known if it cannot be read.
    pub(super) async fn reload(&self) -> Result<(), StoreError> {
        let (mut records, mut after) = (Vec::new(), String::new());
        loop {
            let page = self.0.store.servers(&after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.name);
            records.extend(page);
        }
        let file = self.0.file.lock();
        let is_disconnected = |name: &str| file.disconnected.contains(name);
        let roster = Roster::new(&file.servers, is_disconnected, records);
        drop(file);
        *self.0.roster.lock() = Arc::new(roster);
        Ok(())
    }

    pub(super) fn roster(&self) -> Arc<Roster> {
        Arc::clone(&self.0.roster.lock())
    }

    /// Runs until the end.
    pub(super) async fn reconcile(&self) {
        loop {
            match self.reload().await {
                Ok(()) => {}
                // Serving goes on with what is known.
                Err(error) => tracing::warn!(%error, "the registered servers cannot be read"),
            }
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
        let mut specs = self.file_specs();
        for entry in roster.placed().filter(|entry| entry.wanted) {
            let Origin::Api(record, _) = &entry.origin else { continue };
            match self.spec(record).await {
                Ok(spec) => {
                    self.0.troubles.lock().remove(&entry.id);
                    specs.push(spec);
                }
                Err(why) => self.trouble(entry, why),
            }
        }
        for entry in &roster.displaced {
            self.trouble(entry, "the config file has a server of this name".to_owned());
        }
        let custom = self.0.file.lock().custom.clone();
        let applied = fleet.apply_within(specs, custom, PATIENCE);
        for name in &applied.started {
            tracing::info!(server = %name, "is being connected");
        }
        for name in &applied.stopped {
            tracing::info!(server = %name, "is disconnected");
        }
        self.look();
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
    async fn spec(&self, record: &ServerRecord) -> Result<ServerSpec, String> {
        let inner = &self.0;
        let failed = |error: SecretError| error.to_string();
        let credentials = inner.store.credentials(&record.id).await;
        let credentials = credentials.map_err(|error| error.to_string())?;
        let connection = inner.safe.open(record, &credentials).map_err(failed)?;
        let names = secrets::secrets_named(&connection);
        let named = inner.safe.values_of(&inner.store, &names).await.map_err(failed)?;
        let sources = Sources {
            environment: &*inner.settings.environment,
            allowed: &inner.settings.allowed,
            named: &named,
        };
        let resolved = secrets::resolve(&connection, sources).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            faults.join("; ")
        })?;
        let mut connection = resolved.connection;
        let stdio = &inner.settings.stdio;
        stdio
            .settle(&mut connection.transport, &inner.settings.own)
            .map_err(|why| why.to_string())?;
        let health = connection.health_check_url;
        inner.health_urls.lock().insert(record.id.clone(), health);
        Ok(ServerSpec {
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
        })
    }
}
