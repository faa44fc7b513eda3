//! `ListingFiles`: the records in a directory of the user, one file each. Other processes may read and write
//! them at the same time: a file is replaced as a whole.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tokio_util::task::TaskTracker;

use crate::known_listings::cached::{CachedListing, CachedRecord};
use crate::known_listings::entry::entry_part;
use crate::known_listings::record::UnreadRecord;
use crate::known_listings::{EntryId, KnownListing, RecordId};
use crate::limits::{
    LARGEST_RECORD, RECORDS_PER_ENTRY, REMEMBERED_BYTES, REMEMBERED_LISTINGS, STALE_TEMPORARY,
};
use crate::own_files::{check_owner, is_absent, read_bounded};

#[derive(Debug)]
pub struct ListingFiles {
    directory: PathBuf,
    /// When the config last changed: what was heard before may be of other values of the same variables.
    config_changed: Option<SystemTime>,
    /// That nothing can be written was logged.
    // Relaxed where it is used: the swap alone decides who logs it.
    complained: AtomicBool,
    /// Records that are being written.
    writes: TaskTracker,
}

const RECORD: &str = "json";
const TEMPORARY: &str = "tmp";

impl ListingFiles {
    /// The directory is made when the first record is written.
    pub fn in_directory(directory: PathBuf) -> Self {
        Self {
            directory,
            config_changed: None,
            complained: AtomicBool::new(false),
            writes: TaskTracker::new(),
        }
    }

    /// What was heard before this moment is listed, and its servers are asked again.
    #[must_use]
    pub fn since(self, config_changed: Option<SystemTime>) -> Self {
        Self { config_changed, ..self }
    }

    pub(crate) fn config_changed(&self) -> Option<SystemTime> {
        self.config_changed
    }

    /// What is remembered there. A file that cannot be used is as good as none.
    pub(crate) fn read(&self, record: &RecordId) -> Option<KnownListing> {
        self.read_file(&self.path(record))
    }

    /// What is remembered of this entry for whichever clients, but not in the record `except`; the newest first.
    pub(crate) fn read_others(
        &self,
        entry: &EntryId,
        except: Option<&RecordId>,
    ) -> Vec<KnownListing> {
        let mut files = self.records().unwrap_or_default();
        files.retain(|file| {
            let stem = file.stem();
            entry.has_record(stem) && except.is_none_or(|except| except.file_stem() != stem)
        });
        files.sort_by_key(|file| Reverse(file.changed));
        let newest = files.iter().take(RECORDS_PER_ENTRY);
        newest.filter_map(|file| self.read_file(&file.path)).collect()
    }

    fn read_file(&self, path: &Path) -> Option<KnownListing> {
        let ignored = |why: &str| {
            let path = path.display();
            tracing::warn!("what is remembered of a server in {path} is ignored: {why}");
        };
        match self.check_directory().and_then(|()| read_bounded(path, LARGEST_RECORD)) {
            Ok(bytes) => match KnownListing::read(&bytes) {
                Ok(known) => Some(known),
                Err(UnreadRecord::Outdated) => None, // it is written anew when its server has run
                Err(UnreadRecord::Damaged) => {
                    ignored("it is damaged, or another version of Trunkline has written it");
                    None
                }
            },
            Err(error) if is_absent(&error) => None,
            Err(error) => {
                ignored(&error.to_string());
                None
            }
        }
    }

    /// Replaces a record, without anybody waiting for it.
    pub(crate) fn write_soon(self: &Arc<Self>, record: RecordId, listing: KnownListing) {
        let listings = Arc::clone(self);
        drop(self.writes.spawn_blocking(move || listings.write(&record, &listing)));
    }

    /// Waits for what is being written. A runtime that ends forgets work that no thread has begun: a command that
    /// has listed a server would not be remembered.
    pub(crate) async fn written(&self) {
        self.writes.close();
        self.writes.wait().await;
    }

