//! `PinFiles`: the pins in a directory of the user, one file for each entry. Other processes may read and write
//! them at the same time: a file is replaced as a whole, under a lock, by who has read what it replaces.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ring::digest::{SHA256, digest};
use tokio::task::spawn_blocking;
use trunkline_catalog::pins::{Choice, Decided, Decision, Definition, PinRecord, UnknownChoice};

use crate::limits::{LARGEST_PIN_RECORD, PIN_RECORDS};
use crate::login::Later;
use crate::own_files::{check_owner, is_absent, read_bounded};
use crate::pins::home::{LoadedPins, PinChange, PinHome, PinHomeError, PinRevision, PinnedEntry};

#[derive(Clone, Debug)]
pub struct PinFiles {
    directory: PathBuf,
}

/// What is pinned of one entry, for people.
#[derive(Clone, Debug)]
pub struct KeptPins {
    pub path: PathBuf,
    /// `None`: it is damaged, or cannot be read.
    pub record: Option<PinRecord>,
}

/// Why nothing was decided.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error(transparent)]
    Unknown(#[from] UnknownChoice),
    #[error("{}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
}

const RECORD: &str = "json";
const DAMAGED: &str = "damaged";
const LOCK: &str = "lock";
const REVIEWED: &str = "reviewed";
const SHOWN: &str = "shown";

