//! `trunkline uninstall CLIENT`: takes our entry out of the client's file, without a trace.

use std::path::PathBuf;

use serde_json::{Value, json};
use trunkline_catalog::client::Client;

use super::apply::{CurrentFile, WriteOutcome};
use super::backup::{Backup, backups};
use super::document::Document;
use super::entry::is_our_entry;
use super::error::InstallError;
use super::location::{ConfigLocation, locate};
use super::plan::as_error;
use super::request::{EntryTarget, UserFolders};
use super::run::ATTEMPTS;
use crate::timestamp::file_stamp;

/// What became of the client's file.
#[derive(Debug)]
pub(crate) struct Uninstalled {
    pub(crate) client: Client,
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) backup: Option<PathBuf>,
    pub(crate) outcome: Removed,
    /// The servers that are in the file again.
    pub(crate) returned: Vec<String>,
    pub(crate) dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removed {
    /// The file is what it was before `install`, to the byte.
    Undone,
    /// The entry is gone; what else has changed since stays.
    Entry,
    /// The file is gone: it had nothing but our entry and was not there before.
    File,
    /// There was no entry.
    Nothing,
}

/// What the file is to be.
#[derive(Debug, PartialEq, Eq)]
struct RemovalPlan {
    outcome: Removed,
    /// `None`: no file.
    text: Option<String>,
    returned: Vec<String>,
}

/// Names the servers in an older text of a client's file that are in the config of our entry.
pub(crate) type BehindEntry<'f> = &'f dyn Fn(&ConfigLocation, &Value, &str) -> Vec<String>;

/// Takes Trunkline's entry out of the client's config file, and puts the servers back that went behind it.
pub(crate) fn uninstall(
    target: &EntryTarget,
    folders: &UserFolders,
    now: std::time::SystemTime,
    behind: BehindEntry<'_>,
) -> Result<Uninstalled, InstallError> {
    let location = locate(target, folders)?;
    let name = target.entry_name()?;
    let older: Vec<String> = backups(&location.file).iter().filter_map(Backup::text).collect();
    for _ in 0..ATTEMPTS {
        let found = CurrentFile::read(&location.file)?;
        let plan = match found.content() {
            Some(text) => plan(text, &location, &name, target.force, &older, behind)?,
            None => RemovalPlan { outcome: Removed::Nothing, text: None, returned: Vec::new() },
        };
        let mut done = Uninstalled {
            client: target.client,
            name: name.clone(),
            file: location.file.clone(),
            backup: None,
            outcome: plan.outcome,
            returned: plan.returned.clone(),
            dry_run: target.dry_run,
        };
        if target.dry_run || plan.outcome == Removed::Nothing {
            return Ok(done);
        }
        let written = match &plan.text {
            Some(text) => found.write(text, &file_stamp(now))?,
            None => found.remove(&file_stamp(now))?,
        };
        if let WriteOutcome::Done { backup } = written {
            done.backup = backup;
            return Ok(done);
        }
    }
    Err(InstallError::KeepsChanging { file: location.file })
}

