//! `trunkline setup --undo`: every file is put back as it was before `setup`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use trunkline_catalog::client::Client;

use super::record::{self, SetupLock, WrittenFile, digest, record_file};
use crate::install::{
    ConfigLocation, CurrentFile, Document, EntryTarget, Extent, InstallError, UserFolders,
    WriteOutcome, as_error, is_our_entry, location_of, restore, uninstall,
};

/// What became of each file.
#[derive(Debug, Default)]
pub(crate) struct Undone {
    /// To the byte as they were; removed if they were not there.
    pub(crate) restored: Vec<PathBuf>,
    /// Their servers are back, and what else has changed since has stayed.
    pub(crate) servers_only: Vec<PathBuf>,
    /// Configs of Trunkline's that have changed since and stay; no client depends on them any more.
    kept: Vec<PathBuf>,
    /// They could not be put back, and why.
    pub(crate) left: Vec<(PathBuf, String)>,
    dry_run: bool,
}

/// Undoes every run, the newest first. `None`: there is nothing to undo.
pub(crate) fn undo(
    config: &Path,
    folders: &UserFolders,
    now: SystemTime,
    dry_run: bool,
) -> Result<Option<Undone>, InstallError> {
    let file = record_file(config);
    let mut runs = record::read(&file)?;
    if runs.is_empty() {
        return Ok(None);
    }
    let _lock = SetupLock::take(config)?;
    let mut undone = Undone { dry_run, ..Undone::default() };
    while let Some(run) = runs.pop() {
        for written in run.files.iter().rev() {
            undone.put_back(written, folders, now);
        }
        // Last: a client that still starts Trunkline finds its servers meanwhile.
        if let Some(written) = &run.config {
            undone.put_back(written, folders, now);
        }
        if !dry_run && undone.left.is_empty() {
            record::write(&file, &runs)?;
        }
    }
    if !dry_run && undone.left.is_empty() {
        CurrentFile::read(&file)?.delete()?;
        // Only if nothing else is in it.
        drop(file.parent().map(fs::remove_dir));
    }
    Ok(Some(undone))
}

