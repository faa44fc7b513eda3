//! `AuditArchive`: records that retention removes from the store, in files that can still be proven whole.
//!
//! Each file is a part of the chain, and begins with the hash it continues. The last record of the last file is the one
//! whose number and hash the store keeps, authenticated, as the end of what it has removed.

use std::cmp::Reverse;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trunkline_store::{AuditHead, AuditRecord};

use super::spooled::{self, SpooledRecord};

#[derive(Debug, Clone)]
pub struct AuditArchive {
    dir: PathBuf,
}

/// What an archive holds, all as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchivedAudit {
    pub first: i64,
    pub last: AuditHead,
}

impl AuditArchive {
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Keeps these, the oldest first, which follow on one another. They are on the disk then. What an earlier try has
    /// left of them is replaced.
    pub(super) fn keep(&self, records: &[AuditRecord]) -> io::Result<()> {
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(()) };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let name = format!("audit-{:015}-{:015}.ndjson", first.seq, last.seq);
        let begun = self.dir.join(format!("{name}.part"));
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).write(true).mode(0o600);
        let mut file = io::BufWriter::new(options.open(&begun)?);
        writeln!(file, "{}", json!({"trunkline_audit": 1, "after": hex::encode(first.prev_hash)}))?;
        for record in records {
            let mut shown = serde_json::to_value(spooled::of(&record.what))?;
            if let Some(members) = shown.as_object_mut() {
                members.insert("seq".to_owned(), record.seq.into());
                members.insert("hash".to_owned(), hex::encode(record.hash).into());
            }
            writeln!(file, "{shown}")?;
        }
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&begun, self.dir.join(name))?;
        File::open(&self.dir)?.sync_all()
    }

    /// Reads all of it. `from`: the record that it must have, with all behind it. `end`: the last record that the store has
    /// removed. Says what is wrong first.
    pub fn verify(
        dir: &Path,
        from: i64,
        end: Option<AuditHead>,
    ) -> Result<Option<ArchivedAudit>, String> {
        let mut segments = Vec::new();
        for entry in fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))? {
            let path = entry.map_err(|error| format!("{}: {error}", dir.display()))?.path();
            segments.extend(numbers(&path).map(|(first, last)| (first, last, path.clone())));
        }
        // Of two that begin with the same record the longer one first: the other is what an interrupted try has left.
        segments.sort_by_key(|(first, last, _)| (*first, Reverse(*last)));
        let mut archived: Option<ArchivedAudit> = None;
        for (first, last, path) in segments {
            let shown = path.display();
            let after = archived.map(|archived| archived.last);
            let read = read(&path, first).map_err(|why| format!("{shown}: {why}"))?;
            if let Some(after) = after {
                if last <= after.seq {
                    continue;
                }
                if first != after.seq + 1 || read.after != after.hash {
                    return Err(format!(
                        "{shown}: it does not follow on record {}, the last one before it",
                        after.seq
                    ));
                }
            }
            if read.last.seq != last {
                return Err(format!("{shown}: it ends with record {}", read.last.seq));
            }
            let first = archived.map_or(first, |archived| archived.first);
            archived = Some(ArchivedAudit { first, last: read.last });
        }
        match (archived, end) {
            (Some(ArchivedAudit { first, .. }), _) if first > from => Err(format!(
                "it begins with record {first}, and those from {from} on are not there (--archive-from {first}: they \
                 are kept elsewhere, or were removed without an archive)"
            )),
            (Some(archived), Some(end)) if archived.last != end => Err(format!(
                "it ends with record {}, and the store has removed records up to {}{}",
                archived.last.seq,
                end.seq,
                if archived.last.seq == end.seq { ", which was another one" } else { "" }
            )),
            (None, Some(end)) => {
                Err(format!("it is empty, and the store has removed records up to {}", end.seq))
            }
            (archived, _) => Ok(archived),
        }
    }
}

/// One file of an archive.
struct ArchivedPart {
    /// The hash it continues.
    after: [u8; 32],
    last: AuditHead,
}

fn read(path: &Path, first: i64) -> Result<ArchivedPart, String> {
    let words = |error: io::Error| match error.kind() {
        ErrorKind::InvalidData => "it is not UTF-8".to_owned(),
        _ => error.to_string(),
    };
    let mut lines = BufReader::new(File::open(path).map_err(words)?).lines();
    let head = lines.next().transpose().map_err(words)?.unwrap_or_default();
    let head: Value = serde_json::from_str(&head).unwrap_or_default();
    let after = head.get("after").and_then(Value::as_str).and_then(digest);
    let is_archive = head.get("trunkline_audit").is_some_and(|version| version == 1);
    let Some(after) = after.filter(|_| is_archive) else {
        return Err("its first line is not that of an archive".to_owned());
    };
    let mut last = AuditHead { seq: first - 1, hash: after };
    for line in lines {
        let seq = last.seq + 1;
        let record = record(&line.map_err(words)?, last.hash)
            .ok_or_else(|| format!("record {seq} cannot be read"))?;
        if record.seq != seq {
            return Err(format!("record {seq} is missing"));
        }
        if !record.is_intact() {
            return Err(format!("record {seq} was changed"));
        }
        last = AuditHead { seq, hash: record.hash };
    }
    Ok(ArchivedPart { after, last })
}

