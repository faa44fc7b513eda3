//! Decides what changes in the client's file. Pure: text in, text out.

use serde_json::Value;

use super::diff;
use super::document::{Document, DocumentProblem};
use super::entry::OurEntry;
use super::error::InstallError;
use super::location::ConfigLocation;
use super::report::InstallOutcome;

#[derive(Debug)]
pub(crate) struct InstallPlan {
    pub(crate) outcome: InstallOutcome,
    /// The whole file as it is to be.
    pub(crate) text: String,
    pub(crate) diff: String,
    /// The servers that leave the file, and the names of their members.
    pub(crate) moved: Vec<(String, Vec<String>)>,
}

/// What happens to our entry.
#[derive(Debug)]
pub(super) enum Change {
    Add {
        entry: Value,
    },
    /// Of an entry that is ours: what was there before, and what is set.
    Edit {
        settings: Vec<(Vec<String>, Option<Value>, Value)>,
    },
    /// Of an entry that is not: only the names of its members, it may hold secrets.
    Replace {
        members: Vec<String>,
        entry: Value,
    },
}

/// `text` is `None` when there is no file yet; `behind` are the names of servers in it that are behind
/// Trunkline already and would be there twice.
pub(crate) fn plan(
    text: Option<&str>,
    location: &ConfigLocation,
    entry: &OurEntry,
    force: bool,
    behind: &[String],
) -> Result<InstallPlan, InstallError> {
    let fail = |problem| as_error(problem, location);
    let mut document = Document::parse(text.unwrap_or_default(), location.format).map_err(fail)?;
    let mut moved = Vec::new();
    for name in behind.iter().filter(|name| **name != entry.name) {
        if let Some(server) = document.get(&[location.key, name]) {
            document.remove(&[location.key, name]).map_err(fail)?;
            moved.push((name.clone(), member_names(&server)));
        }
    }
    let path = [location.key, entry.name.as_str()];
    let change = match document.get(&path) {
        None => Change::Add { entry: entry.fresh() },
        Some(existing) if entry.is_ours(&existing) && entry.is_of_other_way(&existing) => {
            Change::Replace { members: member_names(&existing), entry: entry.fresh() }
        }
        Some(existing) if entry.is_ours(&existing) => edit(entry, &existing),
        Some(existing) if force => {
            Change::Replace { members: member_names(&existing), entry: entry.fresh() }
        }
        Some(_) => {
            let (file, name) = (location.file.clone(), entry.name.clone());
            return Err(InstallError::NameTaken { file, name });
        }
    };
    for (inner, value) in settings(&change) {
        let inner = inner.iter().map(String::as_str);
        let path: Vec<&str> = path.into_iter().chain(inner).collect();
        document.set(&path, value).map_err(fail)?;
    }
    let outcome = match &change {
        Change::Add { .. } if text.is_none() => InstallOutcome::Created,
        Change::Add { .. } => InstallOutcome::Added,
        Change::Edit { settings } if settings.is_empty() && moved.is_empty() => {
            InstallOutcome::Unchanged
        }
        Change::Edit { .. } => InstallOutcome::Updated,
        Change::Replace { .. } => InstallOutcome::Replaced,
    };
    let text = document.text();
    prove(&text, location, entry)?;
    let diff = diff::render(location, &entry.name, &change, &moved);
    Ok(InstallPlan { outcome, text, diff, moved })
}

fn edit(entry: &OurEntry, existing: &Value) -> Change {
    let before =
        |path: &[String]| path.iter().try_fold(existing, |value, key| value.get(key)).cloned();
    let missing = entry.missing(existing).into_iter();
    let settings = missing.map(|set| (set.path.clone(), before(&set.path), set.value));
    Change::Edit { settings: settings.collect() }
}

/// What to set, each by its path inside the entry; the empty path is the entry itself.
fn settings(change: &Change) -> Vec<(&[String], &Value)> {
    match change {
        Change::Add { entry } | Change::Replace { entry, .. } => vec![(&[], entry)],
        Change::Edit { settings } => {
            settings.iter().map(|(path, _, value)| (path.as_slice(), value)).collect()
        }
    }
}

fn member_names(existing: &Value) -> Vec<String> {
    existing.as_object().map(|members| members.keys().cloned().collect()).unwrap_or_default()
}

/// Reads the new text once more: a mistake of the editor must not reach the client.
fn prove(text: &str, location: &ConfigLocation, entry: &OurEntry) -> Result<(), InstallError> {
    let document = Document::parse(text, location.format).ok();
    let written = document.and_then(|document| document.get(&[location.key, &entry.name]));
    match written {
        Some(written) if entry.missing(&written).is_empty() => Ok(()),
        _ => Err(InstallError::Unsound { file: location.file.clone() }),
    }
}

pub(crate) fn as_error(problem: DocumentProblem, location: &ConfigLocation) -> InstallError {
    let file = location.file.clone();
    match problem {
        DocumentProblem::Syntax { line, column, problem } => {
            InstallError::Syntax { file, line, column, problem }
        }
        DocumentProblem::NotAnObject { key } if key.is_empty() => {
            InstallError::NotAnObject { file, key: "the top level".to_owned() }
        }
        DocumentProblem::Unusual => InstallError::Unusual { file },
        DocumentProblem::NotAnObject { key } => {
            InstallError::NotAnObject { file, key: format!("`{key}`") }
        }
    }
}
