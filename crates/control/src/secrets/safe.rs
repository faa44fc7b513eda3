//! `Safe`: the operator's keys, or the knowledge that they are the wrong ones.

use ring::rand::{SecureRandom, SystemRandom};
use trunkline_store::seal::{Aad, Keyring, Unlocked};
use trunkline_store::{CredentialRecord, Store};
use zeroize::Zeroizing;

use super::error::SecretError;
use super::ring::SealRing;

/// With the wrong keys it is locked: everything that needs one is refused, and nothing that another
/// key has sealed is written over.
#[derive(Debug)]
pub struct Safe {
    keys: Option<Keyring>,
}

/// The pepper of the API keys. Not a credential: servers must not be able to refer to it.
pub(super) const PEPPER: &str = "keys.pepper";
pub(super) const PEPPER_AAD: Aad<'static> =
    Aad { table: "settings", row: PEPPER, column: "value", owner: "-" };

/// The keys with which replicas seal what clients carry.
pub(crate) const SEALS: &str = "gateway.seals";
const SEALS_AAD: Aad<'static> = Aad { table: "settings", row: SEALS, column: "value", owner: "-" };
const SEALS_WORDS: &str = "the keys of the replicas";

const ANSWER_WORDS: &str = "the answer to a call";

impl Safe {
    /// Finds out whether these are the keys of this store.
    pub async fn unlock(store: &Store, keys: Keyring) -> Result<Self, SecretError> {
        let keys = match store.unlock(&keys).await? {
            Unlocked::Yes => Some(keys),
            Unlocked::No => None,
        };
        Ok(Self { keys })
    }

    pub fn is_locked(&self) -> bool {
        self.keys.is_none()
    }

    /// One for all replicas and for as long as the store lasts: the rotation of the key does
    /// not change it, so that no API key dies of one.
    pub async fn pepper(&self, store: &Store) -> Result<Zeroizing<[u8; 32]>, SecretError> {
        let mut fresh = Zeroizing::new([0; 32]);
        SystemRandom::new().fill(fresh.as_mut_slice()).map_err(|_| SecretError::NoRandom)?;
        let failed = |error| SecretError::sealing("the pepper of the API keys", error);
        let keys = self.keys()?;
        let sealed = keys.seal(&PEPPER_AAD, fresh.as_slice()).map_err(failed)?;
        // Replicas may start at the same time: the first one to write wins, and all read that.
        let stored = store.put_setting_if_absent(PEPPER, sealed).await?;
        let opened = keys.open(&PEPPER_AAD, &stored).map_err(failed)?;
        let bytes: &[u8; 32] = opened.as_slice().try_into().map_err(|_| {
            let what = "the pepper of the API keys".to_owned();
            SecretError::Unusable { what, why: "it has another length".to_owned() }
        })?;
        Ok(Zeroizing::new(*bytes))
    }

    /// The keys of the replicas, as the store has them and opened; made if there are none yet. `now` in milliseconds
    /// since 1970.
    pub(crate) async fn seal_ring(
        &self,
        store: &Store,
        now: i64,
    ) -> Result<(Vec<u8>, SealRing), SecretError> {
        let stored = match store.setting(SEALS).await? {
            Some(stored) => stored,
            None => {
                let fresh = SealRing::new(now).ok_or(SecretError::NoRandom)?;
                // Replicas may start at the same time: the first one to write wins, and all read that.
                store.put_setting_if_absent(SEALS, self.sealed_ring(&fresh)?).await?
            }
        };
        let ring = open_ring(self.keys()?, &stored)?;
        Ok((stored, ring))
    }

    /// As the store keeps it.
    pub(crate) fn sealed_ring(&self, ring: &SealRing) -> Result<Vec<u8>, SecretError> {
        seal_ring(self.keys()?, ring)
    }

    /// What a call was answered, as the store keeps it under the id of its key.
    pub(crate) fn sealed_answer(&self, id: &str, answer: &[u8]) -> Result<Vec<u8>, SecretError> {
        let sealed = self.keys()?.seal(&answer_aad(id), answer);
        sealed.map_err(|error| SecretError::sealing(ANSWER_WORDS, error))
    }

    pub(crate) fn opened_answer(&self, id: &str, sealed: &[u8]) -> Result<Vec<u8>, SecretError> {
        let opened = self.keys()?.open(&answer_aad(id), sealed);
        let opened = opened.map_err(|error| SecretError::sealing(ANSWER_WORDS, error))?;
        Ok(opened.to_vec())
    }

    pub(super) fn keys(&self) -> Result<&Keyring, SecretError> {
        self.keys.as_ref().ok_or(SecretError::Locked)
    }

    /// A value, sealed for its owner and its name.
    pub(super) fn credential(
        &self,
        owner: &str,
        name: &str,
        kind: &str,
        value: &str,
        at: i64,
    ) -> Result<CredentialRecord, SecretError> {
        let keys = self.keys()?;
        let mut record = CredentialRecord {
            id: id(owner, name),
            owner: owner.to_owned(),
            name: name.to_owned(),
            kind: kind.to_owned(),
            sealed: Vec::new(),
            key_version: keys.current_id(),
            updated_at: at,
            updated_by: None,
        };
        let sealed = keys.seal(&record.aad(), value.as_bytes());
        record.sealed = sealed.map_err(|error| SecretError::sealing(name, error))?;
        Ok(record)
    }

    /// What is sealed, if it is what was sealed for this owner under this name.
    pub(super) fn value(
        &self,
        owner: &str,
        record: &CredentialRecord,
        said: &str,
    ) -> Result<Zeroizing<String>, SecretError> {
        let unusable =
            |why: &str| SecretError::Unusable { what: said.to_owned(), why: why.to_owned() };
        // The seal is bound to the row: one that was copied to another owner does not open.
        if record.owner != owner || record.id != id(owner, &record.name) {
            return Err(unusable("it belongs elsewhere"));
        }
        let opened = self.keys()?.open(&record.aad(), &record.sealed);
        let opened = opened.map_err(|error| SecretError::sealing(said, error))?;
        let text = std::str::from_utf8(&opened).map_err(|_| unusable("it is not text"))?;
        Ok(Zeroizing::new(text.to_owned()))
    }
}

fn answer_aad(id: &str) -> Aad<'_> {
    Aad { table: "call_keys", row: id, column: "answer", owner: "-" }
}

/// Sealed for its place in the store.
pub(super) fn seal_ring(keys: &Keyring, ring: &SealRing) -> Result<Vec<u8>, SecretError> {
    let sealed = keys.seal(&SEALS_AAD, &ring.bytes());
    sealed.map_err(|error| SecretError::sealing(SEALS_WORDS, error))
}

pub(super) fn open_ring(keys: &Keyring, stored: &[u8]) -> Result<SealRing, SecretError> {
    let opened = keys.open(&SEALS_AAD, stored);
    let opened = opened.map_err(|error| SecretError::sealing(SEALS_WORDS, error))?;
    SealRing::read(&opened).ok_or_else(|| SecretError::Unusable {
        what: SEALS_WORDS.to_owned(),
        why: "they have another form".to_owned(),
    })
}

/// What is sealed is bound to the id of its row. Made of owner and name, so that it is bound to
/// them, too: renaming a secret cannot have it sent in the place of another. No owner has
/// a `/` in it.
fn id(owner: &str, name: &str) -> String {
    format!("{owner}/{name}")
}