    /// Replaces a record. Blocks: not for the threads that move messages.
    pub(crate) fn write(&self, record: &RecordId, listing: &KnownListing) {
        if let Err(error) = self.replace(record, listing)
            && !self.complained.swap(true, Ordering::Relaxed)
        {
            let directory = self.directory.display();
            tracing::debug!(%error, "what servers say is not remembered in {directory}");
        }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Every record there is, by the key of its server.
    pub fn cached(&self) -> io::Result<Vec<CachedListing>> {
        let mut cached: Vec<_> = self
            .records()?
            .into_iter()
            .map(|file| {
                let known = read_bounded(&file.path, LARGEST_RECORD).ok();
                let known = known.and_then(|bytes| KnownListing::read(&bytes).ok());
                let record = known.map(CachedRecord::of);
                CachedListing { path: file.path, bytes: file.bytes, record }
            })
            .collect();
        cached.sort_by_cached_key(|listing| {
            let key = listing.record.as_ref().map(|record| record.key.clone());
            (key, listing.path.clone())
        });
        Ok(cached)
    }

    /// Removes the records of this server, or all that there are. Returns how many went.
    pub fn clear(&self, key: Option<&str>) -> io::Result<usize> {
        let is_meant = |listing: &CachedListing| match (key, &listing.record) {
            (None, _) => true,
            (Some(key), Some(record)) => record.key == key,
            (Some(_), None) => false,
        };
        let mut removed = 0;
        for listing in self.cached()?.iter().filter(|listing| is_meant(listing)) {
            match fs::remove_file(&listing.path) {
                Ok(()) => removed += 1,
                Err(error) if is_absent(&error) => {} // another process was faster
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }

    /// The files of records. What a process has left half written long ago is removed.
    fn records(&self) -> io::Result<Vec<RecordFile>> {
        let files = match fs::read_dir(&self.directory) {
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            files => files?,
        };
        let mut records = Vec::new();
        for file in files.filter_map(Result::ok) {
            let path = file.path();
            // Another process may have removed it meanwhile.
            let Ok(data) = file.metadata() else { continue };
            let Ok(changed) = data.modified() else { continue };
            match path.extension().and_then(|ending| ending.to_str()) {
                Some(RECORD) => records.push(RecordFile { changed, bytes: data.len(), path }),
                Some(TEMPORARY) if is_older(changed, STALE_TEMPORARY) => {
                    drop(fs::remove_file(&path));
                }
                _ => {}
            }
        }
        Ok(records)
    }

    /// What others may have put there is told to nobody: clients show it to their models.
    fn check_directory(&self) -> io::Result<()> {
        check_owner(&fs::metadata(&self.directory)?)
    }

    fn path(&self, record: &RecordId) -> PathBuf {
        self.directory.join(record.file_stem()).with_extension(RECORD)
    }

    fn replace(&self, record: &RecordId, listing: &KnownListing) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        self.check_directory()?;
        let temporary = self.directory.join(temporary_name(record));
        let written = write_new(&temporary, &listing.bounded())
            .and_then(|()| fs::rename(&temporary, self.path(record)));
        if written.is_err() {
            drop(fs::remove_file(&temporary)); // it may not be there
        }
        written?;
        self.remove_oldest()
    }

    /// Keeps as many records and bytes as there may be, of an entry and of all: the oldest go.
    fn remove_oldest(&self) -> io::Result<()> {
        let mut records = self.records()?;
        records.sort_by_key(|file| Reverse(file.changed));
        let (mut kept, mut bytes): (usize, u64) = (0, 0);
        let mut of_entry: HashMap<&str, usize> = HashMap::new();
        for file in &records {
            let siblings = of_entry.entry(entry_part(file.stem())).or_default();
            let is_kept = *siblings < RECORDS_PER_ENTRY
                && kept < REMEMBERED_LISTINGS
                && bytes.saturating_add(file.bytes) <= REMEMBERED_BYTES;
            if is_kept {
                *siblings += 1;
                kept += 1;
                bytes = bytes.saturating_add(file.bytes);
            } else {
                drop(fs::remove_file(&file.path)); // another process may have removed it
            }
        }
        Ok(())
    }
}

struct RecordFile {
    changed: SystemTime,
    bytes: u64,
    path: PathBuf,
}

impl RecordFile {
    fn stem(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }
}

/// Unlike any other of this process or another one.
fn temporary_name(record: &RecordId) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: the numbers have to differ, not to be ordered.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{number}.{TEMPORARY}", record.file_stem(), std::process::id())
}

/// Not flushed to the disk: a record that a power failure damages is found to be damaged.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file?.write_all(bytes)
}

