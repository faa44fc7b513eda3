//! Decides what becomes of each file: which servers leave it, what the config gets. Reads and writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use trunkline_catalog::client::{Client, ENTRY};

use super::find::{FoundFile, FoundFiles, SetupRequest};
use crate::import::{
    FileOwner, ImportProblem, Imported, Merged, config_servers, config_text, known_as, merge,
    read_file, tolerant,
};
use crate::install::{
    COMMENTED, CurrentFile, Document, EntryTarget, InstallError, InstallRequest, Launch, OurEntry,
    as_error, flag_value, is_our_entry, plan as entry_plan, started,
};

/// Everything that is to be written.
#[derive(Debug)]
pub(crate) struct SetupPlan {
    pub(crate) config: PathBuf,
    pub(crate) config_text: String,
    /// Whether the config becomes another one.
    pub(crate) config_changes: bool,
    /// The servers that are new in the config, and where they come from.
    pub(crate) new: Vec<Merged>,
    /// The names of the servers the config had before.
    pub(crate) kept: Vec<String>,
    pub(crate) files: Vec<FileChange>,
    pub(crate) notes: Vec<String>,
    pub(crate) unreadable: Vec<(Client, String)>,
    pub(crate) of_project: Vec<(Client, PathBuf, usize)>,
}

/// What becomes of one file.
#[derive(Debug)]
pub(crate) struct FileChange {
    pub(crate) client: Client,
    pub(crate) file: PathBuf,
    /// What its parts have.
    pub(crate) imported: Vec<Imported>,
    /// Whether Trunkline's entry is in it afterwards.
    pub(crate) has_entry: bool,
    /// Whether an entry in it leads to this config already.
    pub(crate) had_config: bool,
    /// The new text; `None`: it stays as it is.
    pub(crate) text: Option<String>,
    pub(crate) current: CurrentFile,
}

impl SetupPlan {
    pub(crate) fn is_done(&self) -> bool {
        !self.config_changes && self.files.iter().all(|file| file.text.is_none())
    }

    /// Whether only entries of Trunkline are brought up to date: no client sees other servers than before.
    pub(crate) fn moves_nothing(&self) -> bool {
        let is_same = |file: &FileChange| {
            file.moved().next().is_none() && (file.had_config || !file.has_entry)
        };
        self.new.is_empty() && self.files.iter().all(is_same)
    }
}

impl FileChange {
    /// The servers that leave the file.
    pub(crate) fn moved(&self) -> impl Iterator<Item = &str> {
        self.imported.iter().flat_map(|part| &part.servers).map(|server| server.name.as_str())
    }

    /// What stays in the file, or is to be said of what moves.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &ImportProblem> {
        let is_trunkline =
            |problem: &&ImportProblem| problem.left_out && problem.message == "is Trunkline itself";
        self.imported.iter().flat_map(|part| &part.problems).filter(move |it| !is_trunkline(it))
    }
}

/// A file without its servers.
struct Emptied {
    found: FoundFile,
    imported: Vec<Imported>,
    text: String,
    /// The name of the entry it is to have.
    entry: Option<String>,
    had_config: bool,
}

/// `config` is the text of the config, if there is one; `variables` names those that a config refers to.
pub(crate) fn plan(
    request: &SetupRequest,
    found: FoundFiles,
    config: Option<&str>,
    variables: &dyn Fn(&str) -> Vec<String>,
) -> Result<SetupPlan, InstallError> {
    let FoundFiles { files, unreadable, of_project } = found;
    let mut unreadable: Vec<(Client, String)> =
        unreadable.into_iter().map(|(client, error)| (client, error.to_string())).collect();
    let mut emptied = Vec::new();
    for file in files {
        let client = file.client;
        match empty(request, file) {
            Ok(done) => emptied.push(done),
            // What cannot be edited keeps its servers: in the config they would be there twice.
            Err(error) => unreadable.push((client, error.to_string())),
        }
    }
    let parts: Vec<Imported> = emptied.iter().flat_map(|it| it.imported.iter().cloned()).collect();
    let before = config.unwrap_or_default();
    let (key, taken) = config_servers(before);
    let (mut new, notes) = merge(&parts, &taken);
    new.iter_mut().flat_map(|it| it.server.entry.values_mut()).for_each(tolerant);
    let text = match new.is_empty() && config.is_some() {
        true => before.to_owned(),
        false => config_text(before, key, new.iter().map(|it| &it.server))
            .ok_or(InstallError::ConfigUnreadable)?,
    };
    let text = match request.separate {
        true => with_presets(&text, &emptied).ok_or(InstallError::ConfigUnreadable)?,
        false => text,
    };
    let names = variables(&text);
    let mut files = Vec::new();
    for file in emptied {
        files.push(file.with_entry(request, &names)?);
    }
    Ok(SetupPlan {
        config: request.config.clone(),
        config_changes: config != Some(&text) && !files.is_empty(),
        config_text: text,
        new,
        kept: taken.into_iter().map(|server| server.name).collect(),
        files,
        notes,
        unreadable,
        of_project,
    })
}

