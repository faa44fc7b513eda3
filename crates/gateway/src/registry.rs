//! The configured servers and the catalog made of those that run: knowledge, no behaviour.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use trunkline_catalog::name::Naming;
use trunkline_catalog::{Catalog, Offer};

use crate::deadlines::Tick;
use crate::upstream::{Connection, Server};

#[derive(Debug)]
pub(crate) struct Registry {
    servers: Vec<Arc<Server>>,
    pub(crate) naming: Naming,
    current: Mutex<Current>,
    /// Counts the changes.
    changes: watch::Sender<u64>,
}

/// The catalog of one moment and the connections its routes lead to.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) catalog: Catalog,
    /// By the servers' indices.
    connections: Vec<Option<Arc<Connection>>>,
}

impl Snapshot {
    pub(crate) fn connection(&self, server: usize) -> Option<&Connection> {
        self.connections.get(server)?.as_deref()
    }
}

#[derive(Debug, Default)]
struct Current {
    snapshot: Arc<Snapshot>,
    stale: bool,
    warned: Vec<String>,
}

impl Registry {
    pub(crate) fn new(servers: Vec<Arc<Server>>, naming: Naming) -> Self {
        let current = Mutex::new(Current { stale: true, ..Current::default() });
        Self { servers, naming, current, changes: watch::Sender::new(0) }
    }

    pub(crate) fn servers(&self) -> &[Arc<Server>] {
        &self.servers
    }

    pub(crate) fn server(&self, index: usize) -> Option<&Arc<Server>> {
        self.servers.get(index)
    }

    /// What there is at this moment. Built when it is first asked for after a change, so that fifty
    /// servers that start together cost one assembly.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let mut current = self.current.lock();
        if std::mem::take(&mut current.stale) {
            let snapshot = self.assemble();
            if snapshot.catalog.warnings != current.warned {
                for warning in &snapshot.catalog.warnings {
                    tracing::warn!("{warning}");
                }
                current.warned.clone_from(&snapshot.catalog.warnings);
            }
            current.snapshot = Arc::new(snapshot);
        }
        Arc::clone(&current.snapshot)
    }

    fn assemble(&self) -> Snapshot {
        let live: Vec<_> = self.servers.iter().map(|server| (server, server.live())).collect();
        let offers: Vec<_> = live
            .iter()
            .filter_map(|(server, live)| {
                let listing = &live.as_ref()?.listing;
                Some(Offer { server: server.index, key: &server.key, listing })
            })
            .collect();
        let catalog = Catalog::assemble(&offers, &self.naming);
        let connections = live.into_iter().map(|(_, live)| Some(live?.connection)).collect();
        Snapshot { catalog, connections }
    }

    /// A server's offer has changed.
    pub(crate) fn changed(&self) {
        self.current.lock().stale = true;
        self.changes.send_modify(|count| *count += 1);
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.servers.iter().all(|server| server.status().state.is_settled())
    }

    /// Waits until every server is running or failed, or `deadline` passes. False: it passed.
    pub(crate) async fn settled(&self, deadline: Instant) -> bool {
        let all = async {
            for server in &self.servers {
                server.settled().await;
            }
        };
        timeout_at(deadline, all).await.is_ok()
    }

    /// Ends the calls that are late. True if any call is left open.
    pub(crate) fn expire_calls(&self, now: Tick) -> bool {
        let connections = self.servers.iter().filter_map(|server| server.connection());
        connections.filter(|connection| connection.expire(now)).count() > 0
    }

    /// The server whose key the exposed name starts with (the longest such key).
    pub(crate) fn by_prefix(&self, name: &str) -> Option<&Arc<Server>> {
        let rest = |server: &Server| {
            let rest = name.strip_prefix(&*server.key)?;
            rest.starts_with(self.naming.separator()).then_some(())
        };
        let matching = self.servers.iter().filter(|server| rest(server).is_some());
        matching.max_by_key(|server| server.key.len())
    }
}
