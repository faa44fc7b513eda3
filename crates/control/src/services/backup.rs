//! Backups: all that a store holds in one file, and a store made of such a file.
//!
//! A backup is text, one JSON value a line: what it is, each table with its rows, and at the end how many rows there are,
//! the SHA-256 of all before, and its HMAC under the store's key: where backups are kept others may write, and a row is
//! enough to run a command. Secrets in it are sealed as in the store; the key is not in it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parking_lot::Mutex;
use ring::hmac;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use trunkline_store::{
    AuditVerdict, Cell, Dumped, DumpedTable, Store, StoreError, StoreOptions, StoreUrl,
};

use super::boot::{BootError, options};
use super::store_lock::StoreLock;
use crate::clock;
use crate::secrets::{KeySource, Safe};

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupInfo {
    /// The version of the schema it was read from.
    pub schema: i64,
    /// Milliseconds since 1970.
    pub made_at: i64,
    /// Names the key that opens its secrets.
    pub key: String,
    pub rows: u64,
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{path}: {error}")]
    File { path: PathBuf, error: io::Error },
    #[error("{path} is not a whole backup: {why}")]
    Damaged { path: PathBuf, why: String },
    #[error("{path}: there is no store: nothing was written")]
    NoStore { path: PathBuf },
    #[error(
        "the key is not that of this backup (it has {found}, the backup was sealed with {wanted}): use the \
         key of the installation that was backed up; nothing was written"
    )]
    OtherKey { found: String, wanted: String },
    #[error(
        "{path} was changed by somebody who does not have its key: it says it is whole, but the key did not write it; \
         nothing was written"
    )]
    Forged { path: PathBuf },
    #[error("there is {0}; a backup is only restored where there is none")]
    Occupied(String),
    #[error("the store that was made of the backup is not sound, and must not be used: {0}")]
    Unsound(String),
    #[error(transparent)]
    Boot(#[from] BootError),
    #[error("the store: {0}")]
    Store(#[from] StoreError),
}

const FORMAT: i64 = 1;

/// Writes all that the store holds to a new file, for its owner only, and reads it again. A `serve` may work with the
/// store meanwhile: what it changes is in the backup or not, as a whole.
pub async fn back_up(
    url: &StoreUrl,
    key: &KeySource,
    path: &Path,
) -> Result<BackupInfo, BackupError> {
    if let Some(file) = url.file().filter(|file| !file.exists()) {
        return Err(BackupError::NoStore { path: file.to_owned() });
    }
    // While the key is being changed some secrets are sealed with the one and some with the other.
    let _lock = StoreLock::shared(url).map_err(BootError::from)?;
    let found = key.existing().map_err(BootError::from)?;
    let (name, seal) = (key_name(&found.key), BackupKey::of(&found.key));
    let store = Store::open_as_it_is(url, options(&found)).await?;
    let failed = |error| BackupError::File { path: path.to_owned(), error };
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut guard = Unfinished { path: Some(path.to_owned()) };
    let file = match file {
        Ok(file) => file,
        Err(error) => {
            guard.path = None;
            store.close().await;
            return Err(failed(error));
        }
    };
    let out = Arc::new(Mutex::new(BackupLines {
        out: BufWriter::new(file),
        hash: Sha256::new(),
        rows: 0,
    }));
    let taking = Arc::clone(&out);
    let take = move |dumped| taking.lock().dumped(dumped).map_err(|error| error.to_string());
    // Its schema is known when it is read: it is said at the end, as is the number of rows.
    let began = json!({
        "trunkline_backup": FORMAT,
        "made_at": clock::now(),
        "program": env!("CARGO_PKG_VERSION"),
        "key": name,
    });
    out.lock().line(&began).map_err(failed)?;
    let schema = store.dump(take).await;
    store.close().await;
    out.lock().end(schema?, &seal).map_err(failed)?;
    let info = check_backup(path)?;
    guard.path = None;
    Ok(info)
}

/// A file that is not a backup yet: it goes if it never becomes one.
struct Unfinished {
    path: Option<PathBuf>,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // What cannot be removed is refused by `check_backup`.
            drop(fs::remove_file(path));
        }
    }
}

struct BackupLines {
    out: BufWriter<File>,
    hash: Sha256,
    rows: u64,
}

impl BackupLines {
    fn line(&mut self, value: &Value) -> io::Result<()> {
        let line = format!("{value}\n");
        self.hash.update(&line);
        self.out.write_all(line.as_bytes())
    }

