//! `LoginThrottle`: who keeps showing wrong tokens has to wait between two tries. Pure; `now` is monotonic.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// Mistakes that cost nothing: people mistype.
const FREE: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// After that long without a mistake all is forgotten.
const MEMORY: Duration = Duration::from_secs(600);
/// Sources that are told apart; the others wait together.
const SOURCES: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct LoginThrottle {
    seen: HashMap<Option<IpAddr>, FailedLogins>,
}

#[derive(Debug, Clone, Copy)]
struct FailedLogins {
    count: u32,
    last: Duration,
}

impl LoginThrottle {
    /// How long this one has to wait before it may try.
    pub(crate) fn wait(&self, source: IpAddr, now: Duration) -> Option<Duration> {
        let mistakes = self.seen.get(&self.place(source))?;
        let beyond = mistakes.count.checked_sub(FREE)?;
        // The shift is bounded, so that it cannot overflow; the pause is bounded anyway.
        let pause = FIRST_PAUSE.saturating_mul(1 << beyond.min(10)).min(LONGEST_PAUSE);
        let left = (mistakes.last + pause).checked_sub(now)?;
        (!left.is_zero()).then_some(left)
    }

    pub(crate) fn record_failure(&mut self, source: IpAddr, now: Duration) {
        // Swept at each mistake: only those who make mistakes cost memory.
        self.seen.retain(|_, mistakes| now.saturating_sub(mistakes.last) < MEMORY);
        let place = self.place(source);
        let mistakes = self.seen.entry(place).or_insert(FailedLogins { count: 0, last: now });
        mistakes.count = mistakes.count.saturating_add(1);
        mistakes.last = now;
    }

    pub(crate) fn record_success(&mut self, source: IpAddr) {
        let place = self.place(source);
        // Who shares a place with others must not wipe out their mistakes.
        if place.is_some() {
            self.seen.remove(&place);
        }
    }

    fn place(&self, source: IpAddr) -> Option<IpAddr> {
        let source = Some(network(source));
        // A table that is full does not forget: otherwise many sources would be the way around it.
        let is_told_apart = self.seen.contains_key(&source) || self.seen.len() < SOURCES;
        source.filter(|_| is_told_apart)
    }
}

/// Whoever has one address of IPv6 has all that begin like it.
fn network(source: IpAddr) -> IpAddr {
    match source.to_canonical() {
        IpAddr::V6(address) => {
            // 64 bits: what a provider hands to one household.
            let bits = u128::from(address) >> 64 << 64;
            IpAddr::V6(bits.into())
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn pauses_double_after_the_free_mistakes() {
        let (mut doorman, one) = (LoginThrottle::default(), IpAddr::from([127, 0, 0, 1]));
        let other = IpAddr::from([127, 0, 0, 2]);
        for (mistakes, expected) in [
            (4, None),
            (1, Some(1)),
            (1, Some(2)),
            (1, Some(4)),
            (2, Some(16)),
            (3, Some(30)),
            (90, Some(30)),
        ] {
            (0..mistakes).for_each(|_| doorman.record_failure(one, seconds(100)));
            assert_eq!(doorman.wait(one, seconds(100)), expected.map(seconds));
        }
        assert_eq!(doorman.wait(other, seconds(100)), None, "others do not wait");
        assert_eq!(doorman.wait(one, seconds(129)), Some(seconds(1)));
        assert_eq!(doorman.wait(one, seconds(130)), None);
        doorman.record_success(one);
        assert_eq!(doorman.wait(one, seconds(100)), None);
    }

    #[test]
    fn all_is_forgotten_after_a_while_and_many_sources_wait_together() {
        let mut doorman = LoginThrottle::default();
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        for number in 0..10_000 {
            doorman.record_failure(address(number), seconds(1));
        }
        assert_eq!(doorman.seen.len(), SOURCES + 1);
        assert_eq!(doorman.wait(address(99_999), seconds(1)), Some(LONGEST_PAUSE));
        doorman.record_failure(address(1), seconds(1) + MEMORY);
        assert_eq!(doorman.seen.len(), 1);
    }

    #[test]
    fn one_network_of_ipv6_is_one_source() {
        let mut doorman = LoginThrottle::default();
        let [one, same, other] = ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"]
            .map(|text| text.parse().unwrap());
        (0..20).for_each(|_| doorman.record_failure(one, seconds(0)));
        assert!(doorman.wait(same, seconds(0)).is_some());
        assert!(doorman.wait(other, seconds(0)).is_none());
    }
}
