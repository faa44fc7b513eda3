//! The keys and the store: whether this is the right key, and how another one takes its place.

use thiserror::Error;

use crate::error::StoreError;
use crate::limits::PAGE;
use crate::records::{CredentialRecord, GrantRecord};
use crate::seal::envelope::{Aad, SealError};
use crate::seal::keyring::Keyring;
use crate::store::Store;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlocked {
    /// The key is the one the store was sealed with, or the first it ever had.
    Yes,
    /// It is another key: nothing can be opened, and nothing must be written over.
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewrapped {
    pub credentials: u64,
    pub grants: u64,
}

#[derive(Debug, Error)]
pub enum RotateError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{what}: {error}")]
    Seal { what: String, error: SealError },
}

/// Something sealed with the key, by which a wrong one is noticed before it does harm.
const CHECK: &str = "key.check";
const CHECK_AAD: Aad<'static> = Aad { table: "settings", row: CHECK, column: "value", owner: "-" };
const CHECK_TEXT: &[u8] = b"this is the key";

impl Store {
    /// Whether these keys are right for this store. The first key it sees is.
    pub async fn unlock(&self, keyring: &Keyring) -> Result<Unlocked, RotateError> {
        let ours = keyring.seal(&CHECK_AAD, CHECK_TEXT).map_err(check)?;
        // In one step: of two replicas that start with two keys exactly one becomes the store's.
        let stored = self.put_setting_if_absent(CHECK, ours).await?;
        match keyring.open(&CHECK_AAD, &stored) {
            Ok(_) => Ok(Unlocked::Yes),
            Err(SealError::UnknownKey { .. }) => Ok(Unlocked::No),
            Err(error) => Err(check(error)),
        }
    }

    /// Brings every secret under the current key. May be interrupted at any point and run again:
    /// until it has returned, the older key is needed.
    pub async fn rewrap(&self, keyring: &Keyring) -> Result<Rewrapped, RotateError> {
        let credentials = self.rewrap_credentials(keyring).await?;
        let grants = self.rewrap_grants(keyring).await?;
        // Last: as long as it is under the older key, that one is asked for at start.
        if let Some(stored) = self.setting(CHECK).await? {
            let sealed = keyring.rewrap(&CHECK_AAD, &stored).map_err(check)?;
            self.put_setting(CHECK, sealed).await?;
        }
        Ok(Rewrapped { credentials, grants })
    }

    async fn rewrap_credentials(&self, keyring: &Keyring) -> Result<u64, RotateError> {
        // By pages from the last id on: each round is a short transaction, and an interruption
        // loses one page.
        let (id, mut after, mut done) = (keyring.current_id(), String::new(), 0);
        loop {
            let page = self.credentials_under_other_keys(id, &after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(done) };
            after.clone_from(&last.id);
            for old in page {
                let failed = |error| {
                    let what = format!("credential {} of {}", old.name, old.owner);
                    RotateError::Seal { what, error }
                };
                let sealed = keyring.rewrap(&old.aad(), &old.sealed).map_err(failed)?;
                // With the old record as the condition: a secret that was changed meanwhile is not
                // overwritten.
                match self.reseal_credential(old, sealed, id).await {
                    Ok(()) => done += 1,
                    // Whoever was quicker has sealed with the current key or removed it.
                    Err(StoreError::Stale) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    async fn rewrap_grants(&self, keyring: &Keyring) -> Result<u64, RotateError> {
        let (id, mut done) = (keyring.current_id(), 0);
        loop {
            // No cursor: what is rewrapped leaves the query by itself.
            let page = self.grants_under_other_keys(id, PAGE).await?;
            if page.is_empty() {
                return Ok(done);
            }
            for old in page {
                let row = old.row();
                let failed = |error| {
                    let what = format!("grant of {} for {}", old.issuer, old.server_id);
                    RotateError::Seal { what, error }
                };
                let sealed = keyring.rewrap(&old.aad(&row), &old.sealed).map_err(failed)?;
                let expected = Some(old.revision);
                let record = GrantRecord { sealed, key_version: id, ..old };
                let change = crate::change::Change::PutGrant { record, expected };
                match self.commit(vec![change], Vec::new()).await {
                    Ok(_) => done += 1,
                    // Renewed meanwhile, and by that under the current key; if not, it is in the
                    // next page.
                    Err(StoreError::Stale) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
}

impl CredentialRecord {
    /// What its secret is bound to.
    pub fn aad(&self) -> Aad<'_> {
        Aad { table: "credentials", row: &self.id, column: "sealed", owner: &self.owner }
    }
}

impl GrantRecord {
    /// What tells this grant from others.
    pub fn row(&self) -> String {
        // With the length in front: an issuer may contain whatever separates it from the principal.
        format!("{}:{}{}", self.issuer.len(), self.issuer, self.principal)
    }

    /// What its secret is bound to.
    pub fn aad<'a>(&'a self, row: &'a str) -> Aad<'a> {
        Aad { table: "grants", row, column: "sealed", owner: &self.server_id }
    }
}

fn check(error: SealError) -> RotateError {
    RotateError::Seal { what: "the check of the key".to_owned(), error }
}
