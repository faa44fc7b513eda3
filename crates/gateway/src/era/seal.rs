//! What a client carries for us and must not be able to read, change, or use for something else.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::era::header::{base64, unbase64};
use crate::lock::{RwLock, rank};

/// What tells a run of a replica from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaId(pub u64);

impl fmt::Display for ReplicaId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}

/// Seals with a key that lasts as long as the process, or with keys that several processes share.
pub struct Seal {
    // Replaced as a whole; read for every seal.
    keys: RwLock<Keys, rank::SealKeys>,
    random: SystemRandom,
    began: Instant,
    /// Whose seal it is, among those that share its keys.
    own: ReplicaId,
    /// What the clock of seals showed when this one began, in seconds.
    // Relaxed where it is used: each value is a clock of its own, and nothing else is read because of it.
    epoch: AtomicU64,
}

/// Keys that several processes have in common.
#[derive(Clone, PartialEq, Eq)]
pub struct SealKeys {
    /// What is sealed is sealed with this one.
    pub current: [u8; 32],
    /// These open what is sealed: those of before, and one that will be the current one soon.
    pub others: Vec<[u8; 32]>,
}

/// For what a seal is: each purpose has keys of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealUse {
    /// What a client carries: `requestState`, ids of sessions.
    Client,
    /// What one replica sends to another.
    Replica,
}

struct Keys {
    client: Vec<LessSafeKey>,
    replica: Vec<LessSafeKey>,
}

impl Keys {
    /// The current key first.
    fn of(keys: &SealKeys) -> Option<Self> {
        let all = || std::iter::once(&keys.current).chain(&keys.others);
        let derived = |purpose| all().map(|key| derived(key, purpose)).collect::<Option<_>>();
        Some(Self {
            client: derived(b"trunkline seal client")?,
            replica: derived(b"trunkline seal replica")?,
        })
    }

    fn all(&self, purpose: SealUse) -> &[LessSafeKey] {
        match purpose {
            SealUse::Client => &self.client,
            SealUse::Replica => &self.replica,
        }
    }
}

/// The key for one purpose (RFC 5869): who knows it knows neither the others nor the one it is made of.
fn derived(key: &[u8; 32], purpose: &[u8]) -> Option<LessSafeKey> {
    let made = hkdf::Salt::new(hkdf::HKDF_SHA256, b"").extract(key);
    let mut bytes = [0; 32];
    made.expand(&[purpose], hkdf::HKDF_SHA256).ok()?.fill(&mut bytes).ok()?;
    UnboundKey::new(&CHACHA20_POLY1305, &bytes).ok().map(LessSafeKey::new)
}

/// Without the keys.
impl fmt::Debug for Seal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Seal")
    }
}

impl fmt::Debug for SealKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SealKeys")
    }
}

/// Why a seal is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsealable {
    #[error("it was not made for this request, or was changed")]
    Foreign,
    #[error("it is too old")]
    Expired,
}

/// When it expires stands before what is sealed.
const EXPIRY: usize = 8;

/// A seal that does not expire.
pub(crate) const FOR_EVER: u64 = u64::MAX;

impl Seal {
    /// With a key of this process; `None`: there are no random numbers.
    pub(crate) fn of_process() -> Option<Arc<Self>> {
        let mut current = [0; 32];
        SystemRandom::new().fill(&mut current).ok()?;
        Self::shared(ReplicaId(0), &SealKeys { current, others: Vec::new() })
    }

    /// With keys that others have, too; `None`: the keys cannot be used.
    pub fn shared(own: ReplicaId, keys: &SealKeys) -> Option<Arc<Self>> {
        Some(Arc::new(Self {
            keys: RwLock::new(Keys::of(keys)?),
            random: SystemRandom::new(),
            began: Instant::now(),
            own,
            epoch: AtomicU64::new(0),
        }))
    }

    /// Whose seal this is.
    pub(crate) fn own(&self) -> ReplicaId {
        self.own
    }

    /// From now on these are the keys.
    pub fn set_keys(&self, keys: &SealKeys) {
        if let Some(keys) = Keys::of(keys) {
            *self.keys.write() = keys;
        }
    }

    /// The clock that all share shows so many seconds. Seals expire by it.
    pub fn set_clock(&self, seconds: u64) {
        self.epoch.store(seconds.saturating_sub(self.began.elapsed().as_secs()), Ordering::Relaxed);
    }

