//! What is done to a store that nobody serves from at the moment: its log verified, its key changed.

use std::path::Path;

use trunkline_store::seal;
use trunkline_store::{NewAudit, Options, Store, StoreUrl, Verdict};

use super::boot::{audit_key, withdrawn};
use super::occupancy::{Occupancy, nobody_serves};
use super::{BootError, clock};
use crate::secrets::{KeyFound, KeySource, RotationError, rotate_file};

/// Reads the whole audit log: is every record as it was written, and the last one the last?
pub async fn verify_audit(url: &StoreUrl, key: &KeySource) -> Result<Verdict, BootError> {
    let source = key;
    let KeyFound { key, is_new } = source.resolve()?;
    if is_new {
        return Err(withdrawn(source));
    }
    let store = Store::open(url, Options { audit_keys: vec![audit_key(&key)] }).await?;
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
    let _alone = Occupancy::alone(url).map_err(BootError::from)?;
    let old = seal::load(path).map_err(RotationError::from)?;
    let opened = |keys| Store::open(url, Options { audit_keys: keys });
    let store = opened(vec![audit_key(&old)]).await.map_err(BootError::from)?;
    nobody_serves(url, &store).await.map_err(BootError::from)?;
    let rewrapped = rotate_file(&store, path).await?;
    store.close().await;
    // The end of the log is authenticated anew: with the record that tells of this.
    let new = seal::load(path).map_err(RotationError::from)?;
    let both = vec![audit_key(&new), audit_key(&old)];
    let store = opened(both).await.map_err(BootError::from)?;
    let record = NewAudit {
        at: clock::now(),
        principal: "operator".to_owned(),
        action: "rotate-key".to_owned(),
        outcome: "ok".to_owned(),
        ..NewAudit::default()
    };
    let appended = store.append_audit(vec![record]).await;
    store.close().await;
    appended.map_err(BootError::from)?;
    Ok(rewrapped.credentials + rewrapped.grants)
}
