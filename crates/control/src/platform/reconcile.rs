//! What is wanted becomes what runs: one task that looks at the store and at the config file and tells
//! the data plane which servers there are to be.

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use trunkline_catalog::config::{CallRules, CustomTool, Era, ServerSpec, Share, ToolFilter};
use trunkline_store::{ServerRecord, StoreError};

use super::login::{may_log_in, with_logins};
use super::roster::{Entry, Origin, Roster};
use super::{Platform, Trouble, clock};
use crate::secrets::{self, Resolved, SecretError, Sources};

/// Others may have changed something, and not every store tells.
const LOOK: Duration = Duration::from_secs(5);
/// Calls of a server that is disconnected have so long to end (US6-AC3).
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

impl Platform {
    /// The config file says this from now on.
    pub fn set_file(&self, servers: Vec<ServerSpec>, custom: Vec<CustomTool>) {
        let mut file = self.0.file.lock();
        file.servers = with_logins(servers);
        file.custom = custom;
        drop(file);
        self.0.wish.notify_one();
    }

    /// Reads the store again. What is known stays known if it cannot be read.
    pub(super) async fn reload(&self) -> Result<(), StoreError> {
        let _turn = self.0.reloading.lock().await;
        let records = self.0.store.all_servers().await?;
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
        let mut changes = self.0.store.changes();
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
                () = changes.next() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Tells the data plane.
    async fn settle(&self) {
        let Some(fleet) = self.0.fleet.get() else { return };
        let roster = self.roster();
        self.forget_all_but(&roster);
        let mut specs = self.file_specs();
        for entry in roster.placed().filter(|entry| entry.wanted) {
            let Origin::Api(record, _) = &entry.origin else { continue };
            match self.spec(record).await {
                Ok(spec) => {
                    self.0.troubles.lock().remove(&entry.id);
                    self.0.specs.lock().insert(entry.id.clone(), spec.clone());
                    specs.push(spec);
                }
                // A store that is away takes no server along that is connected.
                Err(NoSpec::Store(error)) => match self.last_spec(entry) {
                    Some(spec) => specs.push(spec),
                    None => self.trouble(entry, error.to_string()),
                },
                Err(NoSpec::Never(why)) => self.trouble(entry, why),
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

    /// What is remembered of servers goes with them.
    fn forget_all_but(&self, roster: &Roster) {
        let there: HashSet<&str> = roster.all().map(|entry| entry.id.as_str()).collect();
        self.0.troubles.lock().retain(|id, _| there.contains(id.as_str()));
        self.0.specs.lock().retain(|id, _| there.contains(id.as_str()));
        self.0.health_urls.lock().retain(|id, _| there.contains(id.as_str()));
    }

    /// How it was last connected, if it still has that name.
    fn last_spec(&self, entry: &Entry) -> Option<ServerSpec> {
        self.0.specs.lock().get(&entry.id).filter(|spec| spec.key == entry.name).cloned()
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

    /// How a registered server is reached: its secrets are opened here and nowhere else.
    pub(super) async fn opened(&self, record: &ServerRecord) -> Result<Resolved, NoSpec> {
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
        secrets::resolve(&connection, sources).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            NoSpec::Never(faults.join("; "))
        })
    }

    /// A registered server, ready to be connected.
    async fn spec(&self, record: &ServerRecord) -> Result<ServerSpec, NoSpec> {
        let resolved = self.opened(record).await?;
        let connection = resolved.connection;
        let health = connection.health_check_url;
        self.0.health_urls.lock().insert(record.id.clone(), health);
        let login = may_log_in(&connection.transport).then(|| record.id.clone());
        Ok(ServerSpec {
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