    /// Seconds of the clock by which seals expire.
    pub(crate) fn now(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed).saturating_add(self.began.elapsed().as_secs())
    }

    /// `bound`: what has to be the same when it comes back. `expires` in seconds of the seal's clock.
    pub(crate) fn seal(&self, what: &[u8], expires: u64, bound: &[&[u8]]) -> Option<String> {
        self.seal_bytes(SealUse::Client, what, expires, bound).map(|sealed| base64(&sealed))
    }

    pub(crate) fn open(&self, text: &str, bound: &[&[u8]]) -> Result<Vec<u8>, Unsealable> {
        let bytes = unbase64(text.as_bytes()).ok_or(Unsealable::Foreign)?;
        self.open_bytes(SealUse::Client, &bytes, bound)
    }

    pub(crate) fn seal_bytes(
        &self,
        purpose: SealUse,
        what: &[u8],
        expires: u64,
        bound: &[&[u8]],
    ) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        let mut sealed = [&expires.to_le_bytes()[..], what].concat();
        // Bound, not stored: what the state belongs to is checked without making it longer.
        let aad = Aad::from(joined(bound));
        let unique = Nonce::assume_unique_for_key(nonce); // 96 random bits, few messages
        self.keys
            .read()
            .all(purpose)
            .first()?
            .seal_in_place_append_tag(unique, aad, &mut sealed)
            .ok()?;
        Some([nonce.as_slice(), &sealed].concat())
    }

    pub(crate) fn open_bytes(
        &self,
        purpose: SealUse,
        bytes: &[u8],
        bound: &[&[u8]],
    ) -> Result<Vec<u8>, Unsealable> {
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>().ok_or(Unsealable::Foreign)?;
        let aad = joined(bound);
        let keys = self.keys.read();
        let opened = keys.all(purpose).iter().find_map(|key| {
            // A copy for each: what does not open is destroyed.
            let mut sealed = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let length = key.open_in_place(nonce, Aad::from(&aad), &mut sealed).ok()?.len();
            sealed.truncate(length);
            Some(sealed)
        });
        drop(keys);
        // One error for every reason: who tries out states learns nothing from it.
        let mut plain = opened.ok_or(Unsealable::Foreign)?;
        let expires = plain.first_chunk::<EXPIRY>().ok_or(Unsealable::Foreign)?;
        if self.now() >= u64::from_le_bytes(*expires) {
            return Err(Unsealable::Expired);
        }
        plain.drain(..EXPIRY);
        Ok(plain)
    }
}

/// Each part with its length, so that no two lists of parts are the same.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        out.extend_from_slice(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        out.extend_from_slice(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal() -> Arc<Seal> {
        Seal::of_process().unwrap()
    }

    #[test]
    fn only_the_same_request_of_the_same_caller_in_time_opens_it() {
        let seal = seal();
        let bound: [&[u8]; 3] = [b"alice", b"tools/call", b"digest"];
        let state = seal.seal(b"what", 100, &bound).unwrap();
        seal.set_clock(98);
        assert_eq!(seal.open(&state, &bound), Ok(b"what".to_vec()));
        for other in [
            [b"bob".as_slice(), b"tools/call", b"digest"],
            [b"alice", b"prompts/get", b"digest"],
            [b"alice", b"tools/call", b"other"],
            [b"alicetools/call", b"", b"digest"],
        ] {
            assert_eq!(seal.open(&state, &other), Err(Unsealable::Foreign));
        }
        seal.set_clock(100);
        assert_eq!(seal.open(&state, &bound), Err(Unsealable::Expired));
        assert_eq!(self::seal().open(&state, &bound), Err(Unsealable::Foreign));
    }

    #[test]
    fn one_bit_flipped_anywhere_is_refused() {
        let seal = seal();
        let state = seal.seal(b"1", FOR_EVER, &[]).unwrap();
        for place in 0..state.len() {
            let mut changed = state.clone().into_bytes();
            changed[place] = if changed[place] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(seal.open(&changed, &[]), Err(Unsealable::Foreign), "{place}");
        }
        for bad in ["", "00", "zz", "0", &format!("{state}-TAMPERED"), &format!("{state}00")] {
            assert_eq!(seal.open(bad, &[]), Err(Unsealable::Foreign), "{bad}");
        }
    }

    #[test]
    fn who_has_the_keys_opens_it_and_older_keys_open_for_as_long_as_they_are_there() {
        let keys = |current: u8, others: &[u8]| SealKeys {
            current: [current; 32],
            others: others.iter().map(|other| [*other; 32]).collect(),
        };
        let (one, other) =
            (Seal::shared(ReplicaId(1), &keys(1, &[])), Seal::shared(ReplicaId(2), &keys(1, &[])));
        let (one, other) = (one.unwrap(), other.unwrap());
        let state = one.seal(b"what", FOR_EVER, &[]).unwrap();
        for (known, expected) in [
            (keys(1, &[]), true),
            (keys(2, &[1]), true),
            (keys(1, &[2]), true),
            (keys(3, &[2, 1]), true),
            (keys(3, &[2]), false),
        ] {
            other.set_keys(&known);
            assert_eq!(other.open(&state, &[]).is_ok(), expected, "{expected}");
        }
    }

    #[test]
    fn what_is_sealed_for_one_purpose_is_nothing_for_another() {
        let seal = seal();
        let sealed = seal.seal_bytes(SealUse::Client, b"what", FOR_EVER, &[]).unwrap();
        assert_eq!(seal.open_bytes(SealUse::Client, &sealed, &[]), Ok(b"what".to_vec()));
        assert_eq!(seal.open_bytes(SealUse::Replica, &sealed, &[]), Err(Unsealable::Foreign));
    }
}