    fn dumped(&mut self, dumped: Dumped) -> io::Result<()> {
        match dumped {
            Dumped::Table(DumpedTable { name, columns }) => {
                self.line(&json!({"table": name, "columns": columns}))
            }
            Dumped::Row(cells) => {
                self.rows += 1;
                self.line(&Value::Array(cells.into_iter().map(shown).collect()))
            }
        }
    }

    fn end(&mut self, schema: i64, key: &BackupKey) -> io::Result<()> {
        let rows = self.rows;
        self.line(&json!({"schema": schema, "rows": rows}))?;
        let hash = self.hash.clone().finalize();
        let shown = json!({"sha256": hex::encode(hash), "hmac": hex::encode(key.sign(&hash))});
        writeln!(self.out, "{shown}")?;
        self.out.flush()?;
        self.out.get_ref().sync_all()
    }
}

fn shown(cell: Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(value) => value.into(),
        Cell::Text(text) => text.into(),
        Cell::Bytes(bytes) => json!({"base64": BASE64.encode(bytes)}),
    }
}

fn cell(value: Value) -> Option<Cell> {
    match value {
        Value::Null => Some(Cell::Null),
        Value::Number(number) => number.as_i64().map(Cell::Int),
        Value::String(text) => Some(Cell::Text(text)),
        Value::Object(members) => {
            BASE64.decode(members.get("base64")?.as_str()?).ok().map(Cell::Bytes)
        }
        _ => None,
    }
}

/// Which key it is, without saying anything about it.
fn key_name(key: &trunkline_store::seal::SealKey) -> String {
    let [a, b, c, d, ..] = key.derive(b"trunkline backup key name");
    hex::encode([a, b, c, d])
}

/// Says of a backup that a holder of the store's key has written it.
struct BackupKey(hmac::Key);

impl BackupKey {
    fn of(key: &trunkline_store::seal::SealKey) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &key.derive(b"trunkline backup authenticity")))
    }

    fn sign(&self, hash: &[u8]) -> hmac::Tag {
        hmac::sign(&self.0, hash)
    }

    fn has_signed(&self, end: &BackupEnd) -> bool {
        let signed = hex::decode(&end.hmac).unwrap_or_default();
        hmac::verify(&self.0, &end.hash, &signed).is_ok()
    }
}

/// The last line of a backup.
struct BackupEnd {
    hash: Vec<u8>,
    /// As it stands there.
    hmac: String,
}

/// Reads a backup from its first line to its last: is it whole? Who wrote it is known with the key only.
pub fn check_backup(path: &Path) -> Result<BackupInfo, BackupError> {
    read_whole(path).map(|(info, _)| info)
}

fn read_whole(path: &Path) -> Result<(BackupInfo, BackupEnd), BackupError> {
    let failed = |error| BackupError::File { path: path.to_owned(), error };
    let damaged = |why: &str| BackupError::Damaged { path: path.to_owned(), why: why.to_owned() };
    let mut lines = BufReader::new(File::open(path).map_err(failed)?);
    let (mut hash, mut line, mut bytes, mut rows) = (Sha256::new(), String::new(), 0, 0);
    let (mut began, mut before) = (None::<Value>, Value::Null);
    let end = loop {
        line.clear();
        let length = lines.read_line(&mut line).map_err(failed)?;
        if length == 0 {
            return Err(damaged("its end is missing"));
        }
        bytes += length as u64;
        let value: Value =
            serde_json::from_str(&line).map_err(|_| damaged("a line is not JSON"))?;
        if began.is_none() {
            if value.get("trunkline_backup").is_none_or(|version| *version != FORMAT) {
                return Err(damaged("its first line is not that of a backup this version knows"));
            }
            began = Some(value.clone());
        }
        if let Some(said) = value.get("sha256").and_then(Value::as_str) {
            let found = hash.clone().finalize();
            if said != hex::encode(found) {
                return Err(damaged("it was changed since it was written"));
            }
            let hmac = value.get("hmac").and_then(Value::as_str).unwrap_or_default().to_owned();
            break BackupEnd { hash: found.to_vec(), hmac };
        }
        rows += u64::from(value.is_array());
        hash.update(&line);
        before = value;
    };
    if !lines.fill_buf().map_err(failed)?.is_empty() {
        return Err(damaged("there is more behind its end"));
    }
    let began = began.unwrap_or_default();
    let schema = before.get("schema").and_then(Value::as_i64);
    let counted = before.get("rows").and_then(Value::as_u64);
    let (Some(schema), Some(counted)) = (schema, counted) else {
        return Err(damaged("it does not say what it holds"));
    };
    if counted != rows {
        return Err(damaged("rows are missing"));
    }
    let made_at = began.get("made_at").and_then(Value::as_i64).unwrap_or_default();
    let key = began.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok((BackupInfo { schema, made_at, key, rows, bytes }, end))
}

