//! What commands do to a store without serving from it: verify its log, change its key, put and remove secrets.

use std::path::Path;

use trunkline_store::{AuditFilter, AuditHead, AuditRecord, AuditVerdict, NewAudit};
use trunkline_store::{Store, StoreError, StoreOptions, StoreUrl};

use super::boot::{BootError, audit_key, options};
use super::secrets::{self, RemovalRule, SecretNotRemoved, SecretWrite};
use super::store_lock::{StoreLock, check_not_served};
use crate::clock;
use crate::secrets::{
    FileRotation, KeySource, NamedSecret, RotationError, Safe, SecretError, SecretUser, rotate,
};

/// Reads the whole audit log: is every record as it was written, and the last one the last? With an end that was
/// noted elsewhere: does the log still have it?
pub async fn verify_audit(
    url: &StoreUrl,
    key: &KeySource,
    anchor: Option<AuditHead>,
) -> Result<AuditVerdict, BootError> {
    let store = Store::open(url, options(&key.existing()?)).await?;
    let verdict = match (store.verify_audit().await, anchor) {
        (Ok(AuditVerdict::Verified { first, records, last_hash }), Some(anchor)) => {
            let broken = compare(&store, anchor, first, records).await;
            broken.map(|it| it.unwrap_or(AuditVerdict::Verified { first, records, last_hash }))
        }
        (verdict, _) => verdict,
    };
    store.close().await;
    Ok(verdict?)
}

/// `None`: the log has the record that was its end when the anchor was written, or has removed it since.
async fn compare(
    store: &Store,
    anchor: AuditHead,
    first: i64,
    records: i64,
) -> Result<Option<AuditVerdict>, StoreError> {
    let last = first + records - 1;
    if anchor.seq > last {
        let why = format!(
            "it is missing: the anchor knows {} records; the store was set back to an older state",
            anchor.seq
        );
        return Ok(Some(AuditVerdict::Broken { seq: last + 1, why }));
    }
    let at = AuditFilter {
        since_seq: Some(anchor.seq),
        until_seq: Some(anchor.seq),
        ..AuditFilter::default()
    };
    let hash = match store.audit(at, 1).await?.first() {
        Some(record) => record.hash,
        // Removed. Of those only the last is known.
        None => match store.audit_checkpoint().await?.filter(|pruned| pruned.seq == anchor.seq) {
            Some(pruned) => pruned.hash,
            None => return Ok(None),
        },
    };
    let why =
        "it is not the one that the anchor knows: the store was set back, and written to since";
    let broken = AuditVerdict::Broken { seq: anchor.seq, why: why.to_owned() };
    Ok((hash != anchor.hash).then_some(broken))
}

/// Which records are wanted, in milliseconds since 1970: from `since` on, before `until`.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditSpan {
    pub since: Option<i64>,
    pub until: Option<i64>,
    /// Behind the record with this number.
    pub after: Option<i64>,
}

/// The last record that was removed from the beginning of the log, if any was.
pub async fn audit_checkpoint(
    url: &StoreUrl,
    key: &KeySource,
) -> Result<Option<AuditHead>, BootError> {
    let store = Store::open(url, options(&key.existing()?)).await?;
    let checkpoint = store.audit_checkpoint().await;
    store.close().await;
    Ok(checkpoint?)
}

/// Reads records some at a time, the oldest first. `take` says whether to go on.
pub async fn export_audit(
    url: &StoreUrl,
    key: &KeySource,
    span: AuditSpan,
    mut take: impl FnMut(&[AuditRecord]) -> bool,
) -> Result<(), BootError> {
    let store = Store::open(url, options(&key.existing()?)).await?;
    let first = store.audit_checkpoint().await?.map_or(0, |pruned| pruned.seq);
    let last = store.audit_head().await?.map_or(0, |head| head.seq);
    let mut at = first.max(span.after.unwrap_or(0));
    while at < last {
        let filter = AuditFilter {
            since_seq: Some(at + 1),
            until_seq: Some(at + EXPORT_PAGE),
            since: span.since,
            until: span.until,
            ..AuditFilter::default()
        };
        let mut records = store.audit(filter, usize::try_from(EXPORT_PAGE).unwrap_or(1)).await?;
        records.reverse();
        if !take(&records) {
            break;
        }
        at += EXPORT_PAGE;
    }
    store.close().await;
    Ok(())
}

/// As many as the store gives at once.
const EXPORT_PAGE: i64 = 1_000;

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
