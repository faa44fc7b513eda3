//! `ListSizes`: how long the list of tools is that each kind of client gets. Counted on a blocking thread, once
//! for each change of what is offered.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use trunkline_catalog::client::Client;
use trunkline_gateway::{Fleet, Grant};

use crate::services::background::Background;

/// Grants whose sizes are kept: one for each key that looks at the overview. Beyond that they are counted
/// anew.
const MOST_GRANTS: usize = 64;

#[derive(Debug)]
pub(crate) struct ListSizes {
    /// By the number of the grant; `None`: without a limit. A leaf lock.
    published: Mutex<HashMap<Option<u64>, CountedLists>>,
    /// One count at a time: each takes a thread for a while where there are thousands of tools.
    counting: Semaphore,
}

/// Of the list that one kind of client gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListSize {
    /// The client's id; `None`: any other client.
    pub(crate) client: Option<&'static str>,
    pub(crate) title: &'static str,
    pub(crate) tools: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug, Clone)]
struct CountedLists {
    /// Of the fleet, before anything was read.
    version: u64,
    sizes: Arc<[ListSize]>,
}

impl Default for ListSizes {
    fn default() -> Self {
        Self { published: Mutex::default(), counting: Semaphore::new(1) }
    }
}

impl ListSizes {
    fn of(&self, grant: Option<u64>, version: u64) -> Option<Arc<[ListSize]>> {
        let published = self.published.lock();
        let known = published.get(&grant).filter(|known| known.version == version)?;
        Some(Arc::clone(&known.sizes))
    }

    fn publish(&self, grant: Option<u64>, counted: CountedLists) {
        let mut published = self.published.lock();
        // All at once: keys come and go, and a count is quick to make again.
        if published.len() >= MOST_GRANTS && !published.contains_key(&grant) {
            published.clear();
        }
        published.insert(grant, counted);
    }

    /// The caller waits for the count; nothing else does.
    pub(super) async fn sizes(
        &self,
        fleet: &Fleet,
        grant: Option<Arc<dyn Grant>>,
        background: &Background,
    ) -> Arc<[ListSize]> {
        let id = grant.as_ref().map(|grant| grant.id());
        if let Some(known) = self.of(id, fleet.version()) {
            return known;
        }
        let _turn = self.counting.acquire().await; // it is never closed
        let version = fleet.version();
        // Another caller may have waited for the same count.
        if let Some(known) = self.of(id, version) {
            return known;
        }
        let fleet = fleet.clone();
        let counting = background.spawn_blocking(move || count(&fleet, grant.as_ref()));
        // An error means that Trunkline is shutting down.
        let Ok(sizes) = counting.await else { return Arc::default() };
        self.publish(id, CountedLists { version, sizes: Arc::clone(&sizes) });
        sizes
    }
}

fn count(fleet: &Fleet, grant: Option<&Arc<dyn Grant>>) -> Arc<[ListSize]> {
    let kinds = std::iter::once(None).chain(Client::ALL.map(Some));
    let of = |client: Option<Client>| {
        let listed = fleet.listed(client, grant.cloned());
        ListSize {
            client: client.map(Client::id),
            title: client.map_or("Any client", Client::title),
            tools: listed.tools(),
            bytes: listed.bytes(),
        }
    };
    kinds.map(of).collect()
}