/// Makes a store of the backup, brings it to the schema of this version, and reads it: is the audit log whole, and does
/// the key open it? How many records the log has.
pub async fn restore_backup(
    url: &StoreUrl,
    key: &KeySource,
    path: &Path,
) -> Result<(BackupInfo, i64), BackupError> {
    let (info, end) = read_whole(path)?;
    let found = key.existing().map_err(BootError::from)?;
    let name = key_name(&found.key);
    if name != info.key {
        return Err(BackupError::OtherKey { found: name, wanted: info.key });
    }
    if !BackupKey::of(&found.key).has_signed(&end) {
        return Err(BackupError::Forged { path: path.to_owned() });
    }
    let _alone = StoreLock::alone(url).map_err(BootError::from)?;
    if let Some(file) = url.file().filter(|file| file.exists()) {
        return Err(BackupError::Occupied(format!("a file at {}", file.display())));
    }
    let failed = |error| BackupError::File { path: path.to_owned(), error };
    let lines = BufReader::new(File::open(path).map_err(failed)?);
    let mut rest = RestoredLines { lines, hash: Sha256::new(), wanted: end.hash };
    let give = move || rest.next();
    let written = Store::restore(url, info.schema, give).await;
    let sound = match written {
        Ok(rows) if rows == info.rows => sound(url, options(&found), &found.keyring()).await,
        Ok(rows) => Err(BackupError::Unsound(format!("{rows} of {} rows were written", info.rows))),
        Err(StoreError::Conflict { what }) => Err(BackupError::Occupied(what)),
        Err(error) => Err(error.into()),
    };
    if sound.is_err()
        && let Some(file) = url.file()
    {
        // It was not there before; what remains would look like a store.
        drop(fs::remove_file(file));
    }
    Ok((info, sound?))
}

async fn sound(
    url: &StoreUrl,
    options: StoreOptions,
    keyring: &trunkline_store::seal::Keyring,
) -> Result<i64, BackupError> {
    let store = Store::open(url, options).await?;
    let unsound = |why: String| BackupError::Unsound(why);
    let safe = Safe::unlock(&store, keyring.clone()).await;
    let verdict = store.verify_audit().await;
    store.close().await;
    if safe.map_err(BootError::from)?.is_locked() {
        return Err(unsound("the key does not open it".to_owned()));
    }
    match verdict? {
        AuditVerdict::Verified { records, .. } => Ok(records),
        AuditVerdict::Broken { seq, why } => {
            Err(unsound(format!("the audit log: record {seq} is the first bad one: {why}")))
        }
    }
}

/// The backup as it is read for the second time.
struct RestoredLines<R> {
    lines: R,
    hash: Sha256,
    /// What it was when it was checked: the file may have been exchanged since.
    wanted: Vec<u8>,
}

impl<R: BufRead> RestoredLines<R> {
    /// The next table or row.
    fn next(&mut self) -> Result<Option<Dumped>, String> {
        let mut line = String::new();
        loop {
            line.clear();
            self.lines.read_line(&mut line).map_err(|error| error.to_string())?;
            self.hash.update(&line);
            let value: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            let unreadable = || "a row of the backup cannot be read".to_owned();
            match value {
                Value::Array(values) => {
                    let cells: Option<Vec<Cell>> = values.into_iter().map(cell).collect();
                    return cells.map(|cells| Some(Dumped::Row(cells))).ok_or_else(unreadable);
                }
                Value::Object(members) if members.contains_key("table") => {
                    return table(&members).map(Some).ok_or_else(unreadable);
                }
                Value::Object(members) if members.contains_key("schema") => {
                    // Before anything is committed.
                    return match self.hash.clone().finalize().to_vec() == self.wanted {
                        true => Ok(None),
                        false => Err("the backup was changed while it was restored".to_owned()),
                    };
                }
                // Its first line.
                _ => {}
            }
        }
    }
}

fn table(members: &Map<String, Value>) -> Option<Dumped> {
    let name = members.get("table")?.as_str()?.to_owned();
    let columns = members.get("columns")?.as_array()?.iter();
    let columns = columns.map(|column| column.as_str().map(str::to_owned));
    Some(Dumped::Table(DumpedTable { name, columns: columns.collect::<Option<_>>()? }))
}
