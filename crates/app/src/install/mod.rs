//! A client's own config file: our entry put in and taken out, and backups put back; nothing else in it
//! changes.

mod apply;
mod backup;
mod diff;
mod document;
mod entry;
mod error;
mod place;
mod plan;
mod report;
mod request;
mod restore;
mod run;
mod uninstall;

pub(crate) use apply::{Found, Written};
pub(crate) use backup::Backup;
pub(crate) use document::{Dialect, Document, Format, Problem};
pub(crate) use entry::{Entry, leads_to_trunkline, started, starts_trunkline};
pub(crate) use error::InstallError;
pub(crate) use place::{
    Place, app_folder, moved_files, place, project_file, user_file, xdg_config,
};
pub(crate) use plan::{as_error, plan};
pub(crate) use request::{Environment, InstallRequest, Os, Wanted};
pub(crate) use restore::{Extent, kept, restore};
pub(crate) use run::{ATTEMPTS, run};
pub(crate) use uninstall::uninstall;

/// JSON as people write it.
pub(crate) const COMMENTED: Format = Format::Json(Dialect::Comments);

#[cfg(test)]
mod tests;
