//! Runs `import`: finds the files, reads them, merges their servers.

use std::fs;
use std::path::{Path, PathBuf};

use super::discover::{Candidate, Projects, candidates, local_projects, sections};
use super::merge::merge;
use super::owner::FileOwner;
use super::read::{ImportProblem, Imported, ImportedServer, read_file};
use super::report::ImportReport;
use crate::install::UserFolders;

/// What is to be read.
#[derive(Debug, Clone)]
pub(crate) struct ImportRequest {
    pub(crate) sources: Sources,
    /// The folder whose files count beside the user's.
    pub(crate) project: PathBuf,
    pub(crate) projects: Projects,
    /// Servers that are there already.
    pub(crate) taken: Vec<ImportedServer>,
    pub(crate) folders: UserFolders,
}

#[derive(Debug, Clone)]
pub(crate) enum Sources {
    /// The files of these clients, where they usually are.
    Clients(Vec<FileOwner>),
    File {
        path: PathBuf,
        owner: FileOwner,
    },
}

/// Larger files are not a client's settings.
const LARGEST: u64 = 64 << 20;

/// Reads what there is. Only a file that was named has to be there.
pub(crate) fn import(request: &ImportRequest) -> Result<ImportReport, String> {
    let folders = &request.folders;
    let project = folders.absolute(&request.project);
    let mut parts = Vec::new();
    let mut elsewhere = Vec::new();
    let found = match &request.sources {
        Sources::Clients(owners) => candidates(owners, &project, folders),
        Sources::File { path, owner } => {
            let file = folders.absolute(path);
            if let Err(error) = fs::metadata(&file) {
                return Err(format!("{}: {error}", file.display()));
            }
            vec![Candidate { owner: *owner, file, project: None }]
        }
    };
    for candidate in &found {
        match text_of(&candidate.file) {
            Ok(None) => {}
            Ok(Some(text)) => {
                let read = read_parts(candidate, &text, &project, request.projects);
                let shown = read.iter().filter(|part| part.scope != "user").count();
                match local_projects(candidate, &text).len().saturating_sub(shown) {
                    0 => {}
                    more => elsewhere.push((candidate.owner, more)),
                }
                parts.extend(read);
            }
            Err(why) => parts.push(unread(candidate, why)),
        }
    }
    let (merged, notes) = merge(&parts, &request.taken);
    Ok(ImportReport { parts, merged, notes, elsewhere })
}

fn read_parts(
    candidate: &Candidate,
    text: &str,
    project: &Path,
    projects: Projects,
) -> Vec<Imported> {
    let sections = sections(candidate, text, project, projects);
    let read = |section| read_file(candidate.owner, &candidate.file, text, section);
    sections.iter().map(read).collect()
}

/// `None`: there is no such file.
fn text_of(file: &Path) -> Result<Option<String>, String> {
    let size = match fs::metadata(file) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    if size > LARGEST {
        return Err(format!("cannot be read: it is larger than {} MiB", LARGEST >> 20));
    }
    let bytes = fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map(Some).map_err(|_| "cannot be read: it is not UTF-8".to_owned())
}

fn unread(candidate: &Candidate, message: String) -> Imported {
    Imported {
        owner: candidate.owner,
        file: candidate.file.clone(),
        scope: if candidate.project.is_some() { "project" } else { "user" }.to_owned(),
        servers: Vec::new(),
        problems: vec![ImportProblem { server: None, message, left_out: false }],
    }
}
