//! `StoreLock`: any number of `serve` work with a store, or one command that changes its key.
//!
//! With `SQLite` it is a lock on a file beside the store, which the kernel releases when its holder dies.
//! Replicas on Postgres are on other machines, and behind poolers that mix up connections: each of them
//! leaves a mark in the store every few seconds, and the command looks whether the mark moves.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trunkline_store::{Store, StoreError, StoreUrl};

use crate::clock;

/// Held for as long as it lives.
#[derive(Debug)]
pub(super) struct StoreLock {
    _file: Option<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreInUse {
    #[error("a `trunkline serve` works with this store: stop it first")]
    BeingServed,
    #[error("the key of this store is being changed: start again when that is done")]
    BeingChanged,
    #[error("{path}: {error}")]
    File { path: PathBuf, error: io::Error },
    #[error("the store cannot be opened: {0}")]
    Store(#[from] StoreError),
}

impl StoreLock {
    /// For a `serve`: together with others.
    pub(super) fn shared(url: &StoreUrl) -> Result<Self, StoreInUse> {
        let Some(path) = url.file() else { return Ok(Self { _file: None }) };
        let (file, place) = lock_file(path)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Self { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => Err(StoreInUse::BeingChanged),
            Err(TryLockError::Error(error)) => Err(StoreInUse::File { path: place, error }),
        }
    }

    /// For a command that has to be alone.
    pub(super) fn alone(url: &StoreUrl) -> Result<Self, StoreInUse> {
        let Some(path) = url.file() else { return Ok(Self { _file: None }) };
        let (file, place) = lock_file(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => Err(StoreInUse::BeingServed),
            Err(TryLockError::Error(error)) => Err(StoreInUse::File { path: place, error }),
        }
    }
}

/// Beside the store: a lock on its own file would be in the way of `SQLite`'s.
fn lock_file(store: &Path) -> Result<(File, PathBuf), StoreInUse> {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let path = store.with_file_name(name);
    let opened =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    match opened {
        Ok(file) => Ok((file, path)),
        Err(error) => Err(StoreInUse::File { path, error }),
    }
}

/// How often a `serve` leaves its mark on a Postgres, and how long one looks for it.
pub(super) const MARK_EVERY: Duration = Duration::from_secs(5);
// Three marks long: one may be late.
const LOOK_FOR: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(500);
const MARK: &str = "serve.mark";

/// A `serve` is here.
pub(super) async fn leave_mark(store: &Store) -> Result<(), StoreError> {
    store.put_setting(MARK, clock::now().to_string().into_bytes()).await
}

/// Refuses while a `serve` leaves marks. A mark that is old is not waited for.
pub(super) async fn check_not_served(url: &StoreUrl, store: &Store) -> Result<(), StoreInUse> {
    if url.file().is_some() {
        return Ok(());
    }
    let Some(first) = store.setting(MARK).await? else { return Ok(()) };
    let age = age_of(&first, clock::now());
    let mut left = LOOK_FOR.saturating_sub(age);
    while !left.is_zero() {
        tokio::time::sleep(LOOK_EVERY).await;
        left = left.saturating_sub(LOOK_EVERY);
        if store.setting(MARK).await?.as_ref() != Some(&first) {
            return Err(StoreInUse::BeingServed);
        }
    }
    Ok(())
}

/// One of the future is as good as one of now: clocks differ.
fn age_of(mark: &[u8], now: i64) -> Duration {
    let at = std::str::from_utf8(mark).ok().and_then(|text| text.parse::<i64>().ok());
    let age = at.map_or(0, |at| now.saturating_sub(at));
    Duration::from_millis(u64::try_from(age).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn many_serve_or_one_is_alone() {
        let folder = Folder::new();
        let url = StoreUrl::sqlite(&folder.path().join("store.db"));
        let (one, other) = (StoreLock::shared(&url).unwrap(), StoreLock::shared(&url).unwrap());
        assert!(matches!(StoreLock::alone(&url), Err(StoreInUse::BeingServed)));
        drop(one);
        assert!(matches!(StoreLock::alone(&url), Err(StoreInUse::BeingServed)));
        drop(other);
        let alone = StoreLock::alone(&url).unwrap();
        assert!(matches!(StoreLock::shared(&url), Err(StoreInUse::BeingChanged)));
        assert!(matches!(StoreLock::alone(&url), Err(StoreInUse::BeingServed)));
        drop(alone);
        StoreLock::shared(&url).unwrap();
    }

    #[test]
    fn a_mark_is_as_old_as_it_says() {
        for (mark, expected) in [("1000", 4), ("5000", 0), ("9000", 0), ("x", 0)] {
            assert_eq!(age_of(mark.as_bytes(), 5_000), Duration::from_secs(expected), "{mark}");
        }
    }
}