fn record(line: &str, prev_hash: [u8; 32]) -> Option<AuditRecord> {
    let mut shown: Value = serde_json::from_str(line).ok()?;
    // A member that stands there twice is read once, and others may read the other one.
    let as_it_was_written = shown.to_string();
    if as_it_was_written != line {
        return None;
    }
    let members = shown.as_object_mut()?;
    let seq = members.remove("seq")?.as_i64()?;
    let hash = members.remove("hash")?.as_str().and_then(digest)?;
    let what: SpooledRecord = serde_json::from_value(shown).ok()?;
    Some(AuditRecord { seq, what: what.into(), prev_hash, hash })
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok().map(|()| bytes)
}

/// The first and the last record of a file, by its name.
fn numbers(path: &Path) -> Option<(i64, i64)> {
    let name = path.file_name()?.to_str()?;
    let (first, last) = name.strip_prefix("audit-")?.strip_suffix(".ndjson")?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use trunkline_store::{AuditFilter, NewAudit};

    use super::*;
    use crate::scratch::Folder;

    async fn records(count: i64) -> Vec<AuditRecord> {
        let folder = Folder::new();
        let store = folder.store().await;
        let record = |at| NewAudit { at, action: "a".to_owned(), ..NewAudit::default() };
        store.append_audit((0..count).map(record).collect()).await.unwrap();
        let mut all = store.audit(AuditFilter::default(), 100).await.unwrap();
        all.reverse();
        all
    }

    fn head(record: &AuditRecord) -> AuditHead {
        AuditHead { seq: record.seq, hash: record.hash }
    }

    #[tokio::test]
    async fn files_are_one_chain_up_to_what_the_store_has_removed() {
        let (folder, records) = (Folder::new(), records(9).await);
        let archive = AuditArchive::at(folder.path().join("archive"));
        archive.keep(&records[2..4]).unwrap();
        archive.keep(&records[2..6]).unwrap();
        archive.keep(&records[6..8]).unwrap();
        let verify = |end| AuditArchive::verify(&archive.dir, 3, end);
        let whole = Ok(Some(ArchivedAudit { first: 3, last: head(&records[7]) }));
        assert_eq!(verify(Some(head(&records[7]))), whole);
        assert_eq!(verify(None), whole);
        assert_eq!(AuditArchive::verify(&archive.dir, 5, None), whole);
        for from in [1, 2] {
            let why = AuditArchive::verify(&archive.dir, from, None).unwrap_err();
            assert!(why.contains("it begins with record 3"), "{why}");
        }
        for end in [head(&records[8]), AuditHead { hash: [1; 32], ..head(&records[7]) }] {
            let why = verify(Some(end)).unwrap_err();
            assert!(why.contains("it ends with record 8"), "{why}");
        }
    }

    #[tokio::test]
    async fn what_was_done_to_a_file_is_found() {
        let records = records(9).await;
        type Harm = fn(&str) -> String;
        let table: &[(Harm, &str)] = &[
            (|text| text.replacen("\"a\"", "\"b\"", 1), "record 4 was changed"),
            (
                |text| {
                    text.lines()
                        .filter(|l| !l.contains("\"seq\":5"))
                        .map(|l| format!("{l}\n"))
                        .collect()
                },
                "record 5 is missing",
            ),
            (
                |text| {
                    text.lines()
                        .filter(|l| !l.contains("\"seq\":6"))
                        .map(|l| format!("{l}\n"))
                        .collect()
                },
                "it ends with record 5",
            ),
            (|text| text.replacen("\"seq\"", "\"", 1), "record 4 cannot be read"),
            (
                |text| text.replacen("\"action\":\"a\"", "\"action\":\"b\",\"action\":\"a\"", 1),
                "record 4 cannot be read",
            ),
            (|text| text.replacen("\"at\":3", "\"at\": 3", 1), "record 4 cannot be read"),
            (|_| "{}\n".to_owned(), "its first line"),
        ];
        for (harm, expected) in table {
            let folder = Folder::new();
            let archive = AuditArchive::at(folder.path().to_owned());
            archive.keep(&records[..3]).unwrap();
            archive.keep(&records[3..6]).unwrap();
            let path = folder.path().join("audit-000000000000004-000000000000006.ndjson");
            fs::write(&path, harm(&fs::read_to_string(&path).unwrap())).unwrap();
            let why = AuditArchive::verify(folder.path(), 1, None).unwrap_err();
            assert!(why.contains(expected), "{expected}: {why}");
        }
        let folder = Folder::new();
        let archive = AuditArchive::at(folder.path().to_owned());
        archive.keep(&records[..3]).unwrap();
        archive.keep(&records[4..6]).unwrap();
        let why = AuditArchive::verify(folder.path(), 1, None).unwrap_err();
        assert!(why.contains("does not follow on record 3"), "{why}");
        assert!(AuditArchive::verify(Folder::new().path(), 1, Some(head(&records[0]))).is_err());
    }
}
