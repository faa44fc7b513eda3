//! A client's own config file: our entry put in and taken out, and backups put back; nothing else in it
//! changes.

use trunkline_catalog::client::FileFormat;
use trunkline_catalog::jsonc::Dialect;

mod apply;
mod backup;
mod diff;
mod document;
mod entry;
mod error;
mod location;
mod plan;
mod report;
mod request;
mod restore;
mod run;
mod uninstall;
mod wrapper;

pub(crate) use apply::{Access, CurrentFile, WriteOutcome};
pub(crate) use backup::Backup;
pub(crate) use document::{Document, DocumentProblem};
pub(crate) use entry::{
    OurEntry, arguments, flag_value, is_our_entry, leads_to_trunkline, started, starts_trunkline,
};
pub(crate) use error::InstallError;
pub(crate) use location::{ConfigLocation, locate, location_of, more_user_files, user_files};
pub(crate) use plan::{as_error, plan};
pub(crate) use request::{EntryTarget, InstallRequest, Launch, UserFolders, this_system};
pub(crate) use restore::{Extent, kept, restore};
pub(crate) use run::{ATTEMPTS, run};
pub(crate) use uninstall::uninstall;
pub(crate) use wrapper::{program_name, unwrapped};

/// JSON as people write it.
pub(crate) const COMMENTED: FileFormat = FileFormat::Json(Dialect::Comments);

#[cfg(test)]
mod tests;
