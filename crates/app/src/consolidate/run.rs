//! Runs `consolidate`: writes the config first, then the client's file, so that no server is lost between.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::plan::{Move, plan};
use crate::import::{FileOwner, ImportProblem};
use crate::install::{
    ATTEMPTS, ConfigLocation, CurrentFile, InstallError, InstallRequest, Launch, OurEntry,
    WriteOutcome, locate, plan as entry_plan,
};
use crate::timestamp::file_stamp;

/// What is asked for: as for `install`, with a config that need not be there yet.
pub(crate) struct ConsolidateRequest<'r> {
    pub(crate) install: InstallRequest,
    /// The variables that the servers of a config refer to.
    pub(crate) variables: &'r dyn Fn(&str) -> Vec<String>,
}

/// What was moved, and where the backups are.
#[derive(Debug)]
pub(crate) struct Consolidated {
    title: &'static str,
    client: &'static str,
    file: PathBuf,
    config: PathBuf,
    moved: Vec<(String, Vec<String>)>,
    new: Vec<(String, Vec<String>)>,
    notes: Vec<String>,
    left: Vec<ImportProblem>,
    entry_diff: String,
    backups: Vec<PathBuf>,
    dry_run: bool,
}

pub(crate) fn consolidate(request: &ConsolidateRequest<'_>) -> Result<Consolidated, InstallError> {
    let install = &request.install;
    let target = &install.target;
    let location = locate(target, &install.folders)?;
    let owner = FileOwner::Client(target.client);
    let Launch::Command { config, flags, .. } = &install.launch else {
        return Err(InstallError::ConfigUnreadable);
    };
    let config = install.folders.absolute(config);
    if config == location.file {
        return Err(InstallError::ConfigIsClientFile { path: config });
    }
    for _ in 0..ATTEMPTS {
        let (client, kept) = (CurrentFile::read(&location.file)?, CurrentFile::read(&config)?);
        let Some(text) = client.content() else {
            let (client, file) = (target.client, location.file);
            return Err(InstallError::ClientFileMissing { client, file });
        };
        let moved = plan(owner, text, &location, kept.content())?;
        let variables = (request.variables)(&moved.config);
        let launch = Launch::Command { config: config.clone(), variables, flags: flags.clone() };
        let entry = OurEntry::new(&InstallRequest { launch, ..install.clone() })?;
        let written = entry_plan(Some(&moved.client), &location, &entry, target.force, &[])?;
        let mut done = Consolidated::new(request, &location, &config, &moved, written.diff);
        if target.dry_run || (moved.imported.servers.is_empty() && written.text == text) {
            return Ok(done);
        }
        let now = file_stamp(install.now);
        if kept.content() != Some(&moved.config) {
            match kept.write_private(&moved.config, &now)? {
                WriteOutcome::Done { backup } => done.backups.extend(backup),
                WriteOutcome::Overtaken => continue,
            }
        }
        if let WriteOutcome::Done { backup } = client.write(&written.text, &now)? {
            done.backups.extend(backup);
            return Ok(done);
        }
    }
    Err(InstallError::KeepsChanging { file: location.file })
}

impl Consolidated {
    fn new(
        request: &ConsolidateRequest<'_>,
        location: &ConfigLocation,
        config: &Path,
        moved: &Move,
        entry_diff: String,
    ) -> Self {
        let target = &request.install.target;
        let keys = |entry: &serde_json::Map<String, Value>| entry.keys().cloned().collect();
        let servers = moved.imported.servers.iter();
        Self {
            title: target.client.title(),
            client: target.client.id(),
            file: location.file.clone(),
            config: config.to_owned(),
            moved: servers.map(|it| (it.name.clone(), keys(&it.entry))).collect(),
            new: moved
                .new
                .iter()
                .map(|it| (it.server.name.clone(), keys(&it.server.entry)))
                .collect(),
            notes: moved.notes.clone(),
            left: moved.imported.problems.clone(),
            entry_diff,
            backups: Vec::new(),
            dry_run: target.dry_run,
        }
    }

    pub(crate) fn json(&self) -> Value {
        let names = |servers: &[(String, Vec<String>)]| -> Vec<String> {
            servers.iter().map(|(name, _)| name.clone()).collect()
        };
        json!({
            "client": self.client,
            "file": self.file.display().to_string(),
            "config": self.config.display().to_string(),
            "moved": names(&self.moved),
            "added": names(&self.new),
            "notes": self.notes,
            "problems": self.left.iter().map(ImportProblem::json).collect::<Vec<_>>(),
            "backups": self.backups.iter().map(|it| it.display().to_string()).collect::<Vec<_>>(),
            "dry_run": self.dry_run,
        })
    }

    /// Names of servers and of their keys; values may be secrets.
    fn diff(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |mark: char, (name, keys): &(String, Vec<String>)| {
            format!("{mark}    \"{name}\": {{ … }}  ({})", keys.join(", "))
        };
        writeln!(f, "--- {file}\n+++ {file}", file = self.file.display())?;
        for server in &self.moved {
            writeln!(f, "{}", line('-', server))?;
        }
        // our entry, without the names of the file once more
        let entry = self.entry_diff.lines().skip(2);
        entry.into_iter().try_for_each(|line| writeln!(f, "{line}"))?;
        writeln!(f, "--- {file}\n+++ {file}", file = self.config.display())?;
        self.new.iter().try_for_each(|server| writeln!(f, "{}", line('+', server)))
    }
}

impl fmt::Display for Consolidated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (title, file, config) = (self.title, self.file.display(), self.config.display());
        let would = if self.dry_run { "would have " } else { "" };
        let count = match self.moved.len() {
            0 => {
                writeln!(f, "{title}: there is no server to move in {file}")?;
                String::new()
            }
            1 => "1 server".to_owned(),
            many => format!("{many} servers"),
        };
        if !count.is_empty() {
            writeln!(f, "{title}: {would}moved {count} from {file} to {config}")?;
        }
        for note in &self.notes {
            writeln!(f, "note:   {note}")?;
        }
        for trouble in &self.left {
            let label = if trouble.left_out { "stays: " } else { "problem:" };
            let server = trouble.server.as_deref().unwrap_or("the file");
            writeln!(f, "{label} `{server}` {}", trouble.message)?;
        }
        for backup in &self.backups {
            writeln!(f, "backup: {}", backup.display())?;
        }
        if self.dry_run {
            writeln!(f, "dry run, nothing was written:")?;
            return self.diff(f);
        }
        writeln!(f, "next:   `trunkline check --config {config}`, then start the client again")?;
        writeln!(f, "undo:   `trunkline restore {}`", self.client)
    }
}
