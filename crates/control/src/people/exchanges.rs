//! `Exchanges`: whose codes are redeemed at the issuer. Whoever has a browser can bring us invented ones: an address has
//! a few places, and waits when it has brought too many that were wrong.

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;
use trunkline_gateway::{PeerNetwork, WrongTokens, retry_after};

use super::error::SignInFault;

/// Codes that are redeemed at once.
const AT_ONCE: usize = 16;
/// … for one address: people of others find a place, however slow the issuer is.
const OF_ONE_ADDRESS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Exchanges {
    /// How many of each address are under way; those that have none are not in it.
    // A leaf lock, held for one count.
    under_way: Mutex<HashMap<PeerNetwork, usize>>,
    wrong: WrongTokens,
}

/// A place. Dropped, it is free.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    all: &'a Exchanges,
    from: IpAddr,
}

impl Exchanges {
    /// A place for a code that came from there.
    pub(super) fn begin(&self, from: IpAddr) -> Result<Exchange<'_>, SignInFault> {
        if let Some(wait) = self.wrong.wait(from) {
            return Err(SignInFault::Slowed(retry_after(wait)));
        }
        let mut under_way = self.under_way.lock();
        let network = PeerNetwork::of(from);
        let own = under_way.get(&network).copied().unwrap_or_default();
        // Refused and not waited for: a queue of strangers would keep people waiting.
        if own >= OF_ONE_ADDRESS || under_way.values().sum::<usize>() >= AT_ONCE {
            return Err(SignInFault::Busy);
        }
        under_way.insert(network, own + 1);
        Ok(Exchange { all: self, from })
    }
}

impl Exchange<'_> {
    /// The issuer does not know the code.
    pub(super) fn note_wrong(&self) {
        self.all.wrong.count(self.from);
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        let mut under_way = self.all.under_way.lock();
        let network = PeerNetwork::of(self.from);
        let others = under_way.get(&network).map_or(0, |own| own.saturating_sub(1));
        match others {
            0 => under_way.remove(&network),
            others => under_way.insert(network, others),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_a_few_of_the_places_and_gives_them_back() {
        let exchanges = Exchanges::default();
        // Addresses of one network are one.
        let own: Vec<_> = (0..OF_ONE_ADDRESS)
            .map(|host| exchanges.begin(address(&format!("2001:db8::{host}"))).unwrap())
            .collect();
        let again = || exchanges.begin(address("2001:db8::ffff")).map(drop);
        assert_eq!(again(), Err(SignInFault::Busy));
        let others: Vec<_> = (0..AT_ONCE - OF_ONE_ADDRESS)
            .map(|host| exchanges.begin(address(&format!("192.0.2.{host}"))).unwrap())
            .collect();
        let one_more = || exchanges.begin(address("198.51.100.1")).map(drop);
        assert_eq!(one_more(), Err(SignInFault::Busy));
        drop(own);
        assert_eq!((again(), one_more()), (Ok(()), Ok(())));
        drop(others);
        assert!(exchanges.under_way.lock().is_empty());
    }

    #[test]
    fn an_address_waits_after_too_many_wrong_codes() {
        let exchanges = Exchanges::default();
        let (one, other) = (address("192.0.2.1"), address("192.0.2.2"));
        while let Ok(exchange) = exchanges.begin(one) {
            exchange.note_wrong();
        }
        assert!(matches!(exchanges.begin(one).map(drop), Err(SignInFault::Slowed(1..=61))));
        assert_eq!(exchanges.begin(other).map(drop), Ok(()));
    }
}
