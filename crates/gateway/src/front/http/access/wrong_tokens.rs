//! `WrongTokens`: the wrong tokens that each address has shown within a minute. Only what is wrong is
//! counted and slowed: behind a proxy everybody has one address, and a right token is let in at once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;

use super::peer_network::PeerNetwork;
use crate::limits::{WRONG_TOKEN_SOURCES, WRONG_TOKEN_WINDOW, WRONG_TOKENS};
use crate::lock::{Mutex, rank};

// Held for one count, which may sweep the table: only wrong tokens pay for that.
#[derive(Debug, Default)]
pub struct WrongTokens(Mutex<HashMap<Option<PeerNetwork>, Shown>, rank::WrongTokens>);

#[derive(Debug)]
struct Shown {
    since: Instant,
    count: u32,
}

impl WrongTokens {
    /// Counts one from there. Returns how long its sender is to wait, where it has shown too many.
    pub fn count(&self, from: IpAddr) -> Option<Duration> {
        self.count_at(from, Instant::now())
    }

    /// How long whoever is there is to wait, where it has shown too many. Counts none: for what cannot be told to be
    /// right before it has cost something.
    pub fn wait(&self, from: IpAddr) -> Option<Duration> {
        self.wait_at(from, Instant::now())
    }

    fn wait_at(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        // Those that are not told apart are not held against anybody: most of them have shown nothing.
        let all = self.0.lock();
        let shown = all.get(&Some(PeerNetwork::of(from)))?;
        let is_slowed = shown.count >= WRONG_TOKENS;
        let wait = WRONG_TOKEN_WINDOW.saturating_sub(now.duration_since(shown.since));
        (is_slowed && !wait.is_zero()).then_some(wait)
    }

    fn count_at(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let is_over = |shown: &Shown| now.duration_since(shown.since) >= WRONG_TOKEN_WINDOW;
        let source = PeerNetwork::of(from);
        // Held for the whole step, which is short; two that come at once are two.
        let mut all = self.0.lock();
        if all.len() >= WRONG_TOKEN_SOURCES && !all.contains_key(&Some(source)) {
            all.retain(|_, shown| !is_over(shown));
        }
        // Bounded: whoever has many addresses must not fill the memory. Those beyond count as one.
        let is_known = all.contains_key(&Some(source));
        let source = Some(source).filter(|_| is_known || all.len() < WRONG_TOKEN_SOURCES);
        let shown = all.entry(source).or_insert(Shown { since: now, count: 0 });
        if is_over(shown) {
            *shown = Shown { since: now, count: 0 };
        }
        shown.count = shown.count.saturating_add(1);
        (shown.count > WRONG_TOKENS)
            .then(|| WRONG_TOKEN_WINDOW.saturating_sub(now.duration_since(shown.since)))
    }
}

/// Whole seconds for `Retry-After`.
pub fn retry_after(wait: Duration) -> u64 {
    wait.as_secs() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4((0x0a00_0000 + number).into())
    }

    #[test]
    fn after_so_many_within_a_minute_an_address_has_to_wait() {
        let (wrong, start) = (WrongTokens::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for _ in 0..WRONG_TOKENS {
            assert_eq!(wrong.count_at(address(1), at(0)), None);
        }
        assert_eq!(wrong.count_at(address(1), at(20)), Some(Duration::from_secs(40)));
        assert_eq!(wrong.count_at(address(2), at(20)), None, "another address");
        assert_eq!(wrong.count_at(address(1), at(60)), None, "the minute is over");
        assert_eq!(retry_after(Duration::from_millis(39_200)), 40);
    }

    #[test]
    fn who_has_shown_too_many_waits_before_the_next() {
        let (wrong, start) = (WrongTokens::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for _ in 0..WRONG_TOKENS {
            assert_eq!(wrong.wait_at(address(1), at(0)), None);
            wrong.count_at(address(1), at(0));
        }
        assert_eq!(wrong.wait_at(address(1), at(20)), Some(Duration::from_secs(40)));
        assert_eq!(wrong.wait_at(address(2), at(20)), None, "another address");
        assert_eq!(wrong.wait_at(address(1), at(60)), None, "the minute is over");
    }

    #[test]
    fn many_addresses_cost_bounded_memory() {
        let (wrong, start) = (WrongTokens::default(), Instant::now());
        let sources = u32::try_from(WRONG_TOKEN_SOURCES).unwrap();
        for number in 0..2 * sources {
            wrong.count_at(address(number), start);
        }
        assert_eq!(wrong.0.lock().len(), WRONG_TOKEN_SOURCES + 1);
        assert!(wrong.count_at(address(5 * sources), start).is_some(), "they are counted together");
        assert_eq!(wrong.wait_at(address(5 * sources), start), None, "and nobody waits for others");
        let later = start + WRONG_TOKEN_WINDOW;
        assert_eq!(wrong.count_at(address(6 * sources), later), None);
        assert_eq!(wrong.0.lock().len(), 1, "what is over is forgotten");
    }
}
