//! `Context`: how long the list of tools is that each kind of client is served. Made beside the runtime,
//! once for each change of what is offered, and published as snapshots.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use trunkline_catalog::client::Client;
use trunkline_gateway::{Fleet, Grant};

use super::Platform;
use crate::api::view::ContextView;

/// Grants whose snapshots are kept: one for each key that looks at the overview, and more are made anew.
const MOST_GRANTS: usize = 64;

#[derive(Debug)]
pub(super) struct Context {
    /// By the number of the grant; `None`: of those who see everything.
    published: Mutex<HashMap<Option<u64>, Published>>,
    /// One is made at a time: each takes a thread for a while where there are thousands of tools.
    making: Semaphore,
}

#[derive(Debug, Clone)]
struct Published {
    /// Of the fleet, before anything was read.
    version: u64,
    lists: Arc<[ContextView]>,
}

impl Default for Context {
    fn default() -> Self {
        Self { published: Mutex::default(), making: Semaphore::new(1) }
    }
}

impl Context {
    fn of(&self, grant: Option<u64>, version: u64) -> Option<Arc<[ContextView]>> {
        let published = self.published.lock();
        let known = published.get(&grant).filter(|known| known.version == version)?;
        Some(Arc::clone(&known.lists))
    }

    fn publish(&self, grant: Option<u64>, made: Published) {
        let mut published = self.published.lock();
        if published.len() >= MOST_GRANTS && !published.contains_key(&grant) {
            published.clear();
        }
        published.insert(grant, made);
    }
}

impl Platform {
    /// Whoever asks waits for the list to be counted; nobody else does.
    pub(super) async fn context(&self, grant: Option<Arc<dyn Grant>>) -> Arc<[ContextView]> {
        let Some(fleet) = self.0.fleet.get() else { return Arc::default() };
        let (context, id) = (&self.0.context, grant.as_ref().map(|grant| grant.id()));
        if let Some(known) = context.of(id, fleet.version()) {
            return known;
        }
        let _turn = context.making.acquire().await; // it is never closed
        let version = fleet.version();
        // Somebody else may have waited for the same.
        if let Some(known) = context.of(id, version) {
            return known;
        }
        let fleet = fleet.clone();
        let making = self.0.tasks.spawn_blocking(move || count(&fleet, grant.as_ref()));
        // Broken off: it is shutting down.
        let Ok(lists) = making.await else { return Arc::default() };
        context.publish(id, Published { version, lists: Arc::clone(&lists) });
        lists
    }
}

fn count(fleet: &Fleet, grant: Option<&Arc<dyn Grant>>) -> Arc<[ContextView]> {
    let kinds = std::iter::once(None).chain(Client::ALL.map(Some));
    let of = |client: Option<Client>| {
        let listed = fleet.listed(client, grant.cloned());
        ContextView {
            client: client.map(Client::id),
            title: client.map_or("Any client", Client::title),
            tools: listed.tools(),
            bytes: listed.bytes(),
        }
    };
    kinds.map(of).collect()
}
