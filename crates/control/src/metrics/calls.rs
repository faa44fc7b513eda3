//! What is counted of every call. So many servers and no more: labels must not grow without bound.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::histogram::Histogram;

/// How a call has ended, as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallOutcome {
    Ok,
    /// The tool ran and said that it failed.
    ToolError,
    /// The server answered with an error.
    RpcError,
    Timeout,
    /// The server went away.
    Gone,
    Cancelled,
    /// It was never sent.
    Refused,
}

impl CallOutcome {
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::ToolError,
        Self::RpcError,
        Self::Timeout,
        Self::Gone,
        Self::Cancelled,
        Self::Refused,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool-error",
            Self::RpcError => "rpc-error",
            Self::Timeout => "timeout",
            Self::Gone => "gone",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
        }
    }
}

/// Cheap to feed: one short lock per call.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Relaxed throughout: a sum that nothing else is ordered by.
    all: AtomicU64,
    // A leaf. Calls end on the runtime's thread, not on the pump's, so it is hardly ever waited for.
    servers: Mutex<BTreeMap<String, Calls>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    pub(super) outcomes: [u64; CallOutcome::ALL.len()],
    pub(super) times: Histogram,
}

/// Servers with series of their own: each has some thirty.
const SERVERS: usize = 250;
/// For calls of servers that are none (any more): callers may make up names.
const OTHER: &str = "(other)";

impl Metrics {
    /// These are the servers there are. Counts of those that are gone go with them.
    pub fn set_servers<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut servers = self.servers.lock();
        let mut before = std::mem::take(&mut *servers);
        let mut waiting = Vec::new();
        // Those that have series keep them, whoever comes.
        for name in names.into_iter().chain([OTHER]) {
            match before.remove(name) {
                Some(calls) => drop(servers.insert(name.to_owned(), calls)),
                None => waiting.push(name),
            }
        }
        for name in waiting {
            if name == OTHER || servers.len() <= SERVERS {
                servers.entry(name.to_owned()).or_default();
            }
        }
    }

    /// Has this server series of its own? Without, its calls are counted with others.
    pub fn is_apart(&self, server: &str) -> bool {
        let servers = self.servers.lock();
        servers.contains_key(server) || servers.len() <= SERVERS
    }

    pub fn call(&self, server: &str, outcome: CallOutcome, took: Duration) {
        // Relaxed: nothing else is read by this count.
        self.all.fetch_add(1, Ordering::Relaxed);
        let mut servers = self.servers.lock();
        let calls = match servers.get_mut(server) {
            Some(calls) => calls,
            None => servers.entry(OTHER.to_owned()).or_default(),
        };
        let places = CallOutcome::ALL.iter().zip(&mut calls.outcomes);
        if let Some((_, count)) = places.into_iter().find(|(known, _)| **known == outcome) {
            *count += 1;
        }
        calls.times.add(took);
    }

    /// In all.
    pub fn calls_ended(&self) -> u64 {
        self.all.load(Ordering::Relaxed)
    }

    pub(super) fn servers(&self) -> Vec<(String, Calls)> {
        let servers = self.servers.lock();
        let used = servers.iter().filter(|(name, calls)| *name != OTHER || calls.times.count() > 0);
        used.map(|(name, calls)| (name.clone(), calls.clone())).collect()
    }
}
