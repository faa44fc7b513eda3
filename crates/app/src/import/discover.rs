//! Where clients keep their servers: which files there may be, and which parts of them hold servers.
//!
//! From `notes/clients.md` §1.4.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trunkline_catalog::name::Client;

use super::owner::Owner;
use super::parse::parse;
use super::read::Section;
use crate::install::{Environment, app_folder, moved_files, project_file, user_file};

/// A file that may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) owner: Owner,
    pub(super) file: PathBuf,
    /// The folder whose file it is; `None`: the user's.
    pub(super) project: Option<PathBuf>,
}

/// Every place where these clients look, the user's files before the project's.
pub(super) fn candidates(owners: &[Owner], project: &Path, env: &Environment) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for owner in owners {
        let mut add = |file: PathBuf, project: Option<&Path>| {
            let candidate = Candidate { owner: *owner, file, project: project.map(Path::to_owned) };
            // A project that is the home folder has the user's files.
            if !found.iter().any(|known| known.owner == *owner && known.file == candidate.file) {
                found.push(candidate);
            }
        };
        user_files(*owner, env).into_iter().for_each(|file| add(file, None));
        if let Some(file) = client(*owner).and_then(project_file) {
            add(project.join(file), Some(project));
        }
    }
    found
}

/// The parts of a file that hold servers. `all` asks for those of every project.
pub(super) fn sections(
    candidate: &Candidate,
    text: &str,
    project: &Path,
    all: Projects,
) -> Vec<Section> {
    let Candidate { owner, project: own, .. } = candidate;
    let mut sections = vec![Section::main(*owner, own.clone())];
    if *owner == Owner::ClaudeCode && own.is_none() {
        let local = local_projects(text);
        let wanted =
            |folder: &&String| all == Projects::All || Path::new(folder.as_str()) == project;
        sections.extend(local.iter().filter(wanted).map(|folder| Section {
            scope: folder.clone(),
            path: vec!["projects".to_owned(), folder.clone(), "mcpServers".to_owned()],
            project: Some(folder.into()),
        }));
    }
    sections
}

/// Whose local servers are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Projects {
    This,
    All,
}

/// The folders that have servers of their own in Claude Code's file.
pub(super) fn local_projects(text: &str) -> Vec<String> {
    let root = parse(text, Owner::ClaudeCode.format()).unwrap_or_default();
    let projects = root.get("projects").and_then(Value::as_object).into_iter().flatten();
    let has_servers = |project: &Value| {
        let servers = project.get("mcpServers").and_then(Value::as_object);
        servers.is_some_and(|servers| !servers.is_empty())
    };
    projects.filter(|(_, project)| has_servers(project)).map(|(path, _)| path.clone()).collect()
}

fn client(owner: Owner) -> Option<Client> {
    owner.id().parse().ok()
}

fn user_files(owner: Owner, env: &Environment) -> Vec<PathBuf> {
    match (owner, client(owner)) {
        (Owner::VsCode, _) => {
            let app = app_folder(env);
            let of = |name: &str| app.as_deref().map(|app| app.join(name).join("User"));
            let folders = [of("Code"), of("Code - Insiders")];
            let folders = folders.into_iter().flatten();
            let all = folders.flat_map(|folder| profiles(&folder).into_iter().chain([folder]));
            let mut all: Vec<PathBuf> = all.map(|folder| folder.join("mcp.json")).collect();
            all.sort();
            all
        }
        (Owner::Windsurf | Owner::Cline, Some(client)) => moved_files(client, env),
        (_, client) => client.and_then(|client| user_file(client, env)).into_iter().collect(),
    }
}

/// Each profile of VS Code has a folder.
fn profiles(user: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(user.join("profiles")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}
