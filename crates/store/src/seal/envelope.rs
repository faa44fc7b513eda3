//! What a sealed secret looks like, and what it is bound to.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::seal::key::SealKey;

/// The place a secret belongs to: it does not open anywhere else.
#[derive(Debug, Clone, Copy)]
pub struct Aad<'a> {
    pub table: &'a str,
    pub row: &'a str,
    pub column: &'a str,
    pub owner: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SealError {
    #[error("it is sealed with another key (id {id:016x}) than any that is known")]
    UnknownKey { id: i64 },
    #[error("it was changed, or it belongs elsewhere")]
    Tampered,
    #[error("it is not something that was sealed")]
    Malformed,
    #[error("the system gives no random numbers")]
    NoRandom,
}

/// `TS`, version, id of the operator's key, nonce, the secret's own key (encrypted), nonce, the
/// secret (encrypted).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Envelope<'a> {
    pub(super) key_id: i64,
    pub(super) wrapped: Sealed<'a>,
    pub(super) secret: Sealed<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sealed<'a> {
    nonce: &'a [u8; NONCE],
    text: &'a [u8],
}

// The version stands in clear text: a later format is recognised before anything is decrypted.
const MAGIC: &[u8; 3] = b"TS\x01";
const NONCE: usize = 24;
/// A key of 32 bytes and the tag of 16 that authenticates it.
const WRAPPED: usize = 48;

impl<'a> Envelope<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, SealError> {
        Self::parts(bytes).ok_or(SealError::Malformed)
    }

    fn parts(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (id, rest) = rest.split_first_chunk::<8>()?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE>()?;
        let (wrapped, rest) = rest.split_first_chunk::<WRAPPED>()?;
        let wrapped = Sealed { nonce, text: wrapped };
        let (nonce, text) = rest.split_first_chunk::<NONCE>()?;
        let secret = Sealed { nonce, text };
        Some(Self { key_id: i64::from_be_bytes(*id), wrapped, secret })
    }
}

pub(super) fn seal(key: &SealKey, aad: &Aad<'_>, secret: &[u8]) -> Result<Vec<u8>, SealError> {
    // A key for each secret: rotating the operator's key then touches 48 bytes and never a secret.
    let own = SealKey::random().map_err(|_| SealError::NoRandom)?;
    let mut sealed = wrap(key, aad, &own)?;
    // Bound to its place without the key's id: that changes in a rotation, and the secret is not
    // encrypted anew.
    sealed.extend_from_slice(&encrypt(&own, &bound(aad, None), secret)?);
    Ok(sealed)
}

pub(super) fn open(
    key: &SealKey,
    aad: &Aad<'_>,
    envelope: &Envelope<'_>,
) -> Result<Zeroizing<Vec<u8>>, SealError> {
    decrypt(&unwrap(key, aad, envelope)?, &bound(aad, None), envelope.secret)
}

/// Only the secret's own key is encrypted anew; the secret is not even looked at.
pub(super) fn rewrap(
    old: &SealKey,
    new: &SealKey,
    aad: &Aad<'_>,
    envelope: &Envelope<'_>,
) -> Result<Vec<u8>, SealError> {
    let mut sealed = wrap(new, aad, &unwrap(old, aad, envelope)?)?;
    sealed.extend_from_slice(envelope.secret.nonce);
    sealed.extend_from_slice(envelope.secret.text);
    Ok(sealed)
}

/// Everything up to the secret.
fn wrap(key: &SealKey, aad: &Aad<'_>, own: &SealKey) -> Result<Vec<u8>, SealError> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&key.id().to_be_bytes());
    bytes.extend_from_slice(&encrypt(key, &bound(aad, Some(key.id())), own.bytes())?);
    Ok(bytes)
}

fn unwrap(key: &SealKey, aad: &Aad<'_>, envelope: &Envelope<'_>) -> Result<SealKey, SealError> {
    let own = decrypt(key, &bound(aad, Some(envelope.key_id)), envelope.wrapped)?;
    // Not a wrong key, which would have failed above: something that we did not write.
    let own: &[u8; 32] = own.as_slice().try_into().map_err(|_| SealError::Malformed)?;
    Ok(SealKey::new(*own))
}