impl PinFiles {
    /// The directory is made when the first record is written.
    pub fn in_directory(directory: PathBuf) -> Self {
        Self { directory }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A file that changes when somebody has decided something: who lists by pins watches it.
    pub fn reviewed(&self) -> PathBuf {
        self.directory.join(REVIEWED)
    }

    /// Everything that is pinned, by the key of its server.
    pub fn all(&self) -> io::Result<Vec<KeptPins>> {
        let mut all: Vec<_> = self
            .paths()?
            .into_iter()
            .map(|(path, _)| {
                let bytes = self
                    .check_directory()
                    .and_then(|()| read_bounded(&path, LARGEST_PIN_RECORD))
                    .ok();
                let record = bytes.and_then(|bytes| PinRecord::read(&bytes).ok());
                KeptPins { path, record }
            })
            .collect();
        all.sort_by_cached_key(|kept| {
            (kept.record.as_ref().map(|record| record.server.clone()), kept.path.clone())
        });
        Ok(all)
    }

    /// What is pinned of this entry; `None`: it was never seen. An error says why it cannot be read.
    pub fn record(&self, entry: &PinnedEntry) -> Result<Option<PinRecord>, String> {
        match self.read(entry) {
            Ok(LoadedPins::Nothing) => Ok(None),
            Ok(LoadedPins::Record(record, _)) => Ok(Some(record)),
            Ok(LoadedPins::Damaged(_, why)) => Err(why),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Notes what somebody was shown of this entry, by its hashes. The server may list something else before it is
    /// approved: what is approved without its hash is what was shown last.
    pub fn note_shown(&self, entry: &PinnedEntry, hashes: &[&str]) -> io::Result<()> {
        let _alone = self.lock()?;
        self.write_whole(&self.path(entry).with_extension(SHOWN), hashes.join("\n").as_bytes())
    }

    /// Lines of hashes; none where nothing was shown.
    fn shown(&self, entry: &PinnedEntry) -> String {
        let bytes = read_bounded(&self.path(entry).with_extension(SHOWN), LARGEST_PIN_RECORD);
        bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Decides on what waits of this entry. Whoever lists by it is told.
    pub fn decide(
        &self,
        entry: &PinnedEntry,
        decision: Decision,
        choices: &[Choice],
    ) -> Result<Vec<Decided>, ReviewError> {
        let path = &self.path(entry);
        let failed = |error| ReviewError::Io { path: path.clone(), error };
        let _alone = self.lock().map_err(failed)?;
        let bytes = read_bounded(path, LARGEST_PIN_RECORD).map_err(failed)?;
        let mut record = PinRecord::read(&bytes).map_err(|it| failed(io::Error::other(it)))?;
        if decision == Decision::Approve {
            let shown = self.shown(entry);
            let is_shown = |it: &Definition| shown.lines().any(|hash| hash == it.hash);
            record.not_shown(choices, is_shown).map_or(Ok(()), Err)?;
        }
        let decided = record.decide(decision, choices, now())?;
        if !decided.is_empty() {
            self.replace(path, &record).map_err(failed)?;
            // Last: who is woken by it reads what was decided.
            let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let moment = format!("{}\n", moment.as_nanos());
            self.write_whole(&self.reviewed(), moment.as_bytes()).map_err(failed)?;
        }
        Ok(decided)
    }

    fn read(&self, entry: &PinnedEntry) -> Result<LoadedPins, PinHomeError> {
        let path = self.path(entry);
        let read = fs::metadata(&self.directory)
            .and_then(|data| check_owner(&data))
            .and_then(|()| read_bounded(&path, LARGEST_PIN_RECORD));
        match read {
            Ok(bytes) => {
                let revision = revision(&bytes);
                Ok(match PinRecord::read(&bytes) {
                    Ok(record) => LoadedPins::Record(record, revision),
                    Err(why) => LoadedPins::Damaged(revision, format!("{}: {why}", path.display())),
                })
            }
            Err(error) if is_absent(&error) => Ok(LoadedPins::Nothing),
            Err(error) => Err(PinHomeError::Failed(format!("{}: {error}", path.display()))),
        }
    }

    fn put(&self, entry: &PinnedEntry, change: &PinChange) -> Result<(), PinHomeError> {
        let path = self.path(entry);
        let failed = |error| PinHomeError::Failed(format!("{}: {error}", path.display()));
        let _alone = self.lock().map_err(failed)?;
        let there = self.read(entry)?;
        if there.revision() != change.expected.as_ref() {
            return Err(PinHomeError::Stale);
        }
        if let LoadedPins::Damaged(..) = there {
            // Kept aside for whoever wants to know what was in it.
            fs::rename(&path, path.with_extension(DAMAGED)).map_err(failed)?;
        }
        self.replace(&path, &change.record).map_err(failed)?;
        if change.expected.is_none() {
            self.remove_oldest().map_err(failed)?;
        }
        Ok(())
    }

    fn replace(&self, path: &Path, record: &PinRecord) -> io::Result<()> {
        let whole = record.write();
        if whole.len() as u64 <= LARGEST_PIN_RECORD {
            return self.write_whole(path, &whole);
        }
        let server = &record.server;
        tracing::warn!(
            %server,
            "its definitions are {} bytes long: only their hashes are pinned, and what is held is not listed",
            whole.len()
        );
        self.write_whole(path, &record.clone().with_hashes_only().write())
    }

    /// Under the lock: nobody else uses the temporary name.
    fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = path.with_extension("tmp");
        let options = &mut OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let written = options.open(&temporary).and_then(|mut file| {
            file.write_all(bytes)?;
            // Pins that a power failure takes are pins that were lost: everything would wait for a person.
            file.sync_data()
        });
        let written = written.and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            drop(fs::remove_file(&temporary)); // it may not be there
        }
        written
    }

    /// Held until it is dropped. Blocks: not for the threads that move messages.
    fn lock(&self) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        self.check_directory()?;
        let options = &mut OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(self.directory.join(LOCK))?;
        file.lock()?;
        Ok(file)
    }

    /// Entries that were edited leave their records behind: the ones that were not written for longest go, and
    /// that is said.
    fn remove_oldest(&self) -> io::Result<()> {
        let mut all = self.paths()?;
        if all.len() <= PIN_RECORDS {
            return Ok(());
        }
        all.sort_by_key(|(_, changed)| std::cmp::Reverse(*changed));
        for (path, _) in all.into_iter().skip(PIN_RECORDS) {
            tracing::warn!(
                "{} is removed: more than {PIN_RECORDS} servers are pinned; if its server is used again, it counts as \
                 one that was never seen",
                path.display()
            );
            drop(fs::remove_file(path.with_extension(SHOWN))); // nobody may have looked at it
            drop(fs::remove_file(path)); // another process may have removed it
        }
        Ok(())
    }

    /// The files of records, and when each was written.
    fn paths(&self) -> io::Result<Vec<(PathBuf, SystemTime)>> {
        let files = match fs::read_dir(&self.directory) {
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            files => files?,
        };
        let records = files.filter_map(Result::ok).filter_map(|file| {
            let path = file.path();
            let is_record = path.extension().is_some_and(|ending| ending == RECORD);
            // Another process may have removed it meanwhile.
            let changed = file.metadata().and_then(|data| data.modified()).ok()?;
            is_record.then_some((path, changed))
        });
        Ok(records.collect())
    }

    fn path(&self, entry: &PinnedEntry) -> PathBuf {
        self.directory.join(&entry.id).with_extension(RECORD)
    }

    /// What others may have put there pins nothing.
    fn check_directory(&self) -> io::Result<()> {
        check_owner(&fs::metadata(&self.directory)?)
    }
}

impl PinHome for PinFiles {
    fn load(&self, entry: PinnedEntry) -> Later<'_, Result<LoadedPins, PinHomeError>> {
        let files = self.clone();
        Box::pin(async move {
            let read = spawn_blocking(move || files.read(&entry)).await;
            read.unwrap_or_else(|error| Err(PinHomeError::Failed(error.to_string())))
        })
    }

    fn save(&self, entry: PinnedEntry, change: PinChange) -> Later<'_, Result<(), PinHomeError>> {
        let files = self.clone();
        Box::pin(async move {
            let put = spawn_blocking(move || files.put(&entry, &change)).await;
            put.unwrap_or_else(|error| Err(PinHomeError::Failed(error.to_string())))
        })
    }

    fn load_now(&self, entry: &PinnedEntry) -> Option<Result<LoadedPins, PinHomeError>> {
        Some(self.read(entry))
    }

    fn save_soon(&self, entry: &PinnedEntry, change: PinChange) {
        let (files, entry) = (self.clone(), entry.clone());
        // Whoever was faster has kept the same; what cannot be kept is told when the server runs.
        drop(spawn_blocking(move || drop(files.put(&entry, &change))));
    }

    fn remedy(&self, server: &str) -> String {
        format!("see `trunkline review`, then `trunkline review approve {server}`")
    }
}

fn revision(bytes: &[u8]) -> PinRevision {
    let hash = digest(&SHA256, bytes);
    PinRevision(hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests;
