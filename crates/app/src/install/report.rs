//! The report of `install`.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Value, json};
use trunkline_catalog::client::{Client, StartedFrom, Variables};

use super::entry::OurEntry;
use super::location::ConfigLocation;
use super::plan::InstallPlan;
use super::request::{InstallRequest, Launch};

#[derive(Debug)]
pub(crate) struct InstallReport {
    pub(crate) client: Client,
    /// The entry's name in the file.
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    /// The file as it was before; `None` when nothing was overwritten.
    pub(crate) backup: Option<PathBuf>,
    /// What was done, or in a dry run what would be.
    pub(crate) outcome: InstallOutcome,
    pub(crate) dry_run: bool,
    /// What the client will run, or the address it will connect to.
    pub(crate) leads_to: Vec<String>,
    is_address: bool,
    /// The servers that left the file: they are behind Trunkline.
    pub(crate) moved: Vec<String>,
    /// Empty when nothing changes. Never shows another entry's content.
    pub(crate) diff: String,
    pub(crate) notes: Vec<String>,
    pub(crate) next: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstallOutcome {
    /// The file is new.
    Created,
    Added,
    /// The entry was ours and starts something else now.
    Updated,
    /// The entry was not ours (`--force`).
    Replaced,
    Unchanged,
}

impl InstallReport {
    pub(super) fn new(
        request: &InstallRequest,
        location: &ConfigLocation,
        entry: &OurEntry,
        plan: &InstallPlan,
    ) -> Self {
        Self {
            client: entry.client,
            name: entry.name.clone(),
            file: location.file.clone(),
            backup: None,
            outcome: plan.outcome,
            dry_run: request.target.dry_run,
            leads_to: entry.leads_to(),
            is_address: entry.is_address(),
            moved: plan.moved.iter().map(|(name, _)| name.clone()).collect(),
            diff: plan.diff.clone(),
            notes: notes(request, location, entry),
            next: next(location),
        }
    }
}

impl InstallReport {
    pub(crate) fn json(&self) -> Value {
        let outcome = match self.outcome {
            InstallOutcome::Created => "created",
            InstallOutcome::Added => "added",
            InstallOutcome::Updated => "updated",
            InstallOutcome::Replaced => "replaced",
            InstallOutcome::Unchanged => "unchanged",
        };
        json!({
            "client": self.client.id(),
            "name": self.name,
            "file": self.file.display().to_string(),
            "outcome": outcome,
            "dry_run": self.dry_run,
            "backup": self.backup.as_ref().map(|backup| backup.display().to_string()),
            "command": if self.is_address { None } else { Some(&self.leads_to) },
            "url": self.leads_to.first().filter(|_| self.is_address),
            "moved": self.moved,
            "notes": self.notes,
            "next": self.next,
        })
    }
}

impl fmt::Display for InstallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (title, name, file) = (self.client.title(), &self.name, self.file.display());
        if self.outcome == InstallOutcome::Unchanged {
            return writeln!(f, "nothing to do: {title} already has {name:?} in {file}");
        }
        let would = if self.dry_run { "would have " } else { "" };
        match self.outcome {
            InstallOutcome::Created => writeln!(f, "{title}: {would}created {file} with {name:?}")?,
            InstallOutcome::Added => writeln!(f, "{title}: {would}added {name:?} to {file}")?,
            InstallOutcome::Replaced => writeln!(f, "{title}: {would}replaced {name:?} in {file}")?,
            InstallOutcome::Updated | InstallOutcome::Unchanged => {
                writeln!(f, "{title}: {would}updated {name:?} in {file}")?;
            }
        }
        if let Some(backup) = &self.backup {
            writeln!(f, "backup: {}", backup.display())?;
        }
        if !self.moved.is_empty() {
            let names = self.moved.join(", ");
            writeln!(f, "moved:  {names}: behind Trunkline already, so {would}taken out here")?;
        }
        let leads = if self.is_address { "opens: " } else { "starts:" };
        writeln!(f, "{leads} {}", self.leads_to.join(" "))?;
        for note in &self.notes {
            writeln!(f, "note:   {note}")?;
        }
        if self.dry_run {
            return write!(f, "dry run, nothing was written:\n{}", self.diff);
        }
        writeln!(f, "next:   {}", self.next)
    }
}

fn notes(request: &InstallRequest, location: &ConfigLocation, entry: &OurEntry) -> Vec<String> {
    let (title, spec) = (entry.client.title(), entry.client.spec());
    let mut notes = Vec::new();
    if !spec.names.has_room_for(&entry.name) {
        notes.push(format!(
            "{title} puts the entry's name before every tool's; {:?} is so long that long tool names \
             may be cut or left out",
            entry.name
        ));
    }
    notes.extend(location.spec.note.map(str::to_owned));
    if let Launch::Address { members, token_variable, .. } = &request.launch {
        let remote = location.spec.entry.remote.as_ref();
        let has_token = remote.is_some_and(|remote| members.contains_key(remote.headers));
        let by_name = remote.is_some_and(|remote| remote.header_variables.is_some());
        let can_refer = by_name || location.spec.variables != Variables::None;
        if has_token && token_variable.is_empty() && can_refer {
            notes.push(format!(
                "the token is in the file now; with --token-env NAME {title} reads it from a variable"
            ));
        }
    }
    let variables = request.launch.variables();
    if spec.started_from == StartedFrom::Desktop && !variables.is_empty() {
        let what = if entry.is_address() { "entry" } else { "config" };
        notes.push(format!(
            "the {what} needs {}; a program started from the desktop often lacks what the shell sets",
            variables.join(", ")
        ));
    }
    notes
}

/// How the client takes notice, and where to see that it did.
fn next(location: &ConfigLocation) -> &'static str {
    let in_project = location.spec.next_in_project.filter(|_| location.project.is_some());
    in_project.unwrap_or(location.spec.next)
}
