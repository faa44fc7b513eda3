//! `Spool`: records on disk that the store has not taken yet. They survive the process, and are read in their
//! order.
//!
//! Each record has a number, counted from the first one that this data directory ever wrote. The store keeps a mark
//! beside the records (how many of them it has): what stands in the spool before the mark is not written again, however
//! the process before ended.
//!
//! Each line proves that a holder of the store's key has written it (`SpoolKey`). What does not is damaged: it is counted,
//! and no record.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use trunkline_store::NewAudit;

use super::spool_file::{self, LONGEST, read_line};
use super::spool_key::{SEAL, SpoolKey};
use super::spooled::{line_of, shortened};

/// A file of the spool is closed when it has so many bytes: a smaller one is removed sooner.
const SEGMENT: u64 = 4 << 20;
/// Programs that share a data directory: each has a spool of its own.
const SHARED: usize = 16;

#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    /// Held for as long as the spool is used.
    _lock: File,
    /// Names this writer in the store.
    id: String,
    key: SpoolKey,
    limit: u64,
    /// Lines that were found when it was opened, and are not ours.
    damaged: u64,
    segments: VecDeque<SpoolSegment>,
    /// The last segment, if it takes more.
    open: Option<File>,
    /// The number of the first record that is not in the store, and where it stands in the first segment.
    read: u64,
    offset: u64,
    /// The number of the next record.
    next: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SpoolSegment {
    first: u64,
    records: u64,
    bytes: u64,
}

/// The oldest records of a spool.
#[derive(Debug, Default)]
pub(super) struct SpoolBatch {
    pub(super) records: Vec<NewAudit>,
    /// How many lines they were: what could not be read is not among the records.
    pub(super) lines: u64,
    bytes: u64,
}

impl SpoolBatch {
    /// Records that were written just now, and are known.
    pub(super) fn at(lines: u64, bytes: u64) -> Self {
        Self { records: Vec::new(), lines, bytes }
    }
}

impl Spool {
    /// The directory of the first who opens one.
    pub const DIR: &str = "audit-spool";
    const LOCK: &str = "lock";
    const ID: &str = "id";
    /// The next one, until it is on the disk.
    const NEXT_ID: &str = "id.next";
    /// What is not ours is called so from then on: somebody may want to look at it.
    const DAMAGED: &str = "damaged-";

    /// A spool makes files of this name.
    pub fn is_name(name: &str) -> bool {
        let name = name.strip_prefix(Self::DAMAGED).unwrap_or(name);
        [Self::LOCK, Self::ID, Self::NEXT_ID].contains(&name)
            || number_of(Path::new(name)).is_some()
    }

    /// The spool in this directory, with what is in it; of those who share the directory each gets another one. `limit`:
    /// the bytes it may have.
    pub fn open(parent: &Path, limit: u64, key: SpoolKey) -> io::Result<Self> {
        for number in 1..=SHARED {
            let name = match number {
                1 => Self::DIR.to_owned(),
                _ => format!("{}-{number}", Self::DIR),
            };
            let dir = parent.join(name);
            DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
            let lock = spool_file::open(&mut options(), &dir.join(Self::LOCK))?;
            match lock.try_lock() {
                Ok(()) => return Self::take(dir, lock, limit, key),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::ResourceBusy, "too many programs use the data directory"))
    }

