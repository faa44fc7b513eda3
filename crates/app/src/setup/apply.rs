//! Writes what was planned: the config first, so that no server is lost between, then each client's file.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use trunkline_catalog::client::Client;

use super::plan::SetupPlan;
use super::record::{self, SetupLock, SetupRun, WrittenFile, record_file};
use crate::install::{Access, CurrentFile, InstallError, WriteOutcome};
use crate::timestamp::file_stamp;

/// What was written.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    /// The files that were written, and their backups.
    pub(crate) written: Vec<(PathBuf, Option<PathBuf>)>,
    /// Files that changed after they were read: to be planned once more.
    pub(crate) overtaken: Vec<(Client, PathBuf)>,
    pub(crate) failed: Vec<(Client, InstallError)>,
}

pub(crate) fn apply(plan: &SetupPlan, now: SystemTime) -> Result<Applied, InstallError> {
    let _lock = SetupLock::take(&plan.config)?;
    let file = record_file(&plan.config);
    apply_with(plan, now, &mut |runs| record::write(&file, runs))
}

/// `write_record` is called before each file is replaced: what is not in the record could not be undone, whenever the
/// program is ended.
pub(super) fn apply_with(
    plan: &SetupPlan,
    now: SystemTime,
    write_record: &mut dyn FnMut(&[SetupRun]) -> Result<(), InstallError>,
) -> Result<Applied, InstallError> {
    let stamp = file_stamp(now);
    let mut applied = Applied::default();
    let runs = record::read(&record_file(&plan.config))?;
    let mut run = SetupRun { config: None, files: Vec::new() };
    let mut recorded = |run: &SetupRun| {
        let with: Vec<SetupRun> = runs.iter().chain([run]).cloned().collect();
        write_record(&with)
    };
    if plan.config_changes {
        let file = plan.config.clone();
        let text = &plan.config_text;
        let record = |backup: Option<&Path>| {
            run.config = Some(WrittenFile::new("", &file, backup, text));
            recorded(&run)
        };
        let current = CurrentFile::read(&file)?;
        match current.write_recorded(text, &stamp, Access::Private, record)? {
            WriteOutcome::Done { backup } => applied.written.push((file, backup)),
            WriteOutcome::Overtaken => return Err(InstallError::KeepsChanging { file }),
        }
    } else {
        recorded(&run)?;
    }
    for change in &plan.files {
        let Some(text) = &change.text else { continue };
        let file = change.file.clone();
        let mut next = run.clone();
        let record = |backup: Option<&Path>| {
            next.files.push(WrittenFile::new(change.client.id(), &file, backup, text));
            recorded(&next)
        };
        match change.current.write_recorded(text, &stamp, Access::AsItWas, record) {
            Ok(WriteOutcome::Done { backup }) => {
                run = next;
                applied.written.push((file, backup));
            }
            Ok(WriteOutcome::Overtaken) => applied.overtaken.push((change.client, file)),
            Err(error) => applied.failed.push((change.client, error)),
        }
    }
    Ok(applied)
}
