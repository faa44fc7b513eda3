//! Changes a config file: one command at a time, in one rename, remembered for `undo`.

use std::path::{Path, PathBuf};

use super::error::OwnConfigError;
use super::history::{History, RecordedChange};
use super::lock::FolderLock;
use crate::environment::Environment;
use crate::install::{CurrentFile, WriteOutcome};

/// Only a program that does not take the lock can get in between.
const ATTEMPTS: usize = 5;

/// A change of a config's text. It is made of what the file says at that moment, which may be more than
/// what it said when the change was planned.
pub(crate) struct ConfigChange<'c> {
    /// `add git`, for `undo`.
    pub(crate) what: String,
    pub(crate) edit: &'c dyn Fn(&str) -> Result<String, OwnConfigError>,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChangedConfig {
    Written {
        /// Why it cannot be undone.
        not_kept: Option<String>,
    },
    /// The file says so already.
    Unchanged,
}

/// Makes the change.
pub(crate) fn change_config(
    path: &Path,
    change: &ConfigChange<'_>,
    environment: &Environment,
) -> Result<ChangedConfig, OwnConfigError> {
    let (file, _lock) = locked(path)?;
    let history = History::of(&file, environment);
    for _ in 0..ATTEMPTS {
        let (current, text) = read(path)?;
        let new = (change.edit)(&text)?;
        if new == text {
            return Ok(ChangedConfig::Unchanged);
        }
        let kept = history.as_ref().map(|history| history.record(&change.what, &text, &new));
        let not_kept = match kept {
            Some(Ok(())) => None,
            Some(Err(error)) => Some(error.to_string()),
            None => Some("no folder for it is known (HOME is not set)".to_owned()),
        };
        match current.write_kept_elsewhere(&new) {
            Ok(WriteOutcome::Done { .. }) => return Ok(ChangedConfig::Written { not_kept }),
            outcome => {
                // What was not done cannot be undone.
                forget_last(history.as_ref(), &new);
                outcome?;
            }
        }
    }
    Err(OwnConfigError::KeepsChanging { path: path.to_owned() })
}

/// Takes the latest change back and returns it. With `force` also if the file has been changed since by
/// something else, which is remembered as a change in its turn.
pub(crate) fn undo_change(
    path: &Path,
    force: bool,
    environment: &Environment,
) -> Result<RecordedChange, OwnConfigError> {
    let (file, _lock) = locked(path)?;
    let history = History::of(&file, environment);
    let nothing =
        || OwnConfigError::Usage(format!("there is no change of {} to undo", path.display()));
    let history = history.ok_or_else(nothing)?;
    let (current, text) = read(path)?;
    let mut last = history.last().ok_or_else(nothing)?;
    if last.after != text && last.before == text {
        // The program ended between remembering the change and making it.
        drop(history.forget(&last));
        last = history.last().ok_or_else(nothing)?;
    }
    let is_changed = last.after != text;
    if is_changed && !force {
        return Err(OwnConfigError::Usage(format!(
            "{} has been changed since `{}` ({}), by hand or by another program; \
             --force takes both changes back",
            path.display(),
            last.what,
            last.at
        )));
    }
    if is_changed {
        let kept = history.record("undo --force", &text, &last.before);
        kept.map_err(OwnConfigError::io("remember the text of", path))?;
    }
    match current.write_kept_elsewhere(&last.before)? {
        WriteOutcome::Done { .. } => {
            // A change that stays remembered is recognised next time: the text is the one before it.
            drop(history.forget(&last));
            Ok(last)
        }
        WriteOutcome::Overtaken => Err(OwnConfigError::KeepsChanging { path: path.to_owned() }),
    }
}

/// The text of the config.
pub(crate) fn read_config_text(path: &Path) -> Result<String, OwnConfigError> {
    read(path).map(|(_, text)| text)
}

fn read(path: &Path) -> Result<(CurrentFile, String), OwnConfigError> {
    let current = CurrentFile::read(path)?;
    let text = current.content().map(str::to_owned);
    let text = text.ok_or_else(|| OwnConfigError::Missing { path: path.to_owned() })?;
    Ok((current, text))
}

/// Where the bytes are, links followed, and the lock of that folder.
fn locked(path: &Path) -> Result<(PathBuf, FolderLock), OwnConfigError> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let lock = FolderLock::of(&real)?;
    Ok((real, lock))
}

fn forget_last(history: Option<&History>, after: &str) {
    let last = history.and_then(|history| Some((history, history.last()?)));
    if let Some((history, last)) = last.filter(|(_, last)| last.after == after) {
        drop(history.forget(&last));
    }
}
