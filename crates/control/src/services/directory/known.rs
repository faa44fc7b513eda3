//! `KnownServers`: holds the newest `ServerDirectory`, and builds it anew from the config file and the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::timeout;
use trunkline_catalog::config::{CustomTool, ServerSpec};
use trunkline_store::{ServerRecord, Store, StoreError};

use super::file::ConfigFileState;
use super::snapshot::ServerDirectory;
use crate::clock;
use crate::keys::Looks;

/// A reconciliation reads the store a few times, and takes milliseconds. An edit is not refused because the store
/// hangs: after this long it is answered, and applied later.
const APPLIED_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct KnownServers {
    store: Store,
    /// Without its key nothing is written to the store.
    is_locked: bool,
    /// Locked before `current`, never after it.
    file: Mutex<ConfigFileState>,
    /// A leaf lock: held to clone or to replace the `Arc`.
    current: Mutex<Arc<ServerDirectory>>,
    /// Held from reading the store to replacing the directory: an older reading must not come last.
    reloading: Semaphore,
    /// The store could not be read when it was last tried.
    is_store_away: AtomicBool,
    /// What is wanted has changed.
    reconcile: Notify,
    /// How often a reconciliation was requested.
    requested: AtomicU64,
    /// The last request that the data plane knows of.
    applied: watch::Sender<u64>,
    /// For servers that other replicas have registered a moment ago.
    looks: Looks,
}

impl KnownServers {
    pub(crate) fn new(store: Store, is_locked: bool) -> Self {
        Self {
            store,
            is_locked,
            file: Mutex::default(),
            current: Mutex::default(),
            reloading: Semaphore::new(1),
            is_store_away: AtomicBool::new(false),
            reconcile: Notify::new(),
            requested: AtomicU64::new(0),
            applied: watch::Sender::new(0),
            looks: Looks::new(),
        }
    }

    pub(crate) fn directory(&self) -> Arc<ServerDirectory> {
        Arc::clone(&self.current.lock())
    }

    pub(crate) fn file(&self) -> MutexGuard<'_, ConfigFileState> {
        self.file.lock()
    }

    /// The config file says this from now on.
    pub(crate) fn set_file(&self, servers: Vec<ServerSpec>, custom: Vec<CustomTool>) {
        let mut file = self.file.lock();
        file.date(&servers, clock::now());
        file.servers = servers;
        file.custom = custom;
        file.is_new = true;
        // At once: a REST request may come before the store is read again.
        self.replace(&file, self.directory().records());
        drop(file);
        self.request_reconcile();
    }

    /// Reads the store again. If it cannot be read, what is known of it stays known.
    pub(crate) async fn reload(&self) -> Result<(), StoreError> {
        let _turn = self.reloading.acquire().await; // it is never closed
        // No lock is held while the store answers.
        let (records, read) = match self.store.all_servers().await {
            Ok(records) => (records, Ok(())),
            Err(error) => (self.directory().records(), Err(error)),
        };
        self.replace(&self.file.lock(), records);
        read
    }

    /// Takes a guarded `file`: under its lock no older directory can come last.
    fn replace(&self, file: &ConfigFileState, records: Vec<ServerRecord>) {
        let is_disconnected = |name: &str| file.disconnected.contains(name);
        let times = |id: &str| file.times.get(id).copied().unwrap_or_default();
        let directory = ServerDirectory::new(&file.servers, is_disconnected, times, records);
        *self.current.lock() = Arc::new(directory);
    }

    /// Reads the store, and logs it once when that fails and once when it works again. Serving goes on with
    /// what is known.
    pub(crate) async fn refresh(&self) {
        let read = self.reload().await;
        // `Relaxed`: the flag guards only a log line.
        let was_away = self.is_store_away.swap(read.is_err(), Ordering::Relaxed);
        match read {
            Err(error) if !was_away => {
                tracing::warn!(
                    %error,
                    "the registered servers cannot be read: they stay as they are until the store answers"
                );
            }
            Ok(()) if was_away => tracing::warn!("the registered servers can be read again"),
            _ => {}
        }
    }

    /// Reads the store again if it may have a server with this id or name that is not known here yet.
    pub(crate) async fn look_for(&self, id: &str) {
        if self.directory().find(id).is_some() {
            return;
        }
        // Boxed: a future that is passed on is held twice, and this one is large.
        let look = Box::pin(async {
            // Who waited for another look may have it by now.
            if self.directory().find(id).is_none() {
                self.refresh_and_reconcile().await;
            }
        });
        self.looks.look(look).await;
    }

    /// After a change: known here at once, and applied soon.
    pub(crate) async fn refresh_and_reconcile(&self) {
        self.refresh().await;
        self.request_reconcile();
    }

    /// After a change that must hold when it is answered, such as narrower walls of a server.
    pub(crate) async fn refresh_and_apply(&self) {
        self.refresh().await;
        let request = self.request_reconcile();
        let mut applied = self.applied.subscribe();
        drop(timeout(APPLIED_WITHIN, applied.wait_for(|last| *last >= request)).await);
    }

    /// Returns the number of the request.
    pub(crate) fn request_reconcile(&self) -> u64 {
        // `Relaxed`: what is wanted is published by the lock of `current`; the number only counts.
        let request = self.requested.fetch_add(1, Ordering::Relaxed) + 1;
        self.reconcile.notify_one();
        request
    }

    /// The last request so far: a reconciliation that begins now answers it and all before.
    pub(crate) fn last_request(&self) -> u64 {
        // `Relaxed`: as above.
        self.requested.load(Ordering::Relaxed)
    }

    /// The data plane knows what was wanted when this request was made.
    pub(crate) fn applied_until(&self, request: u64) {
        self.applied.send_replace(request);
    }

    /// Waits for the next request.
    pub(crate) async fn reconcile_requested(&self) {
        self.reconcile.notified().await;
    }

    /// Gives servers of the config file the date of the first time that any process with this store saw
    /// them.
    pub(crate) async fn date_file_servers(&self) {
        let undated: Vec<(String, i64)> = {
            let file = self.file.lock();
            let date = |id: &String| Some((id.clone(), file.times.get(id)?.first_seen));
            file.undated.iter().filter_map(date).collect()
        };
        if undated.is_empty() || self.is_locked {
            return;
        }
        for (id, seen) in undated {
            let name = format!("first-seen.{id}");
            let value = seen.to_string().into_bytes();
            // The store is away: the next round asks again.
            let Ok(kept) = self.store.put_setting_if_absent(&name, value).await else { return };
            let kept = String::from_utf8(kept).ok().and_then(|text| text.parse().ok());
            let mut file = self.file.lock();
            file.undated.remove(&id);
            if let Some(times) = file.times.get_mut(&id) {
                times.first_seen = kept.unwrap_or(seen).min(seen);
            }
        }
        self.replace(&self.file.lock(), self.directory().records());
    }
}
