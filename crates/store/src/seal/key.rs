//! The operator's key: 32 random bytes, known by an id that does not betray it.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use ring::digest::{Context, SHA256};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;
use zeroize::Zeroizing;

use super::locked::LockedKey;

#[derive(Clone)]
pub struct SealKey(Arc<LockedKey>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    #[error(
        "a key is 32 random bytes in base64 or hexadecimal digits, not a passphrase: \
         make one with `openssl rand -base64 32`"
    )]
    NotAKey,
    #[error("the system gives no random numbers")]
    NoRandom,
}

impl SealKey {
    pub fn new(bytes: [u8; 32]) -> Self {
        Self::kept(&Zeroizing::new(bytes))
    }

    /// Base64 of either alphabet, padded or not, or hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let text = text.trim().as_bytes();
        // 64 characters are hexadecimal; base64 of 32 bytes has 43 or 44, so that no spelling is
        // taken for another.
        let bytes = if text.len() == 64 { from_hex(text) } else { from_base64(text) };
        bytes.map(|bytes| Self::kept(&bytes)).ok_or(KeyError::NotAKey)
    }

    pub fn random() -> Result<Self, KeyError> {
        let mut bytes = Zeroizing::new([0; 32]);
        SystemRandom::new().fill(bytes.as_mut_slice()).map_err(|_| KeyError::NoRandom)?;
        Ok(Self::kept(&bytes))
    }

    fn kept(bytes: &[u8; 32]) -> Self {
        Self(Arc::new(LockedKey::new(bytes)))
    }

    /// Tells keys apart: the `key_version` of what is sealed with it. Taken from a hash, so that
    /// nobody has to number keys and the same key has the same id on every machine.
    pub fn id(&self) -> i64 {
        let mut context = Context::new(&SHA256);
        // A prefix, so that the id is no hash of the key that anything else would publish.
        context.update(b"trunkline key id");
        context.update(self.bytes());
        let mut first = [0; 8];
        for (to, from) in first.iter_mut().zip(context.finish().as_ref()) {
            *to = *from;
        }
        // Postgres has no unsigned numbers; a negative id would look odd in messages.
        i64::from_be_bytes(first) & i64::MAX
    }

    /// Another key for another purpose: who knows it does not know this one.
    pub fn derive(&self, purpose: &[u8]) -> [u8; 32] {
        // HMAC of the purpose: what is derived does not lead back to the key.
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.bytes());
        let mut derived = [0; 32];
        for (to, from) in derived.iter_mut().zip(hmac::sign(&key, purpose).as_ref()) {
            *to = *from;
        }
        derived
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        self.0.bytes()
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(***)")
    }
}

/// As it is written to a file.
pub(super) fn to_hex(key: &SealKey) -> Zeroizing<String> {
    Zeroizing::new(hex::encode(key.bytes()))
}

fn from_hex(text: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    hex::decode_to_slice(text, bytes.as_mut_slice()).ok().map(|()| bytes)
}

/// 43 digits of six bits are 32 bytes and two bits, which are zero.
fn from_base64(text: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    let text = match text {
        // Padded base64 of 32 bytes has exactly one `=`.
        [text @ .., b'='] if text.len() == 43 => text,
        text if text.len() == 43 => text,
        _ => return None,
    };
    let plain = text.iter().map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => *byte,
    });
    let plain: Zeroizing<Vec<u8>> = Zeroizing::new(plain.collect());
    // The decoder asks for room in whole groups of three bytes.
    let mut room = Zeroizing::new([0; 33]);
    BASE64_STANDARD_NO_PAD.decode_slice(plain.as_slice(), room.as_mut_slice()).ok()?;
    room.first_chunk().map(|bytes| Zeroizing::new(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_every_usual_spelling_and_nothing_else_is() {
        let counting = std::array::from_fn(|at| u8::try_from(at).unwrap());
        let ones = [0xff; 32];
        let table: &[(&str, Option<[u8; 32]>)] = &[
            ("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", Some(counting)),
            ("000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F", Some(counting)),
            ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", Some(counting)),
            (" AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n", Some(counting)),
            ("//////////////////////////////////////////8=", Some(ones)),
            ("__________________________________________8", Some(ones)),
            // bits that belong to no byte
            ("//////////////////////////////////////////9=", None),
            ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8==", None),
            ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh", None),
            ("g00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", None),
            ("correct horse battery staple", None),
            ("", None),
        ];
        for (text, expected) in table {
            let key = SealKey::parse(text);
            assert_eq!(key.as_ref().ok().map(|key| *key.bytes()), *expected, "{text}");
        }
        assert!(SealKey::parse("hunter2").unwrap_err().to_string().contains("openssl rand"));
    }

    #[test]
    fn a_key_written_to_a_file_is_the_same_when_read() {
        let key = SealKey::random().unwrap();
        let again = SealKey::parse(&to_hex(&key)).unwrap();
        assert_eq!(key.bytes(), again.bytes());
        assert_eq!(key.id(), again.id());
        assert_ne!(key.id(), SealKey::random().unwrap().id());
        assert_eq!(format!("{key:?}"), "Key(***)");
    }
}