impl Undone {
    fn put_back(&mut self, written: &WrittenFile, folders: &UserFolders, now: SystemTime) {
        let file = written.file.clone();
        let known = |list: &[PathBuf]| list.contains(&file);
        let outcome = match self.dry_run {
            true => expected(written),
            false => put_back(written, folders, now),
        };
        match outcome {
            Ok(UndoOutcome::Whole) if known(&self.restored) || known(&self.servers_only) => {}
            Ok(UndoOutcome::Whole) => self.restored.push(file),
            Ok(UndoOutcome::Servers) => {
                self.restored.retain(|other| *other != file);
                self.servers_only.push(file);
            }
            Ok(UndoOutcome::Kept) if known(&self.kept) => {}
            Ok(UndoOutcome::Kept) => self.kept.push(file),
            Err(why) => self.left.push((file, why)),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let paths = |paths: &[PathBuf]| -> Vec<String> {
            paths.iter().map(|path| path.display().to_string()).collect()
        };
        let left = |(path, why): &(PathBuf, String)| json!({"file": path.display().to_string(), "why": why});
        json!({
            "restored": paths(&self.restored),
            "servers_only": paths(&self.servers_only),
            "kept": paths(&self.kept),
            "left": self.left.iter().map(left).collect::<Vec<_>>(),
            "dry_run": self.dry_run,
        })
    }
}

enum UndoOutcome {
    Whole,
    Servers,
    Kept,
}

/// What would happen. A file of two runs is judged by the newer one only.
fn expected(written: &WrittenFile) -> Result<UndoOutcome, String> {
    let found = CurrentFile::read(&written.file).map_err(|error| error.to_string())?;
    let is_ours = found.content().is_some_and(|text| digest(text) == written.digest);
    match is_ours {
        true => Ok(UndoOutcome::Whole),
        false if written.client.is_empty() => Ok(UndoOutcome::Kept),
        false => Ok(UndoOutcome::Servers),
    }
}

fn put_back(
    written: &WrittenFile,
    folders: &UserFolders,
    now: SystemTime,
) -> Result<UndoOutcome, String> {
    let said = |error: InstallError| error.to_string();
    let found = CurrentFile::read(&written.file).map_err(said)?;
    let older = match &written.backup {
        Some(backup) => match fs::read_to_string(backup) {
            Ok(text) => Some(text),
            // It was put back and its backup removed, by an undo that ended half-way.
            Err(_) if found.content().is_some_and(|text| digest(text) != written.digest) => {
                return Ok(UndoOutcome::Whole);
            }
            Err(error) => {
                return Err(format!("its backup {} cannot be read: {error}", backup.display()));
            }
        },
        None => None,
    };
    let is_ours = found.content().is_some_and(|text| digest(text) == written.digest);
    let is_as_before = found.content() == older.as_deref();
    if is_as_before {
        drop(written.backup.as_ref().map(fs::remove_file));
        return Ok(UndoOutcome::Whole);
    }
    if !is_ours {
        return put_servers_back(written, folders, now);
    }
    let done = match &older {
        Some(text) => found.overwrite(text),
        None => found.delete(),
    };
    match done.map_err(said)? {
        WriteOutcome::Done { .. } => {
            // The file is again what the backup holds.
            drop(written.backup.as_ref().map(fs::remove_file));
            Ok(UndoOutcome::Whole)
        }
        WriteOutcome::Overtaken => Err("it was changed just now; try again".to_owned()),
    }
}

/// Somebody has changed the file since: the servers come back, and what else is in it stays.
fn put_servers_back(
    written: &WrittenFile,
    folders: &UserFolders,
    now: SystemTime,
) -> Result<UndoOutcome, String> {
    let said = |error: InstallError| error.to_string();
    let Ok(client) = written.client.parse::<Client>() else { return Ok(UndoOutcome::Kept) };
    let file = Some(written.file.clone());
    let target =
        EntryTarget { client, name: None, project: None, file, dry_run: false, force: false };
    let Some(backup) = &written.backup else {
        uninstall(&target, folders, now, &|_, _, _| Vec::new()).map_err(said)?;
        return Ok(UndoOutcome::Servers);
    };
    let changed = CurrentFile::read(&written.file).map_err(said)?;
    restore(&target, Some(backup), Extent::AsFits, folders, now).map_err(said)?;
    let missing = (changed.content(), location_of(client, &written.file, None));
    if let (Some(changed), Some(location)) = missing {
        let older = fs::read_to_string(backup).unwrap_or_default();
        complete(&location, changed, &older).map_err(said)?;
    }
    Ok(UndoOutcome::Servers)
}

/// Adds what only one of the two texts has: servers that came after `setup`, and those that it took from the
/// projects in the file.
fn complete(location: &ConfigLocation, changed: &str, older: &str) -> Result<(), InstallError> {
    let parse = |text: &str| {
        Document::parse(text, location.format).map_err(|problem| as_error(problem, location))
    };
    let found = CurrentFile::read(&location.file)?;
    let mut document = parse(found.content().unwrap_or_default())?;
    let servers = |document: &Document, path: &[&str]| match document.get(path) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let mut wanted: Vec<(Vec<String>, Value)> = Vec::new();
    for (name, entry) in servers(&parse(changed)?, &[location.key]) {
        if !is_our_entry(&entry) {
            wanted.push((vec![location.key.to_owned(), name], entry));
        }
    }
    let older = parse(older)?;
    let by_folder = location.spec.projects.unwrap_or_default();
    for (folder, _) in servers(&older, &[by_folder]) {
        for (name, entry) in servers(&older, &[by_folder, &folder, location.key]) {
            let path = [by_folder, &folder, location.key, &name];
            wanted.push((path.map(str::to_owned).to_vec(), entry));
        }
    }
    for (path, entry) in wanted {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        if document.get(&path).is_none() {
            document.set(&path, &entry).map_err(|problem| as_error(problem, location))?;
        }
    }
    found.overwrite(&document.text()).map(|_| ())
}

impl std::fmt::Display for Undone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let would = if self.dry_run { "would be " } else { "" };
        for file in &self.restored {
            writeln!(f, "{would}as before: {}", file.display())?;
        }
        for file in &self.servers_only {
            writeln!(
                f,
                "{would}servers back: {} (it has changed since, and the rest of it stays)",
                file.display()
            )?;
        }
        for file in &self.kept {
            writeln!(f, "stays: {} (it has changed since)", file.display())?;
        }
        for (file, why) in &self.left {
            writeln!(f, "left: {}: {why}", file.display())?;
        }
        match self.dry_run {
            true => writeln!(f, "dry run, nothing was written"),
            false => Ok(()),
        }
    }
}
