//! `trunkline backup create`, `verify` and `restore`.

use serde_json::{Value, json};
use trunkline_control::api::time;
use trunkline_control::secrets::KeySource;
use trunkline_control::services::{BackupInfo, back_up, check_backup, restore_backup};

use crate::OK;
use crate::cli::{Backup, BackupCommand};
use crate::commands::maintain::with;
use crate::environment::Environment;

pub(crate) fn backup(backup: &Backup, environment: &Environment) -> u8 {
    match &backup.command {
        BackupCommand::Create(asked) => with(&asked.at, environment, async |kept| {
            let info = back_up(&kept.store, &kept.key, &asked.file).await;
            let info = info.map_err(|error| error.to_string())?;
            let key = place_of(&kept.key);
            let words = format!(
                "{}: {}, read again and whole\nIts secrets are sealed, and the key is not in it. Keep a copy of {key} \
                 in another place: without it the backup opens nothing.\n",
                asked.file.display(),
                words(&info)
            );
            Ok((OK, words, told(&info)))
        }),
        BackupCommand::Verify(asked) => with(&asked.at, environment, async |_| {
            let info = check_backup(&asked.file).map_err(|error| error.to_string())?;
            let words = format!("{}: {}, whole\n", asked.file.display(), words(&info));
            Ok((OK, words, told(&info)))
        }),
        BackupCommand::Restore(asked) => with(&asked.at, environment, async |kept| {
            let restored = restore_backup(&kept.store, &kept.key, &asked.file).await;
            let (info, records) = restored.map_err(|error| error.to_string())?;
            let words = format!(
                "restored: {}; the key opens it, and its audit log of {records} records is whole\n",
                words(&info)
            );
            let mut told = told(&info);
            if let Some(members) = told.as_object_mut() {
                members.insert("audit_records".to_owned(), records.into());
            }
            Ok((OK, words, told))
        }),
    }
}

fn words(info: &BackupInfo) -> String {
    let made_at = time::format(info.made_at);
    format!(
        "{} rows of schema {} from {made_at}, sealed with key {}",
        info.rows, info.schema, info.key
    )
}

fn told(info: &BackupInfo) -> Value {
    json!({
        "rows": info.rows,
        "bytes": info.bytes,
        "schema": info.schema,
        "made_at": time::format(info.made_at),
        "key": info.key,
    })
}

fn place_of(key: &KeySource) -> String {
    match key {
        KeySource::File(path) => path.display().to_string(),
        KeySource::Given(_) => "the value of TRUNKLINE_KEY".to_owned(),
        KeySource::Keyring(name) => format!("the key `{name}` of the keyring"),
    }
}
