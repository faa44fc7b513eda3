//! `trunkline audit verify`, `audit export` and `trunkline key rotate`: maintenance of a platform's store.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::json;
use trunkline_control::api::handle::audit_json;
use trunkline_control::audit::AuditAnchor;
use trunkline_control::secrets::KeySource;
use trunkline_control::services::{AuditSpan, change_key, export_audit, verify_audit};
use trunkline_store::{AuditRecord, AuditVerdict};

use crate::cli::{Audit, AuditCommand, ExportAudit, KeyArgs, KeyCommand, MaintenanceArgs};
use crate::commands::platform::PlatformPaths;
use crate::commands::runtime::{block_on, broke};
use crate::environment::Environment;
use crate::{FAILED, OK, USAGE, console};

pub(crate) fn audit(audit: &Audit, environment: &Environment) -> u8 {
    match &audit.command {
        AuditCommand::Verify(asked) => verify(&asked.at, asked.anchor.as_deref(), environment),
        AuditCommand::Export(asked) => export(asked, environment),
    }
}

/// Records as REST shows them, one a line.
fn export(asked: &ExportAudit, environment: &Environment) -> u8 {
    let kept = match PlatformPaths::at(&asked.place, environment) {
        Ok(kept) => kept,
        Err(what) => return console::problem(&format!("error: {what}\n"), USAGE),
    };
    let file = asked.output.as_ref().map(|path| {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        made.map_err(|error| format!("error: {}: {error}\n", path.display()))
    });
    let mut file = match file.transpose() {
        Ok(file) => file,
        Err(what) => return console::problem(&what, FAILED),
    };
    let mut code = OK;
    let take = |records: &[AuditRecord]| {
        let lines: String = records.iter().map(|it| format!("{}\n", audit_json(it))).collect();
        code = match &mut file {
            None => console::out(&lines),
            Some(file) => match file.write_all(lines.as_bytes()) {
                Ok(()) => OK,
                Err(error) => console::problem(&format!("error: {error}\n"), FAILED),
            },
        };
        code == OK
    };
    let span = AuditSpan { since: asked.since, until: asked.until };
    match block_on(export_audit(&kept.store, &kept.key, span, take)) {
        Ok(Ok(())) => code,
        Ok(Err(error)) => console::problem(&format!("error: {error}\n"), FAILED),
        Err(error) => broke(&error),
    }
}

fn verify(wanted: &MaintenanceArgs, anchor: Option<&Path>, environment: &Environment) -> u8 {
    with(wanted, environment, async |kept| {
        let anchor = anchor.map(AuditAnchor::read).transpose()?;
        let verdict = verify_audit(&kept.store, &kept.key, anchor).await;
        let verdict = verdict.map_err(|it| it.to_string())?;
        let (code, words, told) = match verdict {
            AuditVerdict::Verified { first, records, last_hash } => {
                let hash: String = last_hash.iter().map(|byte| format!("{byte:02x}")).collect();
                let removed = match first {
                    1 => String::new(),
                    first => format!(" ({} before them were removed by retention)", first - 1),
                };
                let words =
                    format!("{records} records, all as they were written{removed}\nlast: {hash}\n");
                let told = json!({"verified": true, "first": first, "records": records, "last_hash": hash});
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