fn is_older(changed: SystemTime, than: Duration) -> bool {
    changed.elapsed().is_ok_and(|age| age > than)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use trunkline_catalog::config::{Secrets, Transport};

    use super::*;
    use crate::known_listings::Content;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("trunkline-known-{}-{name}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn entry(number: usize) -> RecordId {
        entry_id(number).for_clients(None)
    }

    fn entry_id(number: usize) -> EntryId {
        let (command, args) = ("x".to_owned(), vec![number.to_string()]);
        let transport = Transport::Stdio { command, args, env: vec![], cwd: None };
        EntryId::of("s", &transport, &Secrets::new())
    }

    fn listing(words: &str) -> KnownListing {
        let content = Content { instructions: Some(words.to_owned()), ..Content::default() };
        KnownListing::heard("s", content, None, 1)
    }

    #[test]
    fn a_record_is_replaced_and_its_owners_only() {
        let scratch = Scratch::new("replaced");
        let known = ListingFiles::in_directory(scratch.0.join("a/b"));
        assert_eq!(known.read(&entry(1)), None);
        for words in ["one", "two"] {
            known.write(&entry(1), &listing(words));
            assert_eq!(known.read(&entry(1)), Some(listing(words)));
        }
        assert_eq!(known.read(&entry(2)), None);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&known.path(&entry(1))), 0o600);
        assert_eq!(mode(&known.directory), 0o700);
        fs::write(known.path(&entry(1)), vec![b'x'; 5 << 20]).unwrap();
        assert_eq!(known.read(&entry(1)), None);
    }

    #[test]
    fn what_others_may_have_written_is_ignored() {
        let scratch = Scratch::new("others");
        let known = ListingFiles::in_directory(scratch.0.clone());
        known.write(&entry(1), &listing("ours"));
        let allow = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        for (path, usual) in [(known.path(&entry(1)), 0o600), (scratch.0.clone(), 0o700)] {
            allow(&path, 0o777);
            assert_eq!(known.read(&entry(1)), None, "{path:?}");
            allow(&path, usual);
            assert_eq!(known.read(&entry(1)), Some(listing("ours")));
        }
    }

    #[test]
    fn a_pipe_in_place_of_a_record_holds_up_nobody() {
        let scratch = Scratch::new("pipe");
        let known = ListingFiles::in_directory(scratch.0.clone());
        DirBuilder::new().mode(0o700).create(&scratch.0).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, known.path(&entry(1)), fifo, mode, 0).unwrap();
        assert_eq!(known.read(&entry(1)), None);
    }

    #[test]
    fn the_oldest_records_go_when_there_are_too_many() {
        let scratch = Scratch::new("oldest");
        let known = ListingFiles::in_directory(scratch.0.clone());
        for number in 0..REMEMBERED_LISTINGS + 3 {
            known.write(&entry(number), &listing("x"));
            let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64);
            File::options()
                .write(true)
                .open(known.path(&entry(number)))
                .unwrap()
                .set_modified(long_ago)
                .unwrap();
        }
        known.write(&entry(REMEMBERED_LISTINGS + 3), &listing("x"));
        assert_eq!(fs::read_dir(&known.directory).unwrap().count(), REMEMBERED_LISTINGS);
        assert_eq!(known.read(&entry(0)), None);
        assert!(known.read(&entry(REMEMBERED_LISTINGS + 3)).is_some());
    }

    #[test]
    fn each_kind_of_client_has_a_record_and_the_oldest_of_an_entry_goes() {
        let scratch = Scratch::new("kinds");
        let known = ListingFiles::in_directory(scratch.0.clone());
        let kind = |number: usize| format!(r#"{{"x":{number}}}"#).into_bytes();
        let record = |number: usize| match number {
            0 => entry(1),
            _ => entry_id(1).for_clients(Some(&kind(number))),
        };
        known.write(&entry(2), &listing("another entry"));
        for number in 0..=RECORDS_PER_ENTRY {
            known.write(&record(number), &listing(&number.to_string()));
            let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64 + 1);
            let file = File::options().write(true).open(known.path(&record(number))).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        known.write(&entry(3), &listing("one more"));
        assert_eq!(known.read(&record(0)), None, "the oldest of its entry");
        let others = known.read_others(&entry_id(1), Some(&record(2)));
        let expected = (1..=RECORDS_PER_ENTRY).rev().filter(|number| *number != 2);
        let expected: Vec<_> = expected.map(|number| listing(&number.to_string())).collect();
        assert_eq!(others, expected, "the newest first, and of this entry only");
        assert_eq!(known.read(&record(2)), Some(listing("2")));
        assert!(known.read(&entry(2)).is_some() && known.read(&entry(3)).is_some());
    }

    #[test]
    fn the_oldest_records_go_when_they_are_too_long_together() {
        let scratch = Scratch::new("long");
        let known = ListingFiles::in_directory(scratch.0.clone());
        let page = format!(r#"{{"tools":[{{"name":"{}"}}]}}"#, "x".repeat(3 << 20));
        let pages = Some([Some(page.into_bytes()), None, None, None]);
        let content = Content { pages, ..Content::default() };
        let large = KnownListing::heard("s", content, None, 1);
        let fit = usize::try_from(REMEMBERED_BYTES / (3 << 20)).unwrap();
        for number in 0..fit + 2 {
            known.write(&entry(number), &large);
        }
        let bytes: u64 = known.records().unwrap().iter().map(|file| file.bytes).sum();
        assert!(bytes <= REMEMBERED_BYTES, "{bytes}");
        assert!(known.read(&entry(fit + 1)).is_some(), "the newest stays");
    }

    #[test]
    fn lists_that_are_too_long_are_not_kept_and_the_rest_is() {
        let scratch = Scratch::new("too-long");
        let known = ListingFiles::in_directory(scratch.0.clone());
        let page = format!(r#"{{"tools":[{{"name":"{}"}}]}}"#, "x".repeat(5 << 20));
        let mut large = listing("words");
        large.content.pages = Some([Some(page.into_bytes()), None, None, None]);
        known.write(&entry(1), &large);
        assert_eq!(known.read(&entry(1)), Some(listing("words")));
    }

    #[test]
    fn records_are_shown_and_cleared_by_their_server() {
        let scratch = Scratch::new("shown");
        let known = ListingFiles::in_directory(scratch.0.clone());
        assert!(known.cached().unwrap().is_empty() && known.clear(None).unwrap() == 0);
        let tools = br#"{"tools":[{"name":"a"},{"name":"b"}]}"#.to_vec();
        for (number, key) in [(1, "two"), (2, "one"), (3, "one")] {
            let pages = Some([Some(tools.clone()), None, None, None]);
            let content = Content { pages, ..Content::default() };
            known.write(&entry(number), &KnownListing::heard(key, content, None, 5));
        }
        fs::write(scratch.0.join("damaged.json"), "{").unwrap();
        let cached = known.cached().unwrap();
        let keys: Vec<_> = cached.iter().map(|it| it.record.as_ref().map(|it| &*it.key)).collect();
        assert_eq!(keys, [None, Some("one"), Some("one"), Some("two")]);
        let counts = cached[1].record.as_ref().unwrap().counts;
        assert_eq!(counts, Some([2, 0, 0, 0]));
        assert_eq!(known.clear(Some("none")).unwrap(), 0);
        assert_eq!(known.clear(Some("one")).unwrap(), 2);
        assert_eq!(known.clear(None).unwrap(), 2, "the damaged one goes with all");
        assert!(known.cached().unwrap().is_empty());
    }

    /// Two processes may write the same record: whoever reads it sees one of the two.
    #[test]
    fn nobody_ever_reads_half_a_record() {
        let scratch = Scratch::new("half");
        let known = Arc::new(ListingFiles::in_directory(scratch.0.clone()));
        known.write(&entry(1), &listing("start"));
        let writers: Vec<_> = ["a", "b"]
            .map(|letter| {
                let known = Arc::clone(&known);
                let words = letter.repeat(10_000);
                std::thread::spawn(move || {
                    (0..200).for_each(|_| known.write(&entry(1), &listing(&words)));
                })
            })
            .into();
        while writers.iter().any(|writer| !writer.is_finished()) {
            assert!(known.read(&entry(1)).is_some());
        }
        assert_eq!(fs::read_dir(&known.directory).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn where_nothing_can_be_written_nothing_happens() {
        let scratch = Scratch::new("unwritable");
        fs::write(&scratch.0, "a file").unwrap();
        let known = ListingFiles::in_directory(scratch.0.join("below"));
        known.write(&entry(1), &listing("x"));
        assert_eq!(known.read(&entry(1)), None);
        fs::remove_file(&scratch.0).unwrap();
    }
}
