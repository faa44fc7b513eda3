//! The keys an operator has: one that seals, and older ones that still open.

use std::fmt;

use zeroize::Zeroizing;

use crate::seal::envelope::{self, Aad, Envelope, SealError};
use crate::seal::key::SealKey;

#[derive(Clone)]
pub struct Keyring {
    current: SealKey,
    older: Vec<SealKey>,
}

impl Keyring {
    pub fn new(current: SealKey) -> Self {
        Self { current, older: Vec::new() }
    }

    /// With a key from before a rotation.
    #[must_use]
    pub fn with_older(mut self, key: SealKey) -> Self {
        self.older.push(key);
        self
    }

    /// The `key_version` of what is sealed now.
    pub fn current_id(&self) -> i64 {
        self.current.id()
    }

    pub fn seal(&self, aad: &Aad<'_>, secret: &[u8]) -> Result<Vec<u8>, SealError> {
        envelope::seal(&self.current, aad, secret)
    }

    pub fn open(&self, aad: &Aad<'_>, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let envelope = Envelope::read(sealed)?;
        envelope::open(self.key(envelope.key_id)?, aad, &envelope)
    }

    /// Seals a secret under the current key instead, without decrypting it.
    pub fn rewrap(&self, aad: &Aad<'_>, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let envelope = Envelope::read(sealed)?;
        envelope::rewrap(self.key(envelope.key_id)?, &self.current, aad, &envelope)
    }

    fn key(&self, id: i64) -> Result<&SealKey, SealError> {
        std::iter::once(&self.current)
            .chain(&self.older)
            .find(|key| key.id() == id)
            .ok_or(SealError::UnknownKey { id })
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyring(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AAD: Aad<'static> = Aad { table: "t", row: "r", column: "c", owner: "o" };

    #[test]
    fn another_key_is_told_from_a_change() {
        let [a, b] = [1, 2].map(|byte| SealKey::new([byte; 32]));
        let sealed = Keyring::new(a.clone()).seal(&AAD, b"secret").unwrap();
        let outcome = Keyring::new(b).open(&AAD, &sealed);
        assert_eq!(outcome.unwrap_err(), SealError::UnknownKey { id: a.id() });
        let mut changed = sealed;
        *changed.last_mut().unwrap() ^= 1;
        let outcome = Keyring::new(a).open(&AAD, &changed);
        assert_eq!(outcome.unwrap_err(), SealError::Tampered);
    }

    #[test]
    fn a_rotation_encrypts_only_the_secrets_own_key_anew() {
        let [a, b] = [1, 2].map(|byte| SealKey::new([byte; 32]));
        let old = Keyring::new(a.clone()).seal(&AAD, b"secret").unwrap();
        let both = Keyring::new(b.clone()).with_older(a.clone());
        assert_eq!(both.open(&AAD, &old).unwrap().as_slice(), b"secret");
        let new = both.rewrap(&AAD, &old).unwrap();
        assert_eq!(Envelope::read(&new).unwrap().secret, Envelope::read(&old).unwrap().secret);
        assert_eq!(Keyring::new(b).open(&AAD, &new).unwrap().as_slice(), b"secret");
        assert!(Keyring::new(a).open(&AAD, &new).is_err());
    }
}
