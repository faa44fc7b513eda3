//! Checks Trunkline's entries in the files of clients: whether the program and the config still exist.

use std::path::Path;

use serde_json::Value;
use trunkline_catalog::client::{Client, ENTRY};

use super::finding::{Finding, Grade};
use crate::client::line;
use crate::import::{
    Double, FileOwner, Projects, behind, candidates, config_servers, sections, twice,
};
use crate::install::{
    CurrentFile, Document, EntryTarget, UserFolders, arguments, flag_value, locate, started,
    starts_trunkline,
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
    let mut findings: Vec<Finding> =
        ours.iter().flat_map(|(name, entry)| check(client, name, entry)).collect();
    if let [(first, _), (second, _), ..] = ours.as_slice() {
        let (first, second) = (line(first), line(second));
        let problem = format!("its entries `{first}` and `{second}` both start Trunkline");
        let fix = format!("`trunkline uninstall {client} --name {second}` takes one of them out");
        findings.push(Finding::new(Grade::Warning, "double", client.title(), problem).fix(fix));
    }
    let config = ours.iter().find_map(|(_, entry)| flag_value(entry, "--config"));
    if let Some(config) = config {
        findings.extend(doubles(client, config, folders));
    }
    let lists_all = ours.iter().any(|(_, entry)| lists_every_tool(entry));
    Some(Installed { client, lists_all, findings })
}

/// The servers that the client has although they are behind Trunkline, in its own file and in those of the
/// project here.
fn doubles(client: Client, config: &str, folders: &UserFolders) -> Vec<Finding> {
    let text = std::fs::read_to_string(config).unwrap_or_default();
    let (_, servers) = config_servers(&text);
    let owner = FileOwner::Client(client);
    let mut findings = Vec::new();
    for candidate in candidates(&[owner], &folders.current_dir, folders) {
        let Ok(found) = CurrentFile::read(&candidate.file) else { continue };
        let Some(text) = found.content() else { continue };
        for section in sections(&candidate, text, &folders.current_dir, Projects::This) {
            let fix = match section.project {
                None => format!(
                    "`trunkline install {client} --config {config}` takes it out of the client's file"
                ),
                Some(_) => format!(
                    "`trunkline setup --client {client} --project --config {config}` takes it out of \
                     the project's"
                ),
            };
            let found = behind(owner, &candidate.file, text, &section, &servers);
            findings.extend(found.iter().map(|double| {
                let (name, known_as) = (line(&double.name), line(&double.known_as));
                let file = candidate.file.display();
                let problem =
                    format!("`{name}` in {file} is behind Trunkline, too (as `{known_as}`)");
                Finding::new(Grade::Warning, "double", client.title(), problem).fix(fix.clone())
            }));
        }
    }
    findings
}

/// The servers that a config has under two names.
pub(crate) fn repeated(config: &str, text: &str) -> Vec<Finding> {
    let (_, servers) = config_servers(text);
    let finding = |double: &Double| {
        let (name, known_as) = (line(&double.name), line(&double.known_as));
        let problem = format!("`{name}` is the same server as `{known_as}`: it runs twice");
        let fix =
            format!("`trunkline remove {name} --config {config}`, or give it other arguments");
        Finding::new(Grade::Warning, "double", config, problem).fix(fix)
    };
    twice(&servers).iter().map(finding).collect()
}

fn lists_every_tool(entry: &Value) -> bool {
    let args = arguments(entry);
    let follows = |pair: &[&str]| matches!(pair, ["--expose", "full"]);
    args.windows(2).any(follows) || args.contains(&"--expose=full")
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
    let value = |flag: &str| flag_value(entry, flag);
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
