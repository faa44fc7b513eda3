//! Writes what was planned: the config first, so that no server is lost between, then each client's file.

use std::path::PathBuf;
use std::time::SystemTime;

use trunkline_catalog::client::Client;

use super::plan::SetupPlan;
use super::record::{self, SetupRun, WrittenFile, digest, record_file};
use crate::install::{CurrentFile, InstallError, WriteOutcome};
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
    let stamp = file_stamp(now);
    let mut applied = Applied::default();
    let record = record_file(&plan.config);
    let mut runs = record::read(&record)?;
    let mut run = SetupRun { config: None, files: Vec::new() };
    if plan.config_changes {
        let file = plan.config.clone();
        match CurrentFile::read(&file)?.write_private(&plan.config_text, &stamp)? {
            WriteOutcome::Done { backup } => {
                applied.written.push((file.clone(), backup.clone()));
                let digest = digest(&plan.config_text);
                run.config = Some(WrittenFile { client: String::new(), file, backup, digest });
            }
            WriteOutcome::Overtaken => return Err(InstallError::KeepsChanging { file }),
        }
    }
    runs.push(run.clone());
    // Before a client's file is touched: what is not in the record could not be undone.
    record::write(&record, &runs)?;
    for change in &plan.files {
        let Some(text) = &change.text else { continue };
        let file = change.file.clone();
        match change.current.write(text, &stamp) {
            Ok(WriteOutcome::Done { backup }) => {
                applied.written.push((file.clone(), backup.clone()));
                let client = change.client.id().to_owned();
                run.files.push(WrittenFile { client, file, backup, digest: digest(text) });
                if let Some(last) = runs.last_mut() {
                    last.clone_from(&run);
                }
                record::write(&record, &runs)?;
            }
            Ok(WriteOutcome::Overtaken) => applied.overtaken.push((change.client, file)),
            Err(error) => applied.failed.push((change.client, error)),
        }
    }
    Ok(applied)
}
