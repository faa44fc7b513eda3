//! Runs `install`: finds the file, decides, writes, reports.

use std::fs;
use std::path::Path;

use super::apply::{CurrentFile, WriteOutcome};
use super::entry::OurEntry;
use super::error::InstallError;
use super::location::{ConfigLocation, locate};
use super::plan::plan;
use super::report::{InstallOutcome, InstallReport};
use super::request::{InstallRequest, Launch};
use crate::timestamp::file_stamp;

/// A client that writes its file all the time is given this many chances to pause.
pub(crate) const ATTEMPTS: usize = 5;

/// Names the servers in the text of a client's file that the config has, too.
pub(crate) type BehindTrunkline<'f> = &'f dyn Fn(&ConfigLocation, &str) -> Vec<String>;

/// Adds or replaces Trunkline's entry in the client's config file. What is behind Trunkline already leaves
/// the file, so that no server is there twice.
pub(crate) fn run(
    request: &InstallRequest,
    behind: BehindTrunkline<'_>,
) -> Result<InstallReport, InstallError> {
    let location = locate(&request.target, &request.folders)?;
    let entry = OurEntry::new(request)?;
    if let Launch::Command { config, .. } = &request.launch {
        check_config(&request.folders.absolute(config), &location.file)?;
    }
    for _ in 0..ATTEMPTS {
        let found = CurrentFile::read(&location.file)?;
        let behind = found.content().map(|text| behind(&location, text)).unwrap_or_default();
        let plan = plan(found.content(), &location, &entry, request.target.force, &behind)?;
        let mut report = InstallReport::new(request, &location, &entry, &plan);
        if request.target.dry_run || plan.outcome == InstallOutcome::Unchanged {
            return Ok(report);
        }
        if let WriteOutcome::Done { backup } = found.write(&plan.text, &file_stamp(request.now))? {
            report.backup = backup;
            return Ok(report);
        }
    }
    Err(InstallError::KeepsChanging { file: location.file })
}

/// A client must not be told to start something that cannot start, or that starts itself.
fn check_config(config: &Path, client_file: &Path) -> Result<(), InstallError> {
    let path = config.to_owned();
    match (fs::canonicalize(config), fs::canonicalize(client_file)) {
        (Err(_), _) => Err(InstallError::ConfigMissing { path }),
        (Ok(config), Ok(file)) if config == file => Err(InstallError::ConfigIsClientFile { path }),
        _ => Ok(()),
    }
}
