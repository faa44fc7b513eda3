//! `AddressCounts`: how many connections each address has open, so that one cannot take them all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::time::Instant;

use crate::front::http::access::PeerNetwork;
use crate::limits::{CONNECTIONS_PER_ADDRESS, REFUSALS_TOLD};
use crate::lock::{Mutex, rank};

#[derive(Debug)]
pub(crate) struct AddressCounts {
    /// As the operator wants it, for every address.
    wanted: Option<u32>,
    /// How many of these count like one connection.
    factor: u32,
    // Held for one count. Places are given back when connections are dropped, which happens under
    // many locks: it stands below them.
    open: Mutex<HashMap<PeerNetwork, u32>, rank::AddressCounts>,
}

/// One connection of an address; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct AddressPlace {
    counts: Arc<AddressCounts>,
    source: PeerNetwork,
}

impl AddressCounts {
    pub(crate) fn new(wanted: Option<u32>) -> Arc<Self> {
        Arc::new(Self { wanted, factor: 1, open: Mutex::default() })
    }

    /// Counts something of which an address may have so many for each connection.
    pub(crate) fn for_each(wanted: Option<u32>, factor: u32) -> Arc<Self> {
        Arc::new(Self { wanted, factor, open: Mutex::default() })
    }

    /// `None`: this address has as many as it may.
    pub(crate) fn enter(self: &Arc<Self>, from: IpAddr) -> Option<AddressPlace> {
        let source = PeerNetwork::of(from);
        let mut open = self.open.lock();
        let count = open.entry(source).or_default();
        if *count >= self.most(source) {
            return None;
        }
        *count += 1;
        Some(AddressPlace { counts: Arc::clone(self), source })
    }

    fn most(&self, source: PeerNetwork) -> u32 {
        let connections = match self.wanted {
            Some(wanted) => wanted,
            // Everybody behind a proxy on this machine comes from there.
            None if source.is_loopback() => u32::MAX,
            None => CONNECTIONS_PER_ADDRESS,
        };
        connections.saturating_mul(self.factor)
    }
}

impl Drop for AddressPlace {
    fn drop(&mut self) {
        let mut open = self.counts.open.lock();
        if let Some(count) = open.get_mut(&self.source) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.source);
            }
        }
    }
}

/// Says that connections were refused, once in a while and not for each.
#[derive(Debug, Default)]
pub(crate) struct RefusedConnections {
    told: Option<Instant>,
    since: u64,
}

impl RefusedConnections {
    pub(crate) fn count(&mut self, from: IpAddr) {
        self.since += 1;
        if self.take_turn(Instant::now()) {
            let (count, minutes) = (self.since, REFUSALS_TOLD.as_secs() / 60);
            tracing::warn!(
                "{count} connections were refused, the last one from {from}: it has as many open as one address \
                 may have (see --connections-per-address); this is told every {minutes} min at most"
            );
            self.since = 0;
        }
    }

    /// True if it is to be told now.
    fn take_turn(&mut self, now: Instant) -> bool {
        let is_due = self.told.is_none_or(|told| now.duration_since(told) >= REFUSALS_TOLD);
        if is_due {
            self.told = Some(now);
        }
        is_due
    }
}

/// What somebody gets who has as many connections as one may have.
pub(crate) const REFUSED: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n\
    Retry-After: 5\r\nContent-Length: 47\r\nConnection: close\r\n\r\n\
    too many connections from this address are open";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_and_others_have_their_own() {
        let counts = AddressCounts::new(Some(2));
        let [one, other]: [IpAddr; 2] = [[10, 0, 0, 1].into(), [127, 0, 0, 1].into()];
        let held = [counts.enter(one), counts.enter(one)];
        assert!(held.iter().all(Option::is_some) && counts.enter(one).is_none());
        assert!(counts.enter(other).is_some());
        drop(held);
        assert!(counts.enter(one).is_some());
        assert!(counts.open.lock().is_empty(), "nothing is kept of those who have gone");
    }

    #[test]
    fn this_machine_is_not_counted_unless_that_is_wanted() {
        let counts = AddressCounts::new(None);
        let most = |address: &str| counts.most(PeerNetwork::of(address.parse().unwrap()));
        assert_eq!(most("127.0.0.1"), u32::MAX);
        assert_eq!(most("::1"), u32::MAX);
        assert_eq!(most("192.0.2.1"), CONNECTIONS_PER_ADDRESS);
    }

    #[test]
    fn the_refusal_names_its_length() {
        let text = std::str::from_utf8(REFUSED).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{}", body.len());
    }

    #[test]
    fn refusals_are_told_once_in_a_while() {
        let (mut refused, now) = (RefusedConnections::default(), Instant::now());
        assert!(refused.take_turn(now) && !refused.take_turn(now));
        assert!(
            !refused.take_turn(now + REFUSALS_TOLD / 2) && refused.take_turn(now + REFUSALS_TOLD)
        );
    }
}
