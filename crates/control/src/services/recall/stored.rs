//! `Recall`: what servers listed last, and what was approved of it, kept in the store. Read before servers are started, so
//! that a replica lists everything at once; written behind them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use trunkline_catalog::config::ServerSpec;
use trunkline_gateway::{Fleet, ListingHome, LoadedPins, PinHome, PinnedEntry};
use trunkline_store::{KnownListingRecord, Store, StoreError};

use super::pins::StoredPins;
use crate::clock;
use crate::services::directory::ServerDirectory;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub(crate) struct Recall {
    listings: Arc<StoredListings>,
    pins: StoredPins,
}

#[derive(Debug)]
pub(crate) struct StoredListings {
    store: Store,
    /// The store was sealed with another key: nothing in it is changed.
    is_locked: bool,
    /// Read, for servers that are about to be started, by entry. A leaf lock.
    read: Mutex<HashMap<String, Vec<u8>>>,
    /// To be written, by entry: of two the later one counts. A leaf lock.
    unwritten: Mutex<HashMap<String, KnownListingRecord>>,
    /// Rung when something is to be written.
    bell: Notify,
}

/// What no replica has seen for so long belongs to nothing any more (ms).
const KEPT: i64 = 180 * 24 * 3_600 * 1_000;

impl Recall {
    pub(crate) fn new(store: &Store, is_locked: bool) -> Self {
        let listings = StoredListings {
            store: store.clone(),
            is_locked,
            read: Mutex::default(),
            unwritten: Mutex::default(),
            bell: Notify::new(),
        };
        let pins = StoredPins { store: store.clone(), is_locked, read: Arc::default() };
        Self { listings: Arc::new(listings), pins }
    }

    pub(crate) fn listing_home(&self) -> Arc<dyn ListingHome> {
        Arc::clone(&self.listings) as Arc<dyn ListingHome>
    }

    pub(crate) fn pin_home(&self) -> Arc<dyn PinHome> {
        Arc::new(self.pins.clone())
    }

    pub(crate) fn store(&self) -> &Store {
        &self.listings.store
    }

    /// Reads what is kept of those of these servers that do not run as they are here. Without it they are listed once
    /// they are up.
    pub(crate) async fn before_start(
        &self,
        fleet: Option<&Fleet>,
        specs: impl Iterator<Item = &ServerSpec>,
    ) {
        let entries = specs.filter_map(|spec| {
            let entry = PinnedEntry::of(spec);
            let running = fleet.and_then(|fleet| fleet.pinned_entry(&spec.id));
            (running.as_ref() != Some(&entry)).then_some(entry)
        });
        let entries: Vec<_> = entries.collect();
        self.read(entries).await;
    }

    /// Somebody may have decided something about definitions: servers that are listed and do not run are shown by that.
    pub(crate) async fn reconsider(&self, fleet: &Fleet, directory: &ServerDirectory) {
        let down = directory.all().filter(|entry| fleet.life(&entry.id).is_none());
        let entries = down.filter_map(|entry| fleet.pinned_entry(&entry.id)).collect();
        self.read(entries).await;
        fleet.reconsider_pins();
        self.forget_read();
    }

    /// What was read and not used is given back.
    pub(crate) fn forget_read(&self) {
        self.listings.read.lock().clear();
        self.pins.read.lock().clear();
    }

    async fn read(&self, entries: Vec<PinnedEntry>) {
        if entries.is_empty() {
            return;
        }
        if let Err(error) = self.try_read(entries).await {
            tracing::warn!(%error, "what servers listed last cannot be read; they are listed once they are up");
        }
    }

    async fn try_read(&self, entries: Vec<PinnedEntry>) -> Result<(), StoreError> {
        let ids: Vec<String> = entries.into_iter().map(|entry| entry.id).collect();
        let store = &self.listings.store;
        let listed = store.known_listings(ids.clone()).await?;
        // Behind the listings: nothing is shown by pins that are older than what is listed.
        let pinned = store.pins_of_entries(ids.clone()).await?;
        let mut pins: HashMap<_, _> =
            ids.into_iter().map(|entry| (entry, LoadedPins::Nothing)).collect();
        pins.extend(pinned.iter().map(|it| (it.entry.clone(), StoredPins::loaded(it))));
        self.pins.read.lock().extend(pins);
        let listed = listed.into_iter().map(|it| (it.entry, it.document));
        self.listings.read.lock().extend(listed);
        Ok(())
    }

    /// Writes what servers list, until the end.
    pub(crate) async fn run(&self, end: &CancellationToken) {
        let StoredListings { store, is_locked, bell, .. } = &*self.listings;
        if *is_locked {
            return;
        }
        if let Err(error) = store.prune_known_listings(clock::now().saturating_sub(KEPT)).await {
            tracing::debug!(%error, "what servers listed long ago stays in the store");
        }
        while !end.is_cancelled() {
            tokio::select! {
                () = end.cancelled() => {}
                () = bell.notified() => {}
            }
            self.write().await;
        }
    }

    async fn write(&self) {
        let unwritten = std::mem::take(&mut *self.listings.unwritten.lock());
        for record in unwritten.into_values() {
            // A replica that starts lists less; that is no reason to keep it in memory.
            if let Err(error) = self.listings.store.put_known_listing(record).await {
                tracing::debug!(%error, "the store does not keep what a server lists");
            }
        }
    }
}

impl ListingHome for StoredListings {
    fn take(&self, entry: &str) -> Option<Vec<u8>> {
        self.read.lock().remove(entry)
    }

    fn keep_soon(&self, entry: String, server_id: String, document: Vec<u8>) {
        if self.is_locked {
            return;
        }
        let updated_at = clock::now();
        let record = KnownListingRecord { entry: entry.clone(), server_id, document, updated_at };
        self.unwritten.lock().insert(entry, record);
        self.bell.notify_one();
    }
}
