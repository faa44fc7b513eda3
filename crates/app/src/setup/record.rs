//! The record of what `setup` has written, from which it is undone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::install::{CurrentFile, InstallError, WriteOutcome};

/// One run of `setup`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetupRun {
    pub(super) config: Option<WrittenFile>,
    pub(super) files: Vec<WrittenFile>,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrittenFile {
    /// The word of the client whose file it is; empty for the config.
    pub(super) client: String,
    pub(super) file: PathBuf,
    /// The file as it was before; `None`: there was none.
    pub(super) backup: Option<PathBuf>,
    /// Of what was written: whether the file has changed since.
    pub(super) digest: String,
}

/// Held while files are written or put back: two runs at once would each write a record without the other's files.
#[derive(Debug)]
pub(super) struct SetupLock {
    _folder: File,
}

impl SetupLock {
    pub(super) fn take(config: &Path) -> Result<Self, InstallError> {
        let folder = config.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(InstallError::io("create the folder", folder))?;
        // The folder itself: there is no lock file that would have to be removed.
        let opened = File::open(folder).map_err(InstallError::io("open", folder))?;
        match opened.try_lock() {
            Ok(()) => Ok(Self { _folder: opened }),
            Err(fs::TryLockError::WouldBlock) => Err(InstallError::SetupRuns),
            Err(fs::TryLockError::Error(error)) => Err(InstallError::io("lock", folder)(error)),
        }
    }
}

/// Where the record of this config is: beside it.
pub(super) fn record_file(config: &Path) -> PathBuf {
    let stem = config.file_stem().unwrap_or_default().to_string_lossy();
    config.with_file_name(format!("{stem}.setup.json"))
}

pub(super) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The runs so far, the oldest first. A record that cannot be understood has none.
pub(super) fn read(file: &Path) -> Result<Vec<SetupRun>, InstallError> {
    let found = CurrentFile::read(file)?;
    let root: Value = serde_json::from_str(found.content().unwrap_or_default()).unwrap_or_default();
    let runs = root.get("runs").and_then(Value::as_array).into_iter().flatten();
    Ok(runs.map(SetupRun::parse).collect())
}

pub(super) fn write(file: &Path, runs: &[SetupRun]) -> Result<(), InstallError> {
    let runs: Vec<Value> = runs.iter().map(SetupRun::json).collect();
    let root = json!({ "about": "written by `trunkline setup`, for `trunkline setup --undo`", "runs": runs });
    let text = format!("{root:#}\n");
    match CurrentFile::read(file)?.overwrite_private(&text)? {
        WriteOutcome::Done { .. } => Ok(()),
        WriteOutcome::Overtaken => Err(InstallError::KeepsChanging { file: file.to_owned() }),
    }
}

impl SetupRun {
    fn parse(value: &Value) -> Self {
        let files = value.get("files").and_then(Value::as_array).into_iter().flatten();
        Self {
            config: value.get("config").and_then(WrittenFile::parse),
            files: files.filter_map(WrittenFile::parse).collect(),
        }
    }

    fn json(&self) -> Value {
        let files: Vec<Value> = self.files.iter().map(WrittenFile::json).collect();
        json!({ "config": self.config.as_ref().map(WrittenFile::json), "files": files })
    }
}

impl WrittenFile {
    pub(super) fn new(client: &str, file: &Path, backup: Option<&Path>, text: &str) -> Self {
        Self {
            client: client.to_owned(),
            file: file.to_owned(),
            backup: backup.map(Path::to_owned),
            digest: digest(text),
        }
    }

    fn parse(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        Some(Self {
            client: text("client")?,
            file: text("file")?.into(),
            backup: text("backup").map(PathBuf::from),
            digest: text("digest")?,
        })
    }

    fn json(&self) -> Value {
        json!({
            "client": self.client,
            "file": self.file.display().to_string(),
            "backup": self.backup.as_ref().map(|path| path.display().to_string()),
            "digest": self.digest,
        })
    }
}
