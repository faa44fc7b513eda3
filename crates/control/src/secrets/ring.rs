//! `SealRing`: the keys with which all replicas seal what clients carry. One is used; the one before it opens what it
//! has sealed, for a while; the next one opens before it is used, so that every replica knows it by then.

use ring::rand::{SecureRandom as _, SystemRandom};
use trunkline_gateway::SealKeys;
use zeroize::Zeroizing;

/// The newest key first; never empty.
#[derive(Clone)]
pub(crate) struct SealRing {
    keys: Vec<RingKey>,
}

#[derive(Clone)]
struct RingKey {
    /// By the database's clock, in milliseconds since 1970.
    made_at: i64,
    key: Zeroizing<[u8; 32]>,
}

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
/// A key is used after so long: each replica has looked many times by then.
const USED_AFTER: i64 = 60 * SECOND;
/// A key is used for so long before another is made.
const RENEWED_AFTER: i64 = 30 * 24 * HOUR;
/// What a key has sealed opens for so long after the next one is used. States live for an hour, sessions for half an
/// hour of silence.
const HONOURED: i64 = 24 * HOUR;
/// Keys that are kept, whatever happens.
const MOST: usize = 8;
const ENTRY: usize = 8 + 32;

impl SealRing {
    /// With one key; `None`: there are no random numbers.
    pub(crate) fn new(now: i64) -> Option<Self> {
        Some(Self { keys: vec![RingKey::new(now)?] })
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (entries, rest) = bytes.as_chunks::<ENTRY>();
        let read = |entry: &[u8; ENTRY]| {
            let (made_at, key) = entry.split_first_chunk::<8>()?;
            let key = Zeroizing::new(<[u8; 32]>::try_from(key).ok()?);
            Some(RingKey { made_at: i64::from_be_bytes(*made_at), key })
        };
        let keys = entries.iter().map(read).collect::<Option<Vec<_>>>()?;
        (rest.is_empty() && !keys.is_empty()).then_some(Self { keys })
    }

    pub(crate) fn bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.keys.len() * ENTRY));
        for RingKey { made_at, key } in &self.keys {
            bytes.extend_from_slice(&made_at.to_be_bytes());
            bytes.extend_from_slice(&**key);
        }
        bytes
    }

    /// Is it time for another key?
    pub(crate) fn is_due(&self, now: i64) -> bool {
        self.keys.first().is_none_or(|newest| newest.made_at.saturating_add(RENEWED_AFTER) <= now)
    }

    /// With another key, and without those that open nothing any more; `None`: there are no random numbers.
    pub(crate) fn renewed(&self, now: i64) -> Option<Self> {
        let mut keys = vec![RingKey::new(now)?];
        keys.extend(self.keys.iter().cloned());
        let mut ring = Self { keys };
        let kept = ring.used(now).saturating_add(1 + ring.honoured(now)).min(MOST);
        ring.keys.truncate(kept);
        Some(ring)
    }

    /// The place of the key that is used now.
    fn used(&self, now: i64) -> usize {
        let is_old_enough = |key: &RingKey| key.made_at.saturating_add(USED_AFTER) <= now;
        self.keys.iter().position(is_old_enough).unwrap_or(self.keys.len() - 1)
    }

    /// How many older ones still open what they have sealed.
    fn honoured(&self, now: i64) -> usize {
        let opens = |next: &&RingKey| next.made_at + USED_AFTER + HONOURED > now;
        self.keys
            .iter()
            .skip(self.used(now))
            .take_while(opens)
            .count()
            .min(self.keys.len() - 1 - self.used(now))
    }

    /// As they are to be used at this time.
    pub(crate) fn in_use(&self, now: i64) -> SealKeys {
        let used = self.used(now);
        let last = used + self.honoured(now);
        let of = |key: &RingKey| *key.key;
        let others = self.keys.iter().enumerate().filter(|(at, _)| *at != used && *at <= last);
        SealKeys {
            current: self.keys.get(used).map(of).unwrap_or_default(),
            others: others.map(|(_, key)| of(key)).collect(),
        }
    }
}

impl RingKey {
    fn new(made_at: i64) -> Option<Self> {
        let mut key = Zeroizing::new([0; 32]);
        SystemRandom::new().fill(key.as_mut_slice()).ok()?;
        Some(Self { made_at, key })
    }
}

/// Without the keys.
impl std::fmt::Debug for SealRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealRing({})", self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(made: &[i64]) -> SealRing {
        let key = |(at, made_at): (usize, &i64)| RingKey {
            made_at: *made_at,
            key: Zeroizing::new([u8::try_from(at).unwrap(); 32]),
        };
        SealRing { keys: made.iter().enumerate().map(key).collect() }
    }

    #[test]
    fn a_key_is_known_before_it_is_used_and_honoured_after_it() {
        let day = 24 * HOUR;
        for (made, now, current, others) in [
            (&[0][..], 0, 0, &[][..]),
            (&[0], day, 0, &[]),
            // The next one opens, and is not used yet.
            (&[day, 0], day, 1, &[0]),
            (&[day, 0], day + USED_AFTER - 1, 1, &[0]),
            (&[day, 0], day + USED_AFTER, 0, &[1]),
            (&[day, 0], day + USED_AFTER + HONOURED - 1, 0, &[1]),
            (&[day, 0], day + USED_AFTER + HONOURED, 0, &[]),
            // Two were made at once: each has its time.
            (&[day + 1, day, 0], day + USED_AFTER, 1, &[0, 2]),
            // The clock was set back: the oldest is used until it has come this far again.
            (&[day, 0], -day, 1, &[0]),
        ] {
            let keys = ring(made).in_use(now);
            assert_eq!(keys.current, [current; 32], "{made:?} {now}");
            let expected: Vec<_> = others.iter().map(|other| [*other; 32]).collect();
            assert_eq!(keys.others, expected, "{made:?} {now}");
        }
    }

    #[test]
    fn a_ring_is_renewed_in_time_and_read_as_it_was_written() {
        let first = SealRing::new(0).unwrap();
        assert!(!first.is_due(RENEWED_AFTER - 1) && first.is_due(RENEWED_AFTER));
        let second = first.renewed(RENEWED_AFTER).unwrap();
        assert!(!second.is_due(RENEWED_AFTER) && second.keys.len() == 2);
        let again = SealRing::read(&second.bytes()).unwrap();
        assert!(again.in_use(RENEWED_AFTER) == second.in_use(RENEWED_AFTER));
        // What opens nothing any more is not kept.
        assert_eq!(second.renewed(3 * RENEWED_AFTER).unwrap().keys.len(), 2);
        let many = (0..20).fold(first, |ring, now| ring.renewed(now).unwrap());
        assert_eq!(many.keys.len(), MOST);
        for bad in [&b""[..], &[0; ENTRY - 1], &[0; ENTRY + 1]] {
            assert!(SealRing::read(bad).is_none(), "{}", bad.len());
        }
    }
}