/// `older` are the file's backups, newest first.
fn plan(
    text: &str,
    location: &ConfigLocation,
    name: &str,
    force: bool,
    older: &[String],
    behind: BehindEntry<'_>,
) -> Result<RemovalPlan, InstallError> {
    let fail = |problem| as_error(problem, location);
    let mut document = Document::parse(text, location.format).map_err(fail)?;
    let path = [location.key, name];
    let Some(entry) = document.get(&path) else {
        return match others(&document, location.key) {
            others if others.is_empty() => {
                let text = Some(text.to_owned());
                Ok(RemovalPlan { outcome: Removed::Nothing, text, returned: Vec::new() })
            }
            others => Err(InstallError::OtherName { file: location.file.clone(), others }),
        };
    };
    // The name alone does not make it ours: another program may be called so.
    if !force && !is_our_entry(&entry) {
        let (file, name) = (location.file.clone(), name.to_owned());
        return Err(InstallError::NotOurs { file, name });
    }
    let is_there = |name: &str| document.get(&[location.key, name]).is_some();
    let mut before = earlier_texts(location, &path, &entry, older, behind);
    before.iter_mut().for_each(|it| it.gone.retain(|name| !is_there(name)));
    if let Some(same) = before.iter().find(|it| it.becomes(text, location, &path)) {
        let (text, returned) = (Some(same.text.clone()), same.gone.clone());
        return Ok(RemovalPlan { outcome: Removed::Undone, text, returned });
    }
    document.remove(&path).map_err(fail)?;
    // With no backup the file is one that we made.
    let newest = before.first_mut();
    let had_any = newest.as_ref().is_some_and(|it| it.document.get(&[location.key]).is_some());
    if !had_any && is_our_entry(&entry) && document.holds_nothing(&[location.key]) {
        document.remove(&[location.key]).map_err(fail)?;
    }
    let mut returned = Vec::new();
    if let Some(EarlierText { document: older, gone, .. }) = newest {
        for name in std::mem::take(gone) {
            document.adopt(older, &[location.key, &name]).map_err(fail)?;
            returned.push(name);
        }
    }
    // Before anything is written: the user's other servers are worth more than our leaving.
    prove(text, &document.text(), location, &path, &returned)?;
    // Only if there is no backup: a file that was there before stays, even if it is empty.
    if before.is_empty() && is_our_entry(&entry) && is_bare(&document) {
        return Ok(RemovalPlan { outcome: Removed::File, text: None, returned });
    }
    Ok(RemovalPlan { outcome: Removed::Entry, text: Some(document.text()), returned })
}

/// The backups from before our entry came. Between such a one and now there may have been several entries of
/// ours, with several configs: a server that went behind any of them has left the file.
fn earlier_texts<'o>(
    location: &ConfigLocation,
    path: &[&str; 2],
    entry: &Value,
    older: &'o [String],
    behind: BehindEntry<'_>,
) -> Vec<EarlierText<'o>> {
    let (mut ours, mut before) = (vec![entry.clone()], Vec::new());
    for (at, text) in older.iter().enumerate() {
        let Ok(document) = Document::parse(text, location.format) else { continue };
        match document.get(path) {
            Some(earlier) if is_our_entry(&earlier) => ours.push(earlier),
            // Of an entry that is not ours and was replaced by force, the rest of the file is as it was.
            Some(_) if !is_our_entry(entry) => {}
            Some(_) | None => {
                let mut gone: Vec<String> = Vec::new();
                for name in ours.iter().flat_map(|entry| behind(location, entry, text)) {
                    if !gone.contains(&name) {
                        gone.push(name);
                    }
                }
                let since = older.get(..at).unwrap_or_default();
                before.push(EarlierText { text, document, gone, since });
            }
        }
    }
    before
}

/// A backup from before our entry came.
struct EarlierText<'o> {
    text: &'o String,
    document: Document,
    /// Its servers that are behind Trunkline, and not in the file any more.
    gone: Vec<String>,
    /// The backups after it, newest first.
    since: &'o [String],
}

impl EarlierText<'_> {
    /// Whether our own changes alone, at once or one after the other, have made the text that is there. Then the
    /// backup can be put back to the byte.
    fn becomes(&self, text: &str, location: &ConfigLocation, path: &[&str; 2]) -> bool {
        let is_step = |from: &str, to: &str| self.is_our_change(from, to, location, path);
        let later = self.since.iter().rev().map(String::as_str).chain([text]);
        let mut from = self.text.as_str();
        is_step(from, text)
            || later.into_iter().all(|to| is_step(std::mem::replace(&mut from, to), to))
    }

    /// Whether taking servers out and setting our entry makes one text of the other.
    fn is_our_change(
        &self,
        from: &str,
        to: &str,
        location: &ConfigLocation,
        path: &[&str; 2],
    ) -> bool {
        let parse = |text: &str| Document::parse(text, location.format).ok();
        let (Some(mut made), Some(to)) = (parse(from), parse(to)) else { return false };
        let Some(entry) = to.get(path) else { return false };
        let mut gone = self.gone.iter().map(|name| [location.key, name.as_str()]);
        gone.all(|server| to.get(&server).is_some() || made.remove(&server).is_ok())
            && made.set(path, &entry).is_ok()
            && made.text() == to.text()
    }
}

