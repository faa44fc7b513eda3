//! `Exchanges`: whose codes are redeemed at the issuer. Whoever has a browser can bring us invented ones: an address has
//! a few places, and one when too many of its codes were wrong. Nobody is locked out: behind a proxy or a NAT, people have
//! the address of strangers.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use trunkline_gateway::{PeerNetwork, WrongTokens};

use super::error::SignInFault;
use crate::access::random;

/// Codes that are redeemed at once.
const AT_ONCE: usize = 16;
/// … for one address: people of others find a place, however slow the issuer is.
const OF_ONE_ADDRESS: usize = 4;
/// … for one whose codes were wrong too often.
const OF_A_SLOWED_ONE: usize = 1;
/// A wrong code of such an address keeps its place for so long: the issuer hears of one a second.
const SLOWED: Duration = Duration::from_secs(1);
/// Those that wait for a place.
const WAITING: usize = 256;
/// How long a person waits for one.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Default)]
pub(super) struct Exchanges {
    // A leaf lock, held for one count.
    under_way: Mutex<UnderWay>,
    wrong: WrongTokens,
}

#[derive(Debug, Default)]
struct UnderWay {
    /// How many of each address; those that have none are not in it.
    places: HashMap<PeerNetwork, usize>,
    waiting: usize,
}

/// A place. Dropped, it is free.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    all: &'a Exchanges,
    from: IpAddr,
}

/// One of those that wait. Dropped, it does not any more.
struct Waiting<'a>(&'a Exchanges);

impl Exchanges {
    /// A place for a code that came from there; it is waited for a little.
    pub(super) async fn begin(&self, from: IpAddr) -> Result<Exchange<'_>, SignInFault> {
        let deadline = Instant::now() + PATIENCE;
        let mut waiting = None;
        loop {
            if let Some(place) = self.place(from) {
                return Ok(place);
            }
            if waiting.is_none() {
                waiting = Some(self.wait().ok_or(SignInFault::Busy)?);
            }
            if Instant::now() >= deadline {
                return Err(SignInFault::Busy);
            }
            // By chance and not in turn: a queue would be the strangers' who come most often.
            sleep(pause()).await;
        }
    }

    fn place(&self, from: IpAddr) -> Option<Exchange<'_>> {
        let most = if self.wrong.wait(from).is_some() { OF_A_SLOWED_ONE } else { OF_ONE_ADDRESS };
        let mut under_way = self.under_way.lock();
        let network = PeerNetwork::of(from);
        let own = under_way.places.get(&network).copied().unwrap_or_default();
        if own >= most || under_way.places.values().sum::<usize>() >= AT_ONCE {
            return None;
        }
        under_way.places.insert(network, own + 1);
        Some(Exchange { all: self, from })
    }

    fn wait(&self) -> Option<Waiting<'_>> {
        let mut under_way = self.under_way.lock();
        if under_way.waiting >= WAITING {
            return None;
        }
        under_way.waiting += 1;
        Some(Waiting(self))
    }
}

impl Exchange<'_> {
    /// The issuer does not know the code. Of an address that has brought many such ones, the place is kept for a while.
    pub(super) async fn note_wrong(self) {
        if self.all.wrong.wait(self.from).is_some() {
            sleep(SLOWED).await;
        }
        self.all.wrong.count(self.from);
    }
}

/// 30 to 93 ms.
fn pause() -> Duration {
    let [chance] = random::<1>().unwrap_or_default();
    Duration::from_millis(30 + u64::from(chance) / 4)
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.under_way.lock().waiting -= 1;
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        let under_way = &mut self.all.under_way.lock().places;
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
            .map(|host| exchanges.place(address(&format!("2001:db8::{host}"))).unwrap())
            .collect();
        let again = || exchanges.place(address("2001:db8::ffff")).is_some();
        assert!(!again());
        let others: Vec<_> = (0..AT_ONCE - OF_ONE_ADDRESS)
            .map(|host| exchanges.place(address(&format!("192.0.2.{host}"))).unwrap())
            .collect();
        let one_more = || exchanges.place(address("198.51.100.1")).is_some();
        assert!(!one_more());
        drop(own);
        assert!(again() && one_more());
        drop(others);
        assert!(exchanges.under_way.lock().places.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_brings_wrong_codes_has_one_place_and_keeps_it() {
        let exchanges = Exchanges::default();
        let (one, other) = (address("192.0.2.1"), address("192.0.2.2"));
        while exchanges.wrong.wait(one).is_none() {
            exchanges.place(one).unwrap().note_wrong().await;
        }
        let only = exchanges.place(one).unwrap();
        assert!(exchanges.place(one).is_none() && exchanges.place(other).is_some());
        let since = Instant::now();
        only.note_wrong().await;
        assert!(since.elapsed() >= SLOWED);
        assert!(exchanges.place(one).is_some(), "it is not locked out");
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_waited_for_and_not_for_ever() {
        let exchanges = Exchanges::default();
        let one = address("192.0.2.1");
        let mut places: Vec<_> =
            (0..OF_ONE_ADDRESS).map(|_| exchanges.place(one).unwrap()).collect();
        let since = Instant::now();
        assert_eq!(exchanges.begin(one).await.map(drop), Err(SignInFault::Busy));
        assert!(since.elapsed() >= PATIENCE);
        let freed = async {
            sleep(Duration::from_secs(1)).await;
            places.pop();
        };
        assert_eq!(tokio::join!(exchanges.begin(one), freed).0.map(drop), Ok(()));
        assert_eq!(exchanges.under_way.lock().waiting, 0);
        let _all: Vec<_> = (0..WAITING).map(|_| exchanges.wait().unwrap()).collect();
        assert!(exchanges.wait().is_none());
    }
}
