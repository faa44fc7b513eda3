//! Decides what moves: which servers leave the client's file, which the config gets. Pure.

use crate::import::{
    FileOwner, Imported, Merged, Section, config_servers, config_text, merge, read_file, tolerant,
};
use crate::install::{ConfigLocation, Document, InstallError, as_error};

/// What is to be written.
#[derive(Debug)]
pub(super) struct Move {
    /// What the client's file has.
    pub(super) imported: Imported,
    /// The servers that are new in the config.
    pub(super) new: Vec<Merged>,
    pub(super) notes: Vec<String>,
    /// The config with them.
    pub(super) config: String,
    /// The client's file without its servers, and still without Trunkline.
    pub(super) client: String,
}

/// `config` is the text of the config, if there is one.
pub(super) fn plan(
    owner: FileOwner,
    client: &str,
    location: &ConfigLocation,
    config: Option<&str>,
) -> Result<Move, InstallError> {
    let fail = |problem| as_error(problem, location);
    // What is not valid is refused with its location, and not taken for a file without servers.
    let mut document = Document::parse(client, location.format).map_err(fail)?;
    let section = Section::main(owner, location.project.clone());
    let imported = read_file(owner, &location.file, client, &section);
    let (key, taken) = config_servers(config.unwrap_or_default());
    let (mut new, notes) = merge(std::slice::from_ref(&imported), &taken);
    new.iter_mut().flat_map(|it| it.server.entry.values_mut()).for_each(tolerant);
    let config = config_text(config.unwrap_or_default(), key, new.iter().map(|it| &it.server))
        .ok_or(InstallError::ConfigUnreadable)?;
    for server in &imported.servers {
        document.remove(&[location.key, &server.name]).map_err(fail)?;
    }
    Ok(Move { imported, new, notes, config, client: document.text() })
}
