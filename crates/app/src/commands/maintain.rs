//! `trunkline audit verify` and `trunkline key rotate`: maintenance of a platform's store.

use serde_json::json;
use trunkline_control::secrets::KeySource;
use trunkline_control::services::{change_key, verify_audit};
use trunkline_store::AuditVerdict;

use crate::cli::{Audit, AuditCommand, KeyArgs, KeyCommand, MaintenanceArgs};
use crate::commands::platform::PlatformPaths;
use crate::commands::runtime::{block_on, broke};
use crate::environment::Environment;
use crate::{FAILED, OK, USAGE, console};

pub(crate) fn audit(audit: &Audit, environment: &Environment) -> u8 {
    let AuditCommand::Verify(wanted) = &audit.command;
    with(wanted, environment, async |kept| {
        let verdict = verify_audit(&kept.store, &kept.key).await.map_err(|it| it.to_string())?;
        let (code, words, told) = match verdict {
            AuditVerdict::Verified { records, last_hash } => {
                let hash: String = last_hash.iter().map(|byte| format!("{byte:02x}")).collect();
                let words = format!("{records} records, all as they were written\nlast: {hash}\n");
                let told = json!({"verified": true, "records": records, "last_hash": hash});
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
