//! Lets one command at a time change the configs of a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use super::error::OwnConfigError;

/// A change takes milliseconds: nothing is started or asked while the lock is held.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a lock that is held is tried again.
const LOOK: Duration = Duration::from_millis(10);

/// Held until it is dropped; the system gives it back when the process ends.
#[derive(Debug)]
pub(super) struct FolderLock(#[expect(dead_code, reason = "closing the file gives it back")] File);

impl FolderLock {
    /// The lock of the folder of this file. The folder itself is locked, so that no other file is left
    /// behind in it.
    pub(super) fn of(file: &Path) -> Result<Self, OwnConfigError> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let opened = File::open(folder).map_err(OwnConfigError::io("open", folder))?;
        if let Some(lock) = acquire(opened, file)? {
            return Ok(lock);
        }
        // NFS locks only what is open for writing, which a folder cannot be.
        let beside = folder.join(".trunkline.lock");
        let wrap = |error| OwnConfigError::io("lock", &beside)(error);
        let opened =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&beside);
        match acquire(opened.map_err(wrap)?, file)? {
            Some(lock) => Ok(lock),
            None => Err(wrap(io::Error::from(io::ErrorKind::Unsupported))),
        }
    }
}

/// Waits for the lock; `None`: what was opened cannot be locked.
fn acquire(opened: File, file: &Path) -> Result<Option<FolderLock>, OwnConfigError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match opened.try_lock() {
            Ok(()) => return Ok(Some(FolderLock(opened))),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if Instant::now() < until => park_timeout(LOOK),
            Err(TryLockError::WouldBlock) => {
                let (path, seconds) = (file.to_owned(), PATIENCE.as_secs());
                return Err(OwnConfigError::Locked { path, seconds });
            }
        }
    }
}