/// The nonce and the text. Nonces are random: 192 bits do not repeat.
fn encrypt(key: &SealKey, aad: &[u8], plain: &[u8]) -> Result<Vec<u8>, SealError> {
    let mut nonce = [0; NONCE];
    SystemRandom::new().fill(&mut nonce).map_err(|_| SealError::NoRandom)?;
    let payload = Payload { msg: plain, aad };
    // XChaCha: its nonce is long enough to be random. A counter would need a place that is never
    // rolled back.
    let text = cipher(key).encrypt(&XNonce::from(nonce), payload);
    let mut sealed = nonce.to_vec();
    sealed.extend_from_slice(&text.map_err(|_| SealError::Malformed)?);
    Ok(sealed)
}

fn decrypt(key: &SealKey, aad: &[u8], sealed: Sealed<'_>) -> Result<Zeroizing<Vec<u8>>, SealError> {
    let payload = Payload { msg: sealed.text, aad };
    let plain = cipher(key).decrypt(&XNonce::from(*sealed.nonce), payload);
    // Which of key, place or text is wrong is not told: whoever tampers should not learn it.
    plain.map(Zeroizing::new).map_err(|_| SealError::Tampered)
}

fn cipher(key: &SealKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.bytes().into())
}

/// Each part with its length, so that no two places encode alike. The operator's key is bound to
/// what it encrypts, the secret's own key; the secret itself outlives it.
fn bound(aad: &Aad<'_>, key_id: Option<i64>) -> Vec<u8> {
    let mut bytes = b"trunkline seal 1".to_vec();
    for part in [aad.table, aad.row, aad.column, aad.owner] {
        // With the length in front, ("ab", "c") and ("a", "bc") are two places.
        bytes.extend_from_slice(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    if let Some(id) = key_id {
        bytes.extend_from_slice(&id.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const AAD: Aad<'static> = Aad { table: "t", row: "r", column: "c", owner: "o" };

    #[test]
    fn a_changed_bit_anywhere_is_noticed() {
        let key = SealKey::new([7; 32]);
        let sealed = seal(&key, &AAD, b"secret").unwrap();
        let opened = open(&key, &AAD, &Envelope::read(&sealed).unwrap()).unwrap();
        assert_eq!(opened.as_slice(), b"secret");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 0x10;
            let outcome = Envelope::read(&changed).and_then(|e| open(&key, &AAD, &e));
            let expected = if at < 3 { SealError::Malformed } else { SealError::Tampered };
            assert_eq!(outcome.unwrap_err(), expected, "byte {at}");
        }
        for length in 0..sealed.len() {
            let outcome = Envelope::read(&sealed[..length]).and_then(|e| open(&key, &AAD, &e));
            assert!(outcome.is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_secret_opens_only_in_its_place() {
        let key = SealKey::new([7; 32]);
        let sealed = seal(&key, &AAD, b"secret").unwrap();
        let table = [
            Aad { table: "x", ..AAD },
            Aad { row: "x", ..AAD },
            Aad { column: "x", ..AAD },
            Aad { owner: "x", ..AAD },
            Aad { table: "tr", row: "", ..AAD },
            Aad { column: "o", owner: "c", ..AAD },
        ];
        for place in table {
            let outcome = open(&key, &place, &Envelope::read(&sealed).unwrap());
            assert_eq!(outcome.unwrap_err(), SealError::Tampered, "{place:?}");
        }
    }

    #[test]
    fn the_same_secret_is_never_sealed_to_the_same_bytes() {
        let key = SealKey::new([7; 32]);
        let [a, b] = [0, 1].map(|_| seal(&key, &AAD, b"secret").unwrap());
        assert_ne!(a, b);
        assert!(!a.windows(6).any(|part| part == b"secret"));
    }
}
