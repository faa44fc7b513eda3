//! Ids of traces and spans, made without asking the system for each: they have to differ, not to be
//! secret.

use std::sync::atomic::{AtomicU64, Ordering};

use ring::rand::{SecureRandom, SystemRandom};

/// A random start, counted up and stirred: no two are the same until 2^64 were made.
#[derive(Debug)]
pub(super) struct Ids {
    next: AtomicU64,
    salt: u64,
}

/// An odd number far from any pattern: the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Ids {
    /// None if the system gives no random bytes.
    pub(super) fn new() -> Option<Self> {
        let (next, salt) = (random()?, random()?);
        Some(Self { next: AtomicU64::new(next), salt })
    }

    pub(super) fn trace(&self) -> [u8; 16] {
        let mut id = [0; 16];
        let halves = [self.one() ^ self.salt, self.one()];
        let bytes = halves.into_iter().flat_map(u64::to_be_bytes);
        id.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        id
    }

    pub(super) fn span(&self) -> [u8; 8] {
        self.one().to_be_bytes()
    }

    /// Never nothing: an id of zeros is none.
    fn one(&self) -> u64 {
        // Relaxed: each caller gets another count, and that is all that matters.
        let count = self.next.fetch_add(STEP, Ordering::Relaxed);
        match stirred(count) {
            0 => stirred(count ^ self.salt).max(1),
            id => id,
        }
    }
}

/// Each bit of the number changes about half of the bits of what comes out, which is different for
/// different numbers (the mixer of `SplitMix64`).
fn stirred(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn random() -> Option<u64> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(u64::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_id_comes_twice_and_none_is_nothing() {
        let ids = Ids::new().unwrap();
        let spans: HashSet<_> = (0..20_000).map(|_| ids.span()).collect();
        let traces: HashSet<_> = (0..20_000).map(|_| ids.trace()).collect();
        assert_eq!((spans.len(), traces.len()), (20_000, 20_000));
        assert!(!spans.contains(&[0; 8]) && !traces.contains(&[0; 16]));
        let other = Ids::new().unwrap();
        assert!(!spans.contains(&other.span()));
    }

    #[test]
    fn a_count_that_leads_to_nothing_leads_on() {
        let ids = Ids { next: AtomicU64::new(0), salt: 7 };
        assert_ne!(ids.span(), [0; 8]);
    }
}
