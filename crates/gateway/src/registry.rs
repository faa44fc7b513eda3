//! The configured servers and the catalog made of those that run: knowledge, no behaviour.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use trunkline_catalog::name::Naming;
use trunkline_catalog::{Catalog, Offer};

use crate::deadlines::Tick;
use crate::limits::KNOWN_NAMES;
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
    /// Every tool name each server has offered so far.
    known: Vec<BTreeSet<String>>,
}

impl Registry {
    pub(crate) fn new(servers: Vec<Arc<Server>>, naming: Naming) -> Self {
        let known = vec![BTreeSet::new(); servers.len()];
        let current = Mutex::new(Current { stale: true, known, ..Current::default() });
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
            let snapshot = self.assemble(&mut current.known);
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

    fn assemble(&self, known: &mut [BTreeSet<String>]) -> Snapshot {
        let live: Vec<_> = self.servers.iter().map(|server| server.live()).collect();
        for (live, known) in live.iter().zip(known.iter_mut()) {
            let tools = live.iter().flat_map(|live| live.listing.tools());
            known.extend(tools.map(|tool| tool.name.clone()).take(KNOWN_NAMES - known.len()));
        }
        let offers: Vec<_> = self
            .servers
            .iter()
            .zip(live.iter().zip(known.iter()))
            .map(|(server, (live, known))| Offer {
                server: server.index,
                key: &server.key,
                listing: live.as_ref().map(|live| &*live.listing),
                known,
            })
            .collect();
        let catalog = Catalog::assemble(&offers, &self.naming);
        let connections = live.into_iter().map(|live| Some(live?.connection)).collect();
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
