//! What `install` tells the user.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Value, json};
use trunkline_catalog::name::Client;

use super::entry::Entry;
use super::place::{Place, Scope};
use super::request::InstallRequest;

#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) client: Client,
    /// The entry's name in the file.
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    /// The file as it was before; `None` when nothing was overwritten.
    pub(crate) backup: Option<PathBuf>,
    /// What was done, or in a dry run what would be.
    pub(crate) outcome: Outcome,
    pub(crate) dry_run: bool,
    /// What the client will run.
    pub(crate) command: Vec<String>,
    /// Empty when nothing changes. Never shows another entry's content.
    pub(crate) diff: String,
    pub(crate) notes: Vec<String>,
    pub(crate) next: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The file is new.
    Created,
    Added,
    /// The entry was ours and starts something else now.
    Updated,
    /// The entry was not ours (`--force`).
    Replaced,
    Unchanged,
}

impl Report {
    pub(super) fn new(
        request: &InstallRequest,
        place: &Place,
        entry: &Entry,
        outcome: Outcome,
        diff: String,
    ) -> Self {
        Self {
            client: entry.client,
            name: entry.name.clone(),
            file: place.file.clone(),
            backup: None,
            outcome,
            dry_run: request.wanted.dry_run,
            command: entry.command_line(),
            diff,
            notes: notes(request, entry),
            next: next(entry.client, place.scope),
        }
    }
}

impl Report {
    pub(crate) fn json(&self) -> Value {
        let outcome = match self.outcome {
            Outcome::Created => "created",
            Outcome::Added => "added",
            Outcome::Updated => "updated",
            Outcome::Replaced => "replaced",
            Outcome::Unchanged => "unchanged",
        };
        json!({
            "client": self.client.id(),
            "name": self.name,
            "file": self.file.display().to_string(),
            "outcome": outcome,
            "dry_run": self.dry_run,
            "backup": self.backup.as_ref().map(|backup| backup.display().to_string()),
            "command": self.command,
            "notes": self.notes,
            "next": self.next,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (title, name, file) = (self.client.profile().title, &self.name, self.file.display());
        if self.outcome == Outcome::Unchanged {
            return writeln!(f, "nothing to do: {title} already has {name:?} in {file}");
        }
        let would = if self.dry_run { "would have " } else { "" };
        match self.outcome {
            Outcome::Created => writeln!(f, "{title}: {would}created {file} with {name:?}")?,
            Outcome::Added => writeln!(f, "{title}: {would}added {name:?} to {file}")?,
            Outcome::Replaced => writeln!(f, "{title}: {would}replaced {name:?} in {file}")?,
            Outcome::Updated | Outcome::Unchanged => {
                writeln!(f, "{title}: {would}updated {name:?} in {file}")?;
            }
        }
        if let Some(backup) = &self.backup {
            writeln!(f, "backup: {}", backup.display())?;
        }
        writeln!(f, "starts: {}", self.command.join(" "))?;
        for note in &self.notes {
            writeln!(f, "note:   {note}")?;
        }
        if self.dry_run {
            return write!(f, "dry run, nothing was written:\n{}", self.diff);
        }
        writeln!(f, "next:   {}", self.next)
    }
}

fn notes(request: &InstallRequest, entry: &Entry) -> Vec<String> {
    let profile = entry.client.profile();
    let title = profile.title;
    let mut notes = Vec::new();
    if !profile.has_room_for(&entry.name) {
        notes.push(format!(
            "{title} puts the entry's name before every tool's; {:?} is so long that long tool names \
             may be cut or left out",
            entry.name
        ));
    }
    if entry.client == Client::Codex {
        notes.push(
            "Codex does not wait for its servers; with `required = true` in the entry it does"
                .to_owned(),
        );
    }
    let desktop = matches!(
        entry.client,
        Client::ClaudeDesktop | Client::Cursor | Client::Zed | Client::Windsurf | Client::Cline
    );
    if desktop && !request.variables.is_empty() {
        notes.push(format!(
            "the config needs {}; a program started from the desktop often lacks what the shell sets",
            request.variables.join(", ")
        ));
    }
    notes
}

/// How the client takes notice, and where to see that it did.
fn next(client: Client, scope: Scope) -> &'static str {
    match (client, scope) {
        (Client::ClaudeDesktop, _) => {
            "quit Claude Desktop completely and start it again; Settings → Developer shows the server"
        }
        (Client::ClaudeCode, Scope::User) => {
            "start a new session; `claude mcp list` or `/mcp` shows the server"
        }
        (Client::ClaudeCode, Scope::Project) => {
            "start `claude` in the project and approve the server; `/mcp` shows it"
        }
        (Client::Cursor, _) => "open Cursor Settings → MCP and switch the server on",
        (Client::VsCode, _) => "run `MCP: List Servers` from the command palette and start it",
        (Client::Codex, Scope::User) => "start a new session; `codex mcp list` shows the server",
        (Client::Codex, Scope::Project) => {
            "start `codex` in the project and trust it; `codex mcp list` shows the server"
        }
        (Client::Gemini, Scope::User) => "start a new session; `gemini mcp list` shows the server",
        (Client::Gemini, Scope::Project) => {
            "start `gemini` in the project and trust the folder; `gemini mcp list` shows the server"
        }
        (Client::Zed, _) => {
            "Zed reads the file at once; the Agent Panel's settings show the server"
        }
        (Client::Windsurf, _) => "open Windsurf Settings → Cascade → MCP servers and refresh",
        (Client::Cline, _) => {
            "Cline reads the file at once; its MCP servers panel shows the server"
        }
        (Client::Goose, _) => "start a new session; `goose info -v` or `/extension` shows it",
        (Client::OpenAi, _) => "let your host start the command above",
    }
}
