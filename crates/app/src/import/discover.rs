//! Finds the files in which clients keep servers, and the parts of them that hold servers.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::owner::FileOwner;
use super::parse::parse;
use super::read::Section;
use crate::install::{UserFolders, more_user_files, user_files};

/// A file that may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) owner: FileOwner,
    pub(crate) file: PathBuf,
    /// The folder whose file it is; `None`: the user's.
    pub(crate) project: Option<PathBuf>,
}

/// Every file in which these clients look, the user's before the project's.
pub(crate) fn candidates(
    owners: &[FileOwner],
    project: &Path,
    folders: &UserFolders,
) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for (owner, spec) in owners.iter().filter_map(|owner| Some((*owner, owner.spec()?))) {
        let mut add = |file: PathBuf, project: Option<&Path>| {
            let candidate = Candidate { owner, file, project: project.map(Path::to_owned) };
            // A project that is the home folder has the user's files.
            if !found.iter().any(|known| known.owner == owner && known.file == candidate.file) {
                found.push(candidate);
            }
        };
        let of_user = user_files(spec, folders).into_iter().chain(more_user_files(spec, folders));
        of_user.for_each(|file| add(file, None));
        if let Some(file) = spec.project {
            add(project.join(file), Some(project));
        }
    }
    found
}

/// The parts of a file that hold servers. `all` asks for those of every project.
pub(crate) fn sections(
    candidate: &Candidate,
    text: &str,
    project: &Path,
    all: Projects,
) -> Vec<Section> {
    let Candidate { owner, project: own, .. } = candidate;
    let mut sections = vec![Section::main(*owner, own.clone())];
    let by_folder = owner.spec().and_then(|spec| spec.projects);
    for folder in local_projects(candidate, text) {
        if all == Projects::All || Path::new(&folder) == project {
            let names = [by_folder.unwrap_or_default(), &folder, owner.key()];
            sections.push(Section {
                scope: folder.clone(),
                path: names.map(str::to_owned).to_vec(),
                project: Some(folder.into()),
            });
        }
    }
    sections
}

/// Whose local servers are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Projects {
    This,
    All,
}

/// The folders that have servers of their own in the user's file.
pub(super) fn local_projects(candidate: &Candidate, text: &str) -> Vec<String> {
    let owner = candidate.owner;
    let Some(by_folder) = owner.spec().and_then(|spec| spec.projects) else { return Vec::new() };
    if candidate.project.is_some() {
        return Vec::new();
    }
    let root = parse(text, owner.format()).unwrap_or_default();
    let projects = root.get(by_folder).and_then(Value::as_object).into_iter().flatten();
    let has_servers = |project: &Value| {
        let servers = project.get(owner.key()).and_then(Value::as_object);
        servers.is_some_and(|servers| !servers.is_empty())
    };
    projects.filter(|(_, project)| has_servers(project)).map(|(path, _)| path.clone()).collect()
}
