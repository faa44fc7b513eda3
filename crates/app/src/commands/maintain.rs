//! `trunkline audit verify` and `trunkline key rotate`: maintenance of a platform's store.

use std::path::Path;

use serde_json::json;
use trunkline_control::audit::{ArchivedAudit, AuditAnchor, AuditArchive};
use trunkline_control::secrets::KeySource;
use trunkline_control::services::{audit_checkpoint, change_key, verify_audit};
use trunkline_store::AuditVerdict;

use crate::cli::{Audit, AuditCommand, KeyArgs, KeyCommand, MaintenanceArgs, VerifyAudit};
use crate::commands::audit_export::export;
use crate::commands::platform::PlatformPaths;
use crate::commands::runtime::{block_on, broke};
use crate::environment::Environment;
use crate::{FAILED, OK, USAGE, console};

pub(crate) fn audit(audit: &Audit, environment: &Environment) -> u8 {
    match &audit.command {
        AuditCommand::Verify(asked) => verify(asked, environment),
        AuditCommand::Export(asked) => export(asked, environment),
    }
}

fn verify(asked: &VerifyAudit, environment: &Environment) -> u8 {
    with(&asked.at, environment, async |kept| {
        let anchor = asked.anchor.as_deref().map(AuditAnchor::read).transpose()?;
        let verdict = verify_audit(&kept.store, &kept.key, anchor).await;
        let verdict = verdict.map_err(|it| it.to_string())?;
        let (code, words, told) = match verdict {
            AuditVerdict::Verified { first, records, last_hash } => {
                let archived = match &asked.archive {
                    Some(dir) => verify_archive(&kept, dir, asked.archive_from).await?,
                    None => None,
                };
                let hash: String = last_hash.iter().map(|byte| format!("{byte:02x}")).collect();
                let removed = match first {
                    1 => String::new(),
                    first => format!(" ({} before them were removed by retention)", first - 1),
                };
                let in_archive = archived.map_or(String::new(), |archived| {
                    let ArchivedAudit { first, last } = archived;
                    format!(
                        "the archive has records {first} to {}, all as they were written\n",
                        last.seq
                    )
                });
                let words = format!(
                    "{in_archive}{records} records, all as they were written{removed}\nlast: {hash}\n"
                );
                let archive = archived
                    .map(|archived| json!({"first": archived.first, "last": archived.last.seq}));
                let told = match archive {
                    None => {
                        json!({"verified": true, "first": first, "records": records, "last_hash": hash})
                    }
                    Some(archive) => json!({"verified": true, "first": first, "records": records,
                        "last_hash": hash, "archive": archive}),
                };
                (OK, words, told)
            }
            AuditVerdict::Broken { seq, why } => {
                let words = format!("record {seq} is the first bad one: {why}\n");
                (FAILED, words, json!({"verified": false, "seq": seq, "why": why}))
            }
        };
        Ok((code, words, told))
    })
}

/// The files that retention has written, up to what the store has removed last.
async fn verify_archive(
    kept: &PlatformPaths,
    dir: &Path,
    from: i64,
) -> Result<Option<ArchivedAudit>, String> {
    let end = audit_checkpoint(&kept.store, &kept.key).await.map_err(|it| it.to_string())?;
    AuditArchive::verify(dir, from, end).map_err(|why| format!("the archive: {why}"))
}

pub(crate) fn key(key: &KeyArgs, environment: &Environment) -> u8 {
    let KeyCommand::Rotate(wanted) = &key.command;
    with(wanted, environment, async |kept| {
        let KeySource::File(path) = &kept.key else {
            let why = "only a key in a file is changed here: for one in the environment or in the \
                       keyring, put it into a file first (--key-file FILE, TRUNKLINE_KEY unset)";
            return Err(why.to_owned());
        };
        let sealed = change_key(&kept.store, path).await.map_err(|error| error.to_string())?;
        let words =
            format!("{} holds a new key; secrets sealed with it: {sealed}\n", path.display());
        Ok((OK, words, json!({"secrets": sealed})))
    })
}

/// The exit code, the words, and the same for programs.
pub(super) type MaintenanceResult = Result<(u8, String, serde_json::Value), String>;

pub(super) fn with(
    wanted: &MaintenanceArgs,
    environment: &Environment,
    act: impl AsyncFnOnce(PlatformPaths) -> MaintenanceResult,
) -> u8 {
    let kept = match PlatformPaths::at(&wanted.place, environment) {
        Ok(kept) => kept,
        Err(what) => return console::problem(&format!("error: {what}\n"), USAGE),
    };
    match block_on(act(kept)) {
        Ok(Ok((code, words, told))) => {
            let said = if wanted.json { format!("{told}\n") } else { words };
            match console::out(&said) {
                OK => code,
                failed => failed,
            }
        }
        Ok(Err(why)) => console::problem(&format!("error: {why}\n"), FAILED),
        Err(error) => broke(&error),
    }
}
