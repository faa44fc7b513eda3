//! Another key takes the place of the one the store is sealed with. May be interrupted anywhere.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use trunkline_store::Store;
use trunkline_store::seal::{
    self, KeyFileError, Keyring, Rewrapped, RotateError, SealKey, Unlocked,
};

use super::error::SecretError;
use super::safe::{PEPPER, PEPPER_AAD, SEALS, open_ring, seal_ring};

#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    #[error("neither the old nor the new key is the one of this store; nothing was changed")]
    WrongKey,
    #[error(transparent)]
    Store(#[from] RotateError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    KeyFile(#[from] KeyFileError),
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
}

/// Until it has returned, both keys are needed; then only the new one is. Run again with the same
/// keys, it goes on where it was interrupted. No other process may seal with the old key meanwhile.
pub async fn rotate(store: &Store, old: SealKey, new: SealKey) -> Result<Rewrapped, RotationError> {
    let keys = Keyring::new(new).with_older(old);
    match store.unlock(&keys).await? {
        Unlocked::Yes => {}
        Unlocked::No => return Err(RotationError::WrongKey),
    }
    // Before the rest: the check of the key, which is the mark that all is done, comes last there.
    if let Some(stored) = store.setting(PEPPER).await.map_err(RotateError::from)? {
        let sealed = keys.rewrap(&PEPPER_AAD, &stored).map_err(|error| RotateError::Seal {
            what: "the pepper of the API keys".to_owned(),
            error,
        })?;
        store.put_setting(PEPPER, sealed).await.map_err(RotateError::from)?;
    }
    renew_seals(store, &keys).await?;
    Ok(store.rewrap(&keys).await?)
}

/// What clients carry is sealed with another key from now on, too; what the old one has sealed opens for a while.
async fn renew_seals(store: &Store, keys: &Keyring) -> Result<(), RotationError> {
    let Some(stored) = store.setting(SEALS).await.map_err(RotateError::from)? else {
        return Ok(());
    };
    let now = store.replicas(0).await.map_err(RotateError::from)?.now;
    let ring = open_ring(keys, &stored)?.renewed(now).ok_or(SecretError::NoRandom)?;
    store.put_setting(SEALS, seal_ring(keys, &ring)?).await.map_err(RotateError::from)?;
    Ok(())
}

/// Where the next key is while it does not yet have the place of the one in this file.
pub(super) fn next_to(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".next");
    path.with_file_name(name)
}

/// The key in a file gives way to another. Until `finish` the new one is beside the old one, so that
/// neither is lost when this is interrupted; begun again, it goes on with the same two.
#[derive(Debug)]
pub struct FileRotation {
    path: PathBuf,
    pub old: SealKey,
    pub new: SealKey,
}

impl FileRotation {
    pub fn begin(path: &Path) -> Result<Self, RotationError> {
        let next = next_to(path);
        let old = seal::load(path)?;
        let new = match seal::load(&next) {
            Err(KeyFileError::Missing { .. }) => seal::create(&next)?,
            loaded => loaded?,
        };
        Ok(Self { path: path.to_owned(), old, new })
    }

    /// Only when everything is sealed with the new key.
    pub fn finish(self) -> Result<(), RotationError> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        fs::rename(next_to(&self.path), &self.path)
            .and_then(|()| File::open(folder.unwrap_or(Path::new(".")))?.sync_all())
            .map_err(|error| RotationError::Io { path: self.path, error })
    }
}
