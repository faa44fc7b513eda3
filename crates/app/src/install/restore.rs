//! `trunkline restore CLIENT`: puts a backup of the client's file back.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use trunkline_catalog::client::Client;

use super::apply::{CurrentFile, WriteOutcome};
use super::backup::{Backup, backups};
use super::document::Document;
use super::error::InstallError;
use super::location::{ConfigLocation, locate};
use super::plan::as_error;
use super::request::{EntryTarget, UserFolders};
use super::run::ATTEMPTS;
use crate::timestamp::file_stamp;

/// What was put back, and where.
#[derive(Debug)]
pub(crate) struct Restored {
    pub(crate) client: Client,
    pub(crate) file: PathBuf,
    pub(crate) from: PathBuf,
    /// The file as it was until now.
    pub(crate) replaced: Option<PathBuf>,
    pub(crate) outcome: PutBack,
    pub(crate) dry_run: bool,
    key: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PutBack {
    /// Every byte.
    Whole,
    /// The servers only: the client has changed other things in its file since.
    Servers,
    Nothing,
}

/// How much of a backup is target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it, unless the client has changed something besides its servers since.
    AsFits,
    /// Every byte, whatever has changed.
    Whole,
}

/// The backups there are of the client's file, newest first.
pub(crate) fn kept(
    target: &EntryTarget,
    folders: &UserFolders,
) -> Result<(PathBuf, Vec<Backup>), InstallError> {
    let location = locate(target, folders)?;
    let found = backups(&location.file);
    Ok((location.file, found))
}

/// Puts the newest backup back, or the one that is named.
pub(crate) fn restore(
    target: &EntryTarget,
    backup: Option<&Path>,
    extent: Extent,
    folders: &UserFolders,
    now: SystemTime,
) -> Result<Restored, InstallError> {
    let location = locate(target, folders)?;
    let from = match backup {
        Some(named) => folders.absolute(named),
        None => match backups(&location.file).first() {
            Some(newest) => newest.path.clone(),
            None => return Err(InstallError::NoBackup { file: location.file }),
        },
    };
    let older = CurrentFile::read(&from)?;
    let Some(older) = older.content() else {
        return Err(InstallError::BackupMissing { path: from });
    };
    // A client that is running may write its file meanwhile: what it wrote is read again, a few
    // times.
    for _ in 0..ATTEMPTS {
        let found = CurrentFile::read(&location.file)?;
        let (outcome, text) = decide(found.content(), older, &location, extent)?;
        let mut done = Restored {
            client: target.client,
            file: location.file.clone(),
            from: from.clone(),
            replaced: None,
            outcome,
            dry_run: target.dry_run,
            key: location.key,
        };
        if target.dry_run || outcome == PutBack::Nothing {
            return Ok(done);
        }
        if let WriteOutcome::Done { backup } = found.put_back(&text, &file_stamp(now))? {
            done.replaced = backup;
            return Ok(done);
        }
    }
    Err(InstallError::KeepsChanging { file: location.file })
}

/// Pure: what the file is to be.
fn decide(
    now: Option<&str>,
    older: &str,
    location: &ConfigLocation,
    extent: Extent,
) -> Result<(PutBack, String), InstallError> {
    let whole = Ok((PutBack::Whole, older.to_owned()));
    let text = match now {
        None => return whole,
        Some(text) if text == older => return Ok((PutBack::Nothing, older.to_owned())),
        Some(text) => text,
    };
    let parsed = (Document::parse(text, location.format), Document::parse(older, location.format));
    let (mut document, older_document) = match parsed {
        _ if extent == Extent::Whole => return whole,
        (Ok(now), Ok(older)) => (now, older),
        (Err(problem), _) | (_, Err(problem)) => return Err(as_error(problem, location)),
    };
    if others(&document, location.key) == others(&older_document, location.key) {
        return whole;
    }
    let fail = |problem| as_error(problem, location);
    document.adopt(&older_document, &[location.key]).map_err(fail)?;
    let made = document.text();
    // Read again before it is written: the editor of the format may have a defect, the user's file
    // must not show it.
    let again = Document::parse(&made, location.format).map_err(fail)?;
    if again.get(&[location.key]) != older_document.get(&[location.key]) {
        return Err(InstallError::Unsound { file: location.file.clone() });
    }
    let outcome = if made == text { PutBack::Nothing } else { PutBack::Servers };
    Ok((outcome, made))
}

/// Everything but the servers.
fn others(document: &Document, key: &str) -> Value {
    let mut root = document.get(&[]).unwrap_or_else(|| json!({}));
    if let Some(members) = root.as_object_mut() {
        members.shift_remove(key);
    }
    root
}

impl std::fmt::Display for Restored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (title, file, from) = (self.client.title(), self.file.display(), self.from.display());
        let would = if self.dry_run { "would have " } else { "" };
        match self.outcome {
            PutBack::Nothing => return writeln!(f, "nothing to do: {file} is as in {from}"),
            PutBack::Whole => {
                writeln!(f, "{title}: {would}put {file} back to the byte as in {from}")?;
            }
            PutBack::Servers => {
                let key = self.key;
                writeln!(f, "{title}: {would}put `{key}` of {file} back as in {from}")?;
                writeln!(
                    f,
                    "note:   other settings in it have changed since and stay; --whole puts every byte back"
                )?;
            }
        }
        match &self.replaced {
            Some(replaced) => writeln!(f, "kept:   {}, the file as it was", replaced.display()),
            None if self.dry_run => writeln!(f, "dry run, nothing was written"),
            None => Ok(()),
        }
    }
}

impl Restored {
    pub(crate) fn json(&self) -> Value {
        let outcome = match self.outcome {
            PutBack::Whole => "whole",
            PutBack::Servers => "servers",
            PutBack::Nothing => "unchanged",
        };
        json!({
            "client": self.client.id(),
            "file": self.file.display().to_string(),
            "backup": self.from.display().to_string(),
            "outcome": outcome,
            "dry_run": self.dry_run,
            "replaced": self.replaced.as_ref().map(|kept| kept.display().to_string()),
        })
    }
}
