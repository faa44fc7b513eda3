//! Opens the `SQLite` file: for its owner only, durable, and strict about what is in it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreError;
use crate::limits::BUSY;
use crate::session::sqlite_fault;

/// Pauses between attempts to do what `SQLite`'s own waiting does not cover.
const PAUSE: Duration = Duration::from_millis(20);

/// Creates the file if there is none. Changes nothing in one that is there.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    guard(path)?;
    // Without SQLITE_OPEN_URI: a path is a path, whatever characters it has.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|e| sqlite_fault(&e))?;
    connection.busy_timeout(BUSY).map_err(|error| sqlite_fault(&error))?;
    // SQLite opens what it may not write as read-only and says nothing.
    if connection.is_readonly("main").map_err(|error| sqlite_fault(&error))? {
        return Err(StoreError::full("the file is read-only"));
    }
    connection
        .execute_batch(
            // A file that came from elsewhere must not run functions through its views and
            // triggers.
            "PRAGMA trusted_schema = OFF;
             PRAGMA foreign_keys = ON;
             PRAGMA synchronous = FULL;
             PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;",
        )
        .map_err(|error| sqlite_fault(&error))?;
    Ok(connection)
}

/// Readers and a writer do not wait for each other: the journal is a log beside the file.
pub(super) fn settle(connection: &Connection) -> Result<(), StoreError> {
    let late = Instant::now() + BUSY;
    loop {
        // WAL: a reader (a backup, `sqlite3`) does not block the writer, nor the writer a reader.
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        match mode.map(|mode: String| mode.eq_ignore_ascii_case("wal")) {
            Ok(true) => return Ok(()),
            // WAL needs shared memory, which network file systems do not have.
            Ok(false) => {
                return Err(StoreError::invalid(
                    "SQLite cannot keep its log beside the file: is it on a network drive?",
                ));
            }
            // Another process opens the new file, too; SQLite does not wait for this lock.
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < late =>
            {
                thread::park_timeout(PAUSE);
            }
            Err(error) => return Err(sqlite_fault(&error)),
        }
    }
}

/// Others may not read the file; `SQLite` gives its log the same permissions.
fn guard(path: &Path) -> Result<(), StoreError> {
    // `create_new`: of two processes that start at once exactly one makes the file.
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => keep_name(path).map_err(|error| refused(path, &error)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => tighten(path),
        Err(error) => Err(refused(path, &error)),
    }
}

/// A new file is not lost with the power because its folder was not written.
fn keep_name(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // A directory is opened and synced like a file: that writes the new name.
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn tighten(path: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| refused(path, &error);
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(StoreError::invalid(format!("{} is not a file", path.display())));
    }
    let mode = metadata.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    // The owner's own bits stay as they are; only what others may do is taken away.
    fs::set_permissions(path, Permissions::from_mode(mode & 0o700)).map_err(failed)
}

fn refused(path: &Path, error: &std::io::Error) -> StoreError {
    let reason = format!("{}: {error}", path.display());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem => {
            StoreError::Full { reason }
        }
        _ => StoreError::Invalid { reason },
    }
}
