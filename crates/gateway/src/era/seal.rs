//! What a client carries for us and must not be able to read, change, or use for something else.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::era::header::{base64, unbase64};

/// Seals with a key that lasts as long as the process.
pub(crate) struct Seal {
    key: LessSafeKey,
    random: SystemRandom,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Seal")
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

impl Seal {
    /// `None`: there are no random numbers.
    pub(crate) fn new() -> Option<Self> {
        let random = SystemRandom::new();
        let mut key = [0; 32];
        random.fill(&mut key).ok()?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &key).ok()?;
        Some(Self { key: LessSafeKey::new(key), random })
    }

    /// `bound`: what has to be the same when it comes back. `expires` in seconds of some clock.
    pub(crate) fn seal(&self, what: &[u8], expires: u64, bound: &[&[u8]]) -> Option<String> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        let mut sealed = [&expires.to_le_bytes()[..], what].concat();
        // Bound, not stored: what the state belongs to is checked without making it longer.
        let aad = Aad::from(joined(bound));
        let unique = Nonce::assume_unique_for_key(nonce); // 96 random bits, few messages
        self.key.seal_in_place_append_tag(unique, aad, &mut sealed).ok()?;
        Some(base64(&[nonce.as_slice(), &sealed].concat()))
    }

    pub(crate) fn open(
        &self,
        text: &str,
        now: u64,
        bound: &[&[u8]],
    ) -> Result<Vec<u8>, Unsealable> {
        let mut bytes = unbase64(text.as_bytes()).ok_or(Unsealable::Foreign)?;
        let (nonce, sealed) =
            bytes.split_first_chunk_mut::<NONCE_LEN>().ok_or(Unsealable::Foreign)?;
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self.key.open_in_place(nonce, Aad::from(joined(bound)), sealed);
        // One error for every reason: who tries out states learns nothing from it.
        let plain = plain.map_err(|_| Unsealable::Foreign)?;
        let (expires, what) = plain.split_first_chunk::<EXPIRY>().ok_or(Unsealable::Foreign)?;
        if now >= u64::from_le_bytes(*expires) {
            return Err(Unsealable::Expired);
        }
        Ok(what.to_vec())
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

    #[test]
    fn only_the_same_request_of_the_same_caller_in_time_opens_it() {
        let seal = Seal::new().unwrap();
        let bound: [&[u8]; 3] = [b"alice", b"tools/call", b"digest"];
        let state = seal.seal(b"what", 100, &bound).unwrap();
        assert_eq!(seal.open(&state, 99, &bound), Ok(b"what".to_vec()));
        assert_eq!(seal.open(&state, 100, &bound), Err(Unsealable::Expired));
        for other in [
            [b"bob".as_slice(), b"tools/call", b"digest"],
            [b"alice", b"prompts/get", b"digest"],
            [b"alice", b"tools/call", b"other"],
            [b"alicetools/call", b"", b"digest"],
        ] {
            assert_eq!(seal.open(&state, 0, &other), Err(Unsealable::Foreign));
        }
        assert_eq!(Seal::new().unwrap().open(&state, 0, &bound), Err(Unsealable::Foreign));
    }

    #[test]
    fn one_bit_flipped_anywhere_is_refused() {
        let seal = Seal::new().unwrap();
        let state = seal.seal(b"1", 100, &[]).unwrap();
        for place in 0..state.len() {
            let mut changed = state.clone().into_bytes();
            changed[place] = if changed[place] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(seal.open(&changed, 0, &[]), Err(Unsealable::Foreign), "{place}");
        }
        for bad in ["", "00", "zz", "0", &format!("{state}-TAMPERED"), &format!("{state}00")] {
            assert_eq!(seal.open(bad, 0, &[]), Err(Unsealable::Foreign), "{bad}");
        }
    }
}
