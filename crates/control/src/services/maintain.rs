//! What commands do to a store without serving from it: verify its log, change its key, put and remove secrets.

use std::path::Path;

use trunkline_store::{AuditVerdict, NewAudit, Store, StoreOptions, StoreUrl};

use super::boot::{BootError, audit_key, options};
use super::secrets::{self, RemovalRule, SecretNotRemoved, SecretWrite};
use super::store_lock::{StoreLock, check_not_served};
use crate::clock;
use crate::secrets::{
    FileRotation, KeySource, NamedSecret, RotationError, Safe, SecretError, SecretUser, rotate,
};

/// Reads the whole audit log: is every record as it was written, and the last one the last?
pub async fn verify_audit(url: &StoreUrl, key: &KeySource) -> Result<AuditVerdict, BootError> {
    let store = Store::open(url, options(&key.existing()?)).await?;
    let verdict = store.verify_audit().await;
    store.close().await;
    Ok(verdict?)
}

/// Why the key was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeKeyError {
    #[error(transparent)]
    Rotation(#[from] RotationError),
    #[error(transparent)]
    Boot(#[from] BootError),
}

/// A new key in the place of the one in this file. How many secrets it seals now. May be run again
/// if it was interrupted.
pub async fn change_key(url: &StoreUrl, path: &Path) -> Result<u64, ChangeKeyError> {
    let _alone = StoreLock::alone(url).map_err(BootError::from)?;
    let known = KeySource::File(path.to_owned()).existing().map_err(BootError::from)?;
    let store = Store::open(url, options(&known)).await.map_err(BootError::from)?;
    let nobody = check_not_served(url, &store).await;
    store.close().await;
    nobody.map_err(BootError::from)?;
    let rotation = FileRotation::begin(path)?;
    let (old, new) = (rotation.old.clone(), rotation.new.clone());
    let audit_keys = vec![audit_key(&new), audit_key(&old)];
    let store = Store::open(url, StoreOptions { audit_keys }).await.map_err(BootError::from)?;
    let rewrapped = rotate(&store, old, new).await?;
    // Before the file is replaced: with this record the end of the log is authenticated anew, and
    // the new key alone could not continue the log otherwise.
    let appended = store.append_audit(vec![by_the_operator("rotate-key")]).await;
    store.close().await;
    appended.map_err(BootError::from)?;
    rotation.finish()?;
    Ok(rewrapped.credentials + rewrapped.grants)
}

/// Why nothing was done to the secrets.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    #[error(transparent)]
    Boot(#[from] BootError),
    #[error(transparent)]
    NotRemoved(#[from] SecretNotRemoved),
}

impl From<SecretError> for SecretsError {
    fn from(error: SecretError) -> Self {
        Self::Boot(error.into())
    }
}

/// The secrets of a store, whether or not a `serve` works with it.
#[derive(Debug)]
pub struct StoreSecrets {
    store: Store,
    safe: Safe,
}

impl StoreSecrets {
    /// Makes no key: a new one could not open what is there.
    pub async fn open(url: &StoreUrl, key: &KeySource) -> Result<Self, SecretsError> {
        let found = key.existing().map_err(BootError::from)?;
        let store = Store::open(url, options(&found)).await.map_err(BootError::from)?;
        let safe = Safe::unlock(&store, found.keyring()).await?;
        Ok(Self { store, safe })
    }

    pub async fn put(&self, name: &str, value: &str) -> Result<SecretWrite, SecretsError> {
        let record = by_the_operator("put-secret");
        Ok(secrets::put(&self.store, &self.safe, name, value, record).await?.0)
    }

    /// Each with the servers that refer to it.
    pub async fn list(&self) -> Result<Vec<(NamedSecret, Vec<SecretUser>)>, SecretsError> {
        let mut uses = self.safe.uses(&self.store).await?;
        let named = Safe::named(&self.store).await?.into_iter();
        let with_users = named.map(|secret| {
            let users = uses.remove(&secret.name).unwrap_or_default();
            (secret, users)
        });
        Ok(with_users.collect())
    }

    pub async fn remove(&self, name: &str, removal: RemovalRule) -> Result<(), SecretsError> {
        let record = by_the_operator("delete-secret");
        Ok(secrets::remove(&self.store, &self.safe, name, removal, record).await?)
    }

    pub async fn close(&self) {
        self.store.close().await;
    }
}

/// The principal is whoever holds the key of the store.
fn by_the_operator(action: &str) -> NewAudit {
    NewAudit {
        at: clock::now(),
        principal: "operator".to_owned(),
        action: action.to_owned(),
        outcome: "ok".to_owned(),
        ..NewAudit::default()
    }
}
