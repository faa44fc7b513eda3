//! Finds the files of the clients on this machine that have servers or can have Trunkline's entry.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use trunkline_catalog::client::Client;

use crate::import::{Candidate, FileOwner, Projects, Section, read_file, sections};
use crate::install::{
    ConfigLocation, CurrentFile, EntryTarget, InstallError, UserFolders, locate, location_of,
    more_user_files,
};

/// What `setup` is to work on. It reads neither the environment nor the clock itself.
#[derive(Debug, Clone)]
pub(crate) struct SetupRequest {
    pub(crate) clients: Vec<Client>,
    /// The config that gets the servers, from the root.
    pub(crate) config: PathBuf,
    pub(crate) executable: PathBuf,
    /// More flags for the entries.
    pub(crate) flags: Vec<String>,
    /// Each client is shown only what it has now.
    pub(crate) separate: bool,
    /// The project whose servers move, too.
    pub(crate) project: Option<PathBuf>,
    pub(crate) folders: UserFolders,
    pub(crate) now: SystemTime,
}

/// A file of a client.
#[derive(Debug)]
pub(crate) struct FoundFile {
    pub(crate) client: Client,
    pub(crate) location: ConfigLocation,
    /// The parts whose servers move.
    pub(crate) sections: Vec<Section>,
    /// Whether Trunkline's entry belongs into it.
    pub(crate) gets_entry: bool,
    pub(crate) current: CurrentFile,
}

/// Everything there is.
#[derive(Debug, Default)]
pub(crate) struct FoundFiles {
    pub(crate) files: Vec<FoundFile>,
    /// Files that cannot be read, and why.
    pub(crate) unreadable: Vec<(Client, InstallError)>,
    /// Servers of the project here, which stay unless the project is named: where, and how many.
    pub(crate) of_project: Vec<(Client, PathBuf, usize)>,
}

pub(crate) fn find(request: &SetupRequest) -> FoundFiles {
    let mut found = FoundFiles::default();
    for client in &request.clients {
        if let Err(error) = find_client(*client, request, &mut found) {
            found.unreadable.push((*client, error));
        }
    }
    found
}

fn find_client(
    client: Client,
    request: &SetupRequest,
    found: &mut FoundFiles,
) -> Result<(), InstallError> {
    let folders = &request.folders;
    let target =
        EntryTarget { client, name: None, project: None, file: None, dry_run: true, force: false };
    let main = locate(&target, folders)?;
    let owner = FileOwner::Client(client);
    let mut others = Vec::new();
    for file in more_user_files(main.spec, folders) {
        if file == main.file {
            continue;
        }
        let current = CurrentFile::read(&file)?;
        let (Some(text), Some(location)) = (current.content(), location_of(client, &file, None))
        else {
            continue;
        };
        let sections = vec![Section::main(owner, None)];
        // A list beside the client's usual file is emptied; another profile's file has its own entry.
        let gets_entry = location.format == main.format;
        if gets_entry
            && read_file(owner, &file, text, &Section::main(owner, None)).servers.is_empty()
        {
            continue;
        }
        others.push(FoundFile { client, location, sections, gets_entry, current });
    }
    let current = CurrentFile::read(&main.file)?;
    let project = request.project.as_deref().unwrap_or(&folders.current_dir);
    let project = folders.absolute(project);
    if current.content().is_some() || others.iter().any(|it| !it.gets_entry) {
        let text = current.content().unwrap_or_default();
        let candidate = Candidate { owner, file: main.file.clone(), project: None };
        let mut parts = sections(&candidate, text, &project, Projects::This);
        if request.project.is_none() {
            for part in parts.split_off(1) {
                let count = read_file(owner, &main.file, text, &part).servers.len();
                found.of_project.push((client, main.file.clone(), count));
            }
        }
        let location = main.clone();
        found.files.push(FoundFile {
            client,
            location,
            sections: parts,
            gets_entry: true,
            current,
        });
    }
    found.files.append(&mut others);
    find_in_project(client, &main, &project, request.project.is_some(), found)
}

/// The project's own file. It gets no entry: that of the user's file counts there, too.
fn find_in_project(
    client: Client,
    main: &ConfigLocation,
    project: &Path,
    moves: bool,
    found: &mut FoundFiles,
) -> Result<(), InstallError> {
    let Some(name) = main.spec.project else { return Ok(()) };
    let file = project.join(name);
    // A project that is the home folder has the user's files.
    if found.files.iter().any(|known| known.location.file == file) {
        return Ok(());
    }
    let current = CurrentFile::read(&file)?;
    let Some(text) = current.content() else { return Ok(()) };
    let Some(location) = location_of(client, &file, Some(project.to_owned())) else {
        return Ok(());
    };
    let owner = FileOwner::Client(client);
    let section = Section::main(owner, Some(project.to_owned()));
    match read_file(owner, &file, text, &section).servers.len() {
        0 => {}
        _ if moves => found.files.push(FoundFile {
            client,
            location,
            sections: vec![section],
            gets_entry: false,
            current,
        }),
        count => found.of_project.push((client, file, count)),
    }
    Ok(())
}
