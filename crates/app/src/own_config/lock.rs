//! Lets one command at a time change the configs of a folder.

use std::fs::{File, TryLockError};
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
        let wrap = |error| OwnConfigError::io("lock", folder)(error);
        let opened = File::open(folder).map_err(wrap)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match opened.try_lock() {
                Ok(()) => return Ok(Self(opened)),
                Err(TryLockError::Error(error)) => return Err(wrap(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => park_timeout(LOOK),
                Err(TryLockError::WouldBlock) => {
                    let (path, seconds) = (file.to_owned(), PATIENCE.as_secs());
                    return Err(OwnConfigError::Locked { path, seconds });
                }
            }
        }
    }
}