    fn take(dir: PathBuf, lock: File, limit: u64, key: SpoolKey) -> io::Result<Self> {
        let id = identity(&dir)?;
        let (mut segments, mut damaged) = (Vec::new(), 0);
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let path = entry.path();
            let Some(first) = number_of(&path) else { continue };
            if !entry.file_type()?.is_file() {
                damaged += 1;
                set_aside(&path);
                continue;
            }
            let (segment, is_ours) = measure(&path, first, (&key, &id))?;
            if segment.records == 0 {
                fs::remove_file(&path)?;
            } else if is_ours {
                segments.push(segment);
            } else {
                // Its numbers mean nothing, either: others may be written under them.
                damaged += segment.records;
                set_aside(&path);
            }
        }
        damaged += without_overlaps(&mut segments);
        let read = segments.first().map_or(0, |segment| segment.first);
        let next = segments.last().map_or(0, |segment| segment.first + segment.records);
        let (segments, open, offset) = (segments.into(), None, 0);
        Ok(Self { dir, _lock: lock, id, key, limit, damaged, segments, open, read, offset, next })
    }

    /// How many lines were found that are not ours; to be told of once.
    pub(super) fn take_damaged(&mut self) -> u64 {
        std::mem::take(&mut self.damaged)
    }

    /// Names this writer in the store.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The store has all records before this one.
    pub(super) fn begin_at(&mut self, mark: u64) -> io::Result<()> {
        while self.read < mark && self.records() > 0 {
            let batch = self.peek(mark - self.read)?;
            if batch.lines == 0 {
                break;
            }
            self.advance(&batch)?;
        }
        if self.records() == 0 {
            // What was in memory is gone; its numbers were not used.
            (self.read, self.next) = (mark.max(self.read), mark.max(self.next));
        }
        Ok(())
    }

    /// The number of the first record that is not in the store.
    pub(super) fn position(&self) -> u64 {
        self.read
    }

    pub(super) fn records(&self) -> u64 {
        self.next - self.read
    }

    pub(super) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Records went to the store without the spool; it must be empty.
    pub(super) fn skip(&mut self, count: u64) {
        self.read += count;
        self.next = self.read;
    }

    /// Is there room for all of these?
    pub(super) fn has_room_for(&self, records: &[NewAudit]) -> bool {
        let length = |record| ((line_of(record).len() + SEAL) as u64).min(LONGEST);
        let needed: u64 = records.iter().map(length).sum();
        self.bytes() + needed <= self.limit
    }

    /// Adds as many of these as there is room for, and says how many. They are on the disk then. After an error none of
    /// them is.
    pub(super) fn append(&mut self, records: &[NewAudit]) -> io::Result<usize> {
        let mut room = self.limit.saturating_sub(self.bytes());
        let (mut text, mut count) = (Vec::new(), 0);
        for (record, number) in records.iter().zip(self.next..) {
            let line = self.line(number, record);
            let Some(left) = room.checked_sub(line.len() as u64) else { break };
            room = left;
            text.extend(line);
            count += 1;
        }
        if count == 0 {
            return Ok(0);
        }
        let before = self.segment()?;
        let Some(file) = &mut self.open else { return Ok(0) };
        let written = file.write_all(&text).and_then(|()| file.sync_data());
        if let Err(error) = written {
            // What was begun must not stand before what is written next.
            if file.set_len(before).is_err() {
                self.open = None;
            }
            return Err(error);
        }
        if let Some(segment) = self.segments.back_mut() {
            segment.bytes += text.len() as u64;
            segment.records += count as u64;
            if segment.bytes >= SEGMENT {
                self.open = None;
            }
        }
        self.next += count as u64;
        Ok(count)
    }

    /// No longer than is read again.
    fn line(&self, number: u64, record: &NewAudit) -> Vec<u8> {
        let line = self.key.sealed(&self.id, number, record);
        match line.len() as u64 > LONGEST {
            true => self.key.sealed(&self.id, number, &shortened(record)),
            false => line,
        }
    }

    /// There is a segment that takes more. Its length.
    fn segment(&mut self) -> io::Result<u64> {
        if let (Some(_), Some(last)) = (&self.open, self.segments.back()) {
            return Ok(last.bytes);
        }
        let path = self.path(self.next);
        self.open = Some(spool_file::open(options().create_new(true).append(true), &path)?);
        // The name, too: else the file is lost with the power.
        File::open(&self.dir)?.sync_all()?;
        self.segments.push_back(SpoolSegment { first: self.next, records: 0, bytes: 0 });
        Ok(0)
    }

    /// The oldest records, at most so many, of one file.
    pub(super) fn peek(&self, most: u64) -> io::Result<SpoolBatch> {
        let Some(first) = self.segments.front() else { return Ok(SpoolBatch::default()) };
        let path = self.path(first.first);
        let mut file = spool_file::open(OpenOptions::new().read(true), &path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut lines = BufReader::new(file);
        let most = most.min((first.first + first.records).saturating_sub(self.read));
        let (mut batch, mut line) = (SpoolBatch::default(), Vec::new());
        while batch.lines < most {
            let length = read_line(&mut lines, &mut line)?.bytes;
            if length == 0 {
                break;
            }
            let number = self.read + batch.lines;
            batch.records.extend(self.key.opened(&self.id, number, &line));
            batch.lines += 1;
            batch.bytes += length;
        }
        Ok(batch)
    }

    /// The store has this batch.
    pub(super) fn advance(&mut self, batch: &SpoolBatch) -> io::Result<()> {
        self.read += batch.lines;
        self.offset += batch.bytes;
        while let Some(first) = self.segments.front().copied() {
            let is_done = self.read >= first.first + first.records;
            if !is_done {
                break;
            }
            if self.segments.len() == 1 {
                self.open = None;
            }
            self.segments.pop_front();
            self.offset = 0;
            if let Some(next) = self.segments.front() {
                self.read = self.read.max(next.first);
            }
            fs::remove_file(self.path(first.first))?;
        }
        Ok(())
    }

    fn path(&self, first: u64) -> PathBuf {
        self.dir.join(name_of(first))
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    options
}

/// Made once for each directory.
fn identity(dir: &Path) -> io::Result<String> {
    let path = dir.join(Spool::ID);
    let mut text = Vec::new();
    match spool_file::open(OpenOptions::new().read(true), &path) {
        Ok(file) => drop(file.take(64).read_to_end(&mut text)?),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let text = text.trim_ascii();
    if text.len() == 32 && text.iter().all(u8::is_ascii_hexdigit) {
        return Ok(String::from_utf8_lossy(text).into_owned());
    }
    let random =
        crate::access::random::<16>().map_err(|_| io::Error::other("no random numbers"))?;
    let id = hex::encode(random);
    // Beside it and then in its place: what is there is another name of the key, perhaps, and is not written to.
    let next = dir.join(Spool::NEXT_ID);
    match fs::remove_file(&next) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = spool_file::open(options().create_new(true), &next)?;
    file.write_all(id.as_bytes())?;
    file.sync_all()?;
    fs::rename(&next, &path)?;
    File::open(dir)?.sync_all()?;
    Ok(id)
}

fn name_of(first: u64) -> String {
    format!("{first:020}.ndjson")
}

/// Of names that a spool writes.
fn number_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let first = name.strip_suffix(".ndjson")?.parse().ok()?;
    (name_of(first) == name).then_some(first)
}

/// What is in a file, and is any of it ours? A last line without its end was being written when the power failed: it
/// goes.
fn measure(
    path: &Path,
    first: u64,
    (key, writer): (&SpoolKey, &str),
) -> io::Result<(SpoolSegment, bool)> {
    let file = spool_file::open(OpenOptions::new().read(true).write(true), path)?;
    let mut lines = BufReader::new(file);
    let (mut segment, mut line) = (SpoolSegment { first, records: 0, bytes: 0 }, Vec::new());
    let mut is_ours = false;
    loop {
        let read = read_line(&mut lines, &mut line)?;
        if !read.is_whole {
            if read.bytes > 0 {
                lines.get_ref().set_len(segment.bytes)?;
            }
            return Ok((segment, is_ours));
        }
        // One line is enough: each is looked at when it is read.
        if !is_ours && let Some(number) = first.checked_add(segment.records) {
            is_ours = key.opened(writer, number, &line).is_some();
        }
        segment.records += 1;
        segment.bytes += read.bytes;
    }
}

/// Puts them in their order. What somebody has added to a file counts as numbers of the next one: how much it is.
fn without_overlaps(segments: &mut [SpoolSegment]) -> u64 {
    segments.sort_by_key(|segment| segment.first);
    let (mut damaged, mut end) = (0, u64::MAX);
    for segment in segments.iter_mut().rev() {
        let added = segment.records.saturating_sub(end - segment.first);
        segment.records -= added;
        damaged += added;
        end = segment.first;
    }
    damaged
}

fn set_aside(path: &Path) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kept = path.with_file_name(format!("{}{name}", Spool::DAMAGED));
    let shown = path.display();
    match fs::rename(path, &kept) {
        Ok(()) => tracing::error!(
            kept = %kept.display(),
            "{shown} is no file that this spool has written: it is kept under another name, and not read"
        ),
        Err(error) => tracing::error!(%error, "{shown} is no file that this spool has written"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::scratch::Folder;

    fn key() -> SpoolKey {
        SpoolKey::new(&[7; 32])
    }

    fn opened(folder: &Folder, limit: u64) -> Spool {
        Spool::open(folder.path(), limit, key()).unwrap()
    }

    fn record(name: &str) -> NewAudit {
        NewAudit { action: name.to_owned(), ..NewAudit::default() }
    }

    fn records(from: u64, count: u64) -> Vec<NewAudit> {
        (from..from + count).map(|number| record(&number.to_string())).collect()
    }

    /// Everything in it, in batches of this many.
    fn drain(spool: &mut Spool, most: u64) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let batch = spool.peek(most).unwrap();
            if batch.lines == 0 {
                return all;
            }
            all.extend(batch.records.iter().map(|record| record.action.clone()));
            spool.advance(&batch).unwrap();
        }
    }

    fn names(numbers: std::ops::Range<u64>) -> Vec<String> {
        numbers.map(|number| number.to_string()).collect()
    }

    #[test]
    fn records_come_back_in_their_order_also_after_a_restart() {
        let folder = Folder::new();
        let mut spool = opened(&folder, 1 << 20);
        let id = spool.id().to_owned();
        assert_eq!(spool.append(&records(0, 10)).unwrap(), 10);
        let batch = spool.peek(3).unwrap();
        assert_eq!(batch.lines, 3);
        spool.advance(&batch).unwrap();
        assert_eq!((spool.position(), spool.records()), (3, 7));
        drop(spool);
        let mut spool = opened(&folder, 1 << 20);
        assert_eq!((spool.id(), spool.records()), (id.as_str(), 10), "only the store knows");
        spool.begin_at(5).unwrap();
        spool.append(&records(10, 5)).unwrap();
        assert_eq!(drain(&mut spool, 4), names(5..15));
        assert_eq!((spool.position(), spool.records(), spool.bytes()), (15, 0, 0));
        spool.append(&records(15, 1)).unwrap();
        assert_eq!(drain(&mut spool, 4), names(15..16));
        let left = fs::read_dir(folder.path().join("audit-spool")).unwrap().count();
        assert_eq!(left, 2, "its id and its lock");
    }

    #[test]
    fn a_spool_has_so_many_bytes_and_no_more() {
        let folder = Folder::new();
        let line = key().sealed(&"w".repeat(32), 7, &record("7")).len() as u64;
        let mut spool = opened(&folder, line * 3 + 1);
        assert_eq!(spool.append(&records(0, 9)).unwrap(), 3);
        assert_eq!(spool.append(&records(3, 1)).unwrap(), 0);
        assert_eq!(drain(&mut spool, 9), names(0..3));
        assert_eq!(spool.append(&records(3, 9)).unwrap(), 3);
    }

    #[test]
    fn many_records_are_many_files_and_each_goes_when_it_is_done_with() {
        let folder = Folder::new();
        let mut spool = opened(&folder, 1 << 30);
        let long = NewAudit { detail: Some("x".repeat(1 << 20)), ..record("long") };
        for _ in 0..5 {
            assert_eq!(spool.append(&[long.clone(), long.clone()]).unwrap(), 2);
        }
        assert!(spool.segments.len() > 1);
        let before = spool.bytes();
        let batch = spool.peek(5).unwrap();
        spool.advance(&batch).unwrap();
        assert!(spool.bytes() < before);
        assert_eq!(drain(&mut spool, 100).len() as u64 + batch.lines, 10);
    }

    #[test]
    fn what_was_half_written_is_left_out_and_what_is_damaged_is_counted() {
        let folder = Folder::new();
        let mut spool = opened(&folder, 1 << 20);
        spool.append(&records(0, 3)).unwrap();
        let path = spool.path(0);
        drop(spool);
        let mut text = fs::read_to_string(&path).unwrap().replacen("\"1\"", "\"1", 1);
        text.push_str("{\"action\":");
        fs::write(&path, text).unwrap();
        let spool = opened(&folder, 1 << 20);
        assert_eq!(spool.records(), 3);
        let batch = spool.peek(9).unwrap();
        assert_eq!((batch.lines, batch.records.len()), (3, 2));
    }

    #[test]
    fn it_is_for_its_owner_only_and_for_one_program_at_a_time() {
        let folder = Folder::new();
        let mut one = opened(&folder, 1 << 20);
        let other = opened(&folder, 1 << 20);
        assert_ne!((one.id(), &one.dir), (other.id(), &other.dir));
        one.append(&records(0, 1)).unwrap();
        for entry in fs::read_dir(&one.dir).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0);
        }
        assert_eq!(fs::metadata(&one.dir).unwrap().permissions().mode() & 0o077, 0);
    }

    #[test]
    fn what_was_added_to_a_file_takes_no_number_of_the_next_one() {
        let folder = Folder::new();
        let mut spool = opened(&folder, 1 << 20);
        spool.append(&records(0, 3)).unwrap();
        spool.open = None;
        spool.append(&records(3, 4)).unwrap();
        let path = spool.path(0);
        drop(spool);
        let text = fs::read_to_string(&path).unwrap();
        let repeated = text.lines().next().unwrap();
        // Also a line that is ours, a second time.
        fs::write(&path, format!("{text}{{}}\n{repeated}\n")).unwrap();
        let mut spool = opened(&folder, 1 << 20);
        assert_eq!(spool.take_damaged(), 2);
        assert_eq!((spool.take_damaged(), spool.records()), (0, 7));
        assert_eq!(drain(&mut spool, 100), names(0..7));
    }

    #[test]
    fn what_another_has_written_is_set_aside() {
        let folder = Folder::new();
        let mut spool = opened(&folder, 1 << 20);
        spool.append(&records(0, 3)).unwrap();
        let (first, moved) = (spool.path(0), spool.path(5));
        drop(spool);
        let other = Spool::open(folder.path(), 1 << 20, SpoolKey::new(&[8; 32])).unwrap();
        assert_eq!((other.records(), other.damaged), (0, 3), "another key");
        drop(other);
        let kept = first.with_file_name("damaged-00000000000000000000.ndjson");
        assert!(Spool::is_name(kept.file_name().unwrap().to_str().unwrap()));
        fs::rename(&kept, &moved).unwrap();
        let spool = opened(&folder, 1 << 20);
        assert_eq!((spool.records(), spool.damaged, spool.next), (0, 3, 0), "other numbers");
        drop(spool);
        fs::rename(moved.with_file_name("damaged-00000000000000000005.ndjson"), &first).unwrap();
        let spool = opened(&folder, 1 << 20);
        assert_eq!((spool.records(), spool.damaged, spool.next), (3, 0, 3));
    }

    #[test]
    fn a_line_is_as_long_as_can_be_read_again_and_a_longer_one_is_damaged() {
        let folder = Folder::new();
        let mut spool = opened(&folder, 1 << 30);
        let long = NewAudit { tool: Some("\0".repeat(3 << 20)), ..record("long") };
        spool.append(&[record("0"), long]).unwrap();
        let path = spool.path(0);
        drop(spool);
        let mut text = fs::read(&path).unwrap();
        text.extend([&b"x".repeat(9 << 20)[..], b"\n"].concat());
        fs::write(&path, text).unwrap();
        let mut spool = opened(&folder, 1 << 30);
        spool.append(&records(3, 1)).unwrap();
        assert_eq!((spool.records(), spool.peek(9).unwrap().lines), (4, 3));
        assert_eq!(drain(&mut spool, 9), ["0", "long", "3"]);
    }

    #[test]
    fn only_names_that_it_writes_are_its_own() {
        for name in ["5.ndjson", "+0000000000000000005.ndjson", "99999999999999999999.ndjson"] {
            assert_eq!(number_of(Path::new(name)), None, "{name}");
        }
        for number in [0, 5, u64::MAX] {
            assert_eq!(number_of(Path::new(&name_of(number))), Some(number));
        }
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let folder = Folder::new();
        let mut spool = opened(&folder, 1 << 20);
        spool.append(&records(0, 2)).unwrap();
        let (dir, link, hard) = (spool.dir.clone(), spool.path(7), spool.dir.join(Spool::ID));
        drop(spool);
        let secret = folder.path().join("key");
        fs::write(&secret, "the key").unwrap();
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        fs::create_dir(dir.join(name_of(8))).unwrap();
        let spool = opened(&folder, 1 << 20);
        assert_eq!((spool.records(), spool.damaged), (2, 2));
        drop(spool);
        fs::remove_file(&hard).unwrap();
        fs::hard_link(&secret, &hard).unwrap();
        let id = opened(&folder, 1 << 20).id;
        assert_eq!((id.len(), fs::read(&secret).unwrap()), (32, b"the key".to_vec()));
        for name in [Spool::ID, Spool::LOCK] {
            fs::remove_file(dir.join(name)).unwrap();
            std::os::unix::fs::symlink(&secret, dir.join(name)).unwrap();
            let refused = Spool::open(folder.path(), 1 << 20, key()).unwrap_err();
            assert!(refused.to_string().contains(&format!("audit-spool/{name}: it is a link")));
            assert_eq!(fs::read(&secret).unwrap(), b"the key");
            fs::remove_file(dir.join(name)).unwrap();
        }
    }
}