/// The config with a preset for each client that has servers: those it has now. What the user has said about
/// a client stays.
fn with_presets(text: &str, files: &[Emptied]) -> Option<String> {
    let (_, servers) = config_servers(text);
    let mut document = Document::parse(text, COMMENTED).ok()?;
    let mut shown: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let own = file.imported.iter().flat_map(|part| &part.servers);
        let own = own.filter_map(|server| known_as(server, &servers));
        shown.entry(file.found.client.id()).or_default().extend(own);
    }
    for (client, own) in shown.into_iter().filter(|(_, own)| !own.is_empty()) {
        if document.get(&["clients", client, "preset"]).is_some() {
            continue;
        }
        let own: Vec<&str> = own.into_iter().collect();
        document.set(&["presets", client], &own.into()).ok()?;
        document.set(&["clients", client, "preset"], &client.into()).ok()?;
    }
    Some(document.text())
}

/// Takes the servers out, and tries whether the entry could be put in.
fn empty(request: &SetupRequest, found: FoundFile) -> Result<Emptied, InstallError> {
    let (location, owner) = (&found.location, FileOwner::Client(found.client));
    if location.file == request.config {
        return Err(InstallError::ConfigIsClientFile { path: request.config.clone() });
    }
    let fail = |problem| as_error(problem, location);
    let text = found.current.content().unwrap_or_default();
    let mut document = Document::parse(text, location.format).map_err(fail)?;
    let mut imported = Vec::new();
    for section in &found.sections {
        let part = read_file(owner, &location.file, text, section);
        for server in &part.servers {
            let names = section.path.iter().chain([&server.name]).map(String::as_str);
            document.remove(&names.collect::<Vec<_>>()).map_err(fail)?;
        }
        imported.push(part);
    }
    let entry = match found.gets_entry {
        true => entry_name(&document, location.key),
        false => None,
    };
    let moves_any = imported.iter().any(|part| !part.servers.is_empty());
    if found.gets_entry && entry.is_none() && moves_any {
        let (client, file) = (found.client, location.file.clone());
        return Err(InstallError::ConnectsToServe { client, file });
    }
    let had_config = leads_to_config(&document, location.key, &request.config);
    let text = document.text();
    let emptied = Emptied { found, imported, text, entry, had_config };
    emptied.entry_text(request, &[])?;
    Ok(emptied)
}

/// The name of the entry to write: that of one that starts Trunkline already, else the usual one. `None` for
/// a client that connects to a `serve`.
fn entry_name(document: &Document, key: &str) -> Option<String> {
    let servers = document.get(&[key]);
    let servers = servers.as_ref().and_then(Value::as_object);
    let ours = servers.into_iter().flatten().find(|(_, entry)| is_our_entry(entry));
    match ours {
        Some((name, entry)) => started(entry).map(|_| name.clone()),
        None => Some(ENTRY.to_owned()),
    }
}

/// Whether an entry of ours starts Trunkline with this config.
fn leads_to_config(document: &Document, key: &str, config: &Path) -> bool {
    let servers = document.get(&[key]);
    let mut servers = servers.as_ref().and_then(Value::as_object).into_iter().flatten();
    servers.any(|(_, entry)| {
        is_our_entry(entry) && flag_value(entry, "--config").map(Path::new) == Some(config)
    })
}

impl Emptied {
    fn entry_text(
        &self,
        request: &SetupRequest,
        variables: &[String],
    ) -> Result<String, InstallError> {
        let Some(name) = &self.entry else { return Ok(self.text.clone()) };
        let install = InstallRequest {
            target: EntryTarget {
                client: self.found.client,
                name: Some(name.clone()),
                project: None,
                file: Some(self.found.location.file.clone()),
                dry_run: false,
                force: false,
            },
            launch: Launch::Command {
                config: request.config.clone(),
                variables: variables.to_vec(),
                flags: request.flags.clone(),
            },
            executable: request.executable.clone(),
            folders: request.folders.clone(),
            now: request.now,
        };
        let entry = OurEntry::new(&install)?;
        let text = self.found.current.content().map(|_| self.text.as_str());
        Ok(entry_plan(text, &self.found.location, &entry, false, &[])?.text)
    }

    fn with_entry(
        self,
        request: &SetupRequest,
        variables: &[String],
    ) -> Result<FileChange, InstallError> {
        let text = self.entry_text(request, variables)?;
        let Self { found, imported, entry, had_config, .. } = self;
        let text = (found.current.content() != Some(&text)).then_some(text);
        Ok(FileChange {
            client: found.client,
            file: found.location.file,
            imported,
            has_entry: found.gets_entry || entry.is_some(),
            had_config,
            text,
            current: found.current,
        })
    }
}