/// Entries under other names that start Trunkline.
fn others(document: &Document, key: &str) -> Vec<String> {
    let servers = document.get(&[key]);
    let servers = servers.as_ref().and_then(Value::as_object).into_iter().flatten();
    let ours = servers.filter(|(_, entry)| is_our_entry(entry));
    ours.map(|(name, _)| name.clone()).collect()
}

fn is_empty(value: Option<&Value>) -> bool {
    value.is_some_and(|value| value.as_object().is_some_and(serde_json::Map::is_empty))
}

/// Neither a value nor a comment.
fn is_bare(document: &Document) -> bool {
    matches!(document.text().trim(), "" | "{}")
}

/// Reads both texts once more: nothing but our entry may be missing, and nothing new but `returned`.
fn prove(
    before: &str,
    after: &str,
    location: &ConfigLocation,
    path: &[&str; 2],
    returned: &[String],
) -> Result<(), InstallError> {
    let root = |text: &str| {
        let root = Document::parse(text, location.format).ok()?.get(&[]);
        let mut root = root.unwrap_or_else(|| json!({}));
        let members = root.as_object_mut()?;
        if let Some(Value::Object(servers)) = members.get_mut(path[0]) {
            servers.shift_remove(path[1]);
            servers.retain(|name, _| !returned.contains(name));
        }
        if is_empty(members.get(path[0])) {
            members.shift_remove(path[0]);
        }
        Some(root)
    };
    let gone = Document::parse(after, location.format).ok();
    let gone = gone.is_some_and(|document| document.get(path).is_none());
    match (root(before), root(after)) {
        (Some(before), Some(after)) if gone && before == after => Ok(()),
        _ => Err(InstallError::Unsound { file: location.file.clone() }),
    }
}

impl std::fmt::Display for Uninstalled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (title, name, file) = (self.client.title(), &self.name, self.file.display());
        let would = if self.dry_run { "would have " } else { "" };
        match self.outcome {
            Removed::Nothing => {
                return writeln!(f, "nothing to do: {title} has no {name:?} in {file}");
            }
            Removed::Undone => writeln!(
                f,
                "{title}: {would}removed {name:?} from {file}, which is to the byte what it was before"
            )?,
            Removed::Entry => writeln!(f, "{title}: {would}removed {name:?} from {file}")?,
            Removed::File => {
                writeln!(f, "{title}: {would}removed {file}, which held nothing but {name:?}")?;
            }
        }
        if !self.returned.is_empty() {
            writeln!(f, "back:   {}", self.returned.join(", "))?;
        }
        match &self.backup {
            Some(backup) => writeln!(f, "backup: {}", backup.display()),
            None if self.dry_run => writeln!(f, "dry run, nothing was written"),
            None => Ok(()),
        }
    }
}

impl Uninstalled {
    pub(crate) fn json(&self) -> Value {
        let outcome = match self.outcome {
            Removed::Undone => "undone",
            Removed::Entry => "removed",
            Removed::File => "file_removed",
            Removed::Nothing => "unchanged",
        };
        json!({
            "client": self.client.id(),
            "name": self.name,
            "file": self.file.display().to_string(),
            "outcome": outcome,
            "returned": self.returned,
            "dry_run": self.dry_run,
            "backup": self.backup.as_ref().map(|backup| backup.display().to_string()),
        })
    }
}
