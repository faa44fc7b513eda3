//! Checks Trunkline's entries in the files of clients: whether the program and the config still exist.

use std::path::Path;

use serde_json::Value;
use trunkline_catalog::client::{Client, ENTRY};

use super::finding::{Finding, Grade};
use crate::client::line;
use crate::install::{
    CurrentFile, Document, EntryTarget, UserFolders, locate, started, starts_trunkline,
};

/// A client that starts Trunkline.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) client: Client,
    /// An entry says `--expose full`.
    pub(crate) lists_all: bool,
    pub(crate) findings: Vec<Finding>,
}

/// Those of the user's own files that have an entry of ours, or cannot be read.
pub(crate) fn installed(folders: &UserFolders) -> Vec<Installed> {
    Client::ALL.into_iter().filter_map(|client| look(client, folders)).collect()
}

fn look(client: Client, folders: &UserFolders) -> Option<Installed> {
    let target =
        EntryTarget { client, name: None, project: None, file: None, dry_run: true, force: false };
    let location = locate(&target, folders).ok()?;
    let found = CurrentFile::read(&location.file).ok()?;
    let Ok(document) = Document::parse(found.content()?, location.format) else {
        let problem = format!("its file {} cannot be read", location.file.display());
        let fix = format!("`trunkline install {client} --dry-run` says where it is broken");
        let finding = Finding::new(Grade::Warning, "client", client.title(), problem);
        return Some(Installed { client, lists_all: false, findings: vec![finding.fix(fix)] });
    };
    let servers = document.get(&[location.key])?;
    let ours = servers.as_object()?.iter().filter(|(_, entry)| starts_trunkline(entry));
    let ours: Vec<(&String, &Value)> = ours.collect();
    if ours.is_empty() {
        return None;
    }
    let findings = ours.iter().flat_map(|(name, entry)| check(client, name, entry)).collect();
    let lists_all = ours.iter().any(|(_, entry)| lists_every_tool(entry));
    Some(Installed { client, lists_all, findings })
}

fn lists_every_tool(entry: &Value) -> bool {
    let args = args(entry);
    let follows = |pair: &[&str]| matches!(pair, ["--expose", "full"]);
    args.windows(2).any(follows) || args.contains(&"--expose=full")
}

fn args(entry: &Value) -> Vec<&str> {
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten();
    args.filter_map(Value::as_str).collect()
}

fn check(client: Client, name: &str, entry: &Value) -> Vec<Finding> {
    let title = client.title();
    let mut findings = Vec::new();
    let mut tell = |grade: Grade, problem: String, fix: String| {
        findings.push(Finding::new(grade, "client", title, problem).fix(fix));
    };
    let named = if name == ENTRY { String::new() } else { format!(" --name {}", line(name)) };
    let entry_name = line(name);
    let again = format!("`trunkline install {client} --config FILE{named}` writes the entry anew");
    let command = started(entry).unwrap_or_default();
    if command.contains('/') && !Path::new(command).exists() {
        let problem = format!("its entry `{entry_name}` starts {command}, which is not there");
        tell(Grade::Error, problem, again.clone());
    }
    let args = args(entry);
    let value = |flag: &str| {
        let at = args.iter().position(|arg| *arg == flag)?;
        args.get(at + 1).copied()
    };
    match value("--config") {
        Some(config) if !Path::new(config).exists() => {
            let problem =
                format!("its entry `{entry_name}` names the config {config}, which is not there");
            tell(Grade::Error, problem, again);
        }
        _ => {}
    }
    match value("--for") {
        None => tell(
            Grade::Warning,
            format!("its entry `{entry_name}` has no --for: it may refuse the names of tools"),
            format!("`trunkline install {client} --config FILE{named}` adds it"),
        ),
        Some(other) if other != client.id() => tell(
            Grade::Warning,
            format!("its entry `{entry_name}` says --for {other}"),
            format!(
                "write --for {client}, or run `trunkline install {client} --config FILE{named}`"
            ),
        ),
        Some(_) => {}
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_has_to_lead_somewhere() {
        let table = [
            (
                json!({"command": "trunkline", "args": ["--config", "/etc/passwd", "--for", "cursor"]}),
                0,
            ),
            (
                json!({"command": "/no/trunkline", "args": ["--config", "/no.json", "--for", "cursor"]}),
                2,
            ),
            (json!({"command": "trunkline", "args": ["--for", "zed"]}), 1),
            (json!({"command": "trunkline"}), 1),
        ];
        for (entry, expected) in table {
            assert_eq!(check(Client::Cursor, "trunkline", &entry).len(), expected, "{entry}");
        }
    }
}
