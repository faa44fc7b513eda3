//! `OpenHandshakes`: the connections that have not yet said what comes before the first request: a load balancer's
//! header, a TLS handshake. Their number is bounded: one more ends the oldest of the address that has the most.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::front::http::access::PeerNetwork;
use crate::limits::HANDSHAKES;
use crate::lock::{Mutex, rank};

#[derive(Debug)]
pub(crate) struct OpenHandshakes {
    // Held to add or remove one; where there are too many, also to choose which ends.
    open: Mutex<HandshakeTable, rank::OpenHandshakes>,
}

#[derive(Debug, Default)]
struct HandshakeTable {
    next: u64,
    /// The oldest first. Without a network: a load balancer has not said yet whom it connects for.
    all: std::collections::BTreeMap<u64, (Option<PeerNetwork>, CancellationToken)>,
}

/// One of them; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct HandshakePlace {
    table: Arc<OpenHandshakes>,
    number: u64,
    evicted: CancellationToken,
}

impl OpenHandshakes {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { open: Mutex::default() })
    }

    /// Takes a place. Where there is none, another handshake ends: an honest one takes some round trips, so that the
    /// oldest is the least likely to become anything. Those that come from nobody known yet count together.
    pub(crate) fn begin(self: &Arc<Self>, from: Option<PeerNetwork>) -> HandshakePlace {
        let mut open = self.open.lock();
        if open.all.len() >= HANDSHAKES {
            open.evict();
        }
        let (number, evicted) = (open.next, CancellationToken::new());
        open.next += 1;
        open.all.insert(number, (from, evicted.clone()));
        HandshakePlace { table: Arc::clone(self), number, evicted }
    }
}

impl HandshakeTable {
    fn evict(&mut self) {
        let mut counts: HashMap<Option<PeerNetwork>, usize> = HashMap::new();
        for (network, _) in self.all.values() {
            *counts.entry(*network).or_default() += 1;
        }
        let most = counts.values().copied().max().unwrap_or_default();
        let is_crowd = |network: &Option<PeerNetwork>| counts.get(network) == Some(&most);
        let oldest = self.all.iter().find(|(_, (network, _))| is_crowd(network));
        if let Some(number) = oldest.map(|(number, _)| *number)
            && let Some((_, evicted)) = self.all.remove(&number)
        {
            evicted.cancel();
        }
    }
}

impl HandshakePlace {
    /// From here on it counts for this client: all clients of a load balancer come from the same address.
    pub(crate) fn belongs_to(&self, client: PeerNetwork) {
        if let Some((network, _)) = self.table.open.lock().all.get_mut(&self.number) {
            *network = Some(client);
        }
    }

    /// Resolves when another one has taken its place.
    pub(crate) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }
}

impl Drop for HandshakePlace {
    fn drop(&mut self) {
        self.table.open.lock().all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(last: u8) -> Option<PeerNetwork> {
        Some(PeerNetwork::of([10, 0, 0, last].into()))
    }

    #[test]
    fn the_oldest_of_the_largest_crowd_goes() {
        let table = OpenHandshakes::new();
        let lone = table.begin(network(1));
        let mut crowd: Vec<_> = (1..HANDSHAKES).map(|_| table.begin(network(2))).collect();
        assert!(crowd.iter().all(|place| !place.evicted.is_cancelled()));
        crowd.push(table.begin(network(3)));
        assert!(!lone.evicted.is_cancelled(), "it is older, and alone");
        let gone: Vec<_> = crowd.iter().map(|place| place.evicted.is_cancelled()).collect();
        assert!(gone[0] && !gone[1..].contains(&true));
        assert_eq!(table.open.lock().all.len(), HANDSHAKES);
        drop((lone, crowd));
        assert!(table.open.lock().all.is_empty());
    }

    #[test]
    fn clients_of_one_balancer_count_apart_once_they_are_named() {
        let table = OpenHandshakes::new();
        let begin = |client: u8| {
            let place = table.begin(None);
            place.belongs_to(network(client).expect("one"));
            place
        };
        let (unnamed, honest) = (table.begin(None), begin(1));
        let crowd: Vec<_> = (0..HANDSHAKES).map(|_| begin(2)).collect();
        let gone: Vec<_> = crowd.iter().map(|place| place.evicted.is_cancelled()).collect();
        assert!(!honest.evicted.is_cancelled() && !unnamed.evicted.is_cancelled());
        assert!(gone[..2] == [true, true] && !gone[2..].contains(&true));
    }

    #[test]
    fn those_that_name_nobody_end_each_other() {
        let table = OpenHandshakes::new();
        let named = table.begin(network(1));
        let crowd: Vec<_> = (0..HANDSHAKES).map(|_| table.begin(None)).collect();
        assert!(!named.evicted.is_cancelled() && crowd[0].evicted.is_cancelled());
    }
}
