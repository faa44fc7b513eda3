//! Reads and replaces a config file: with a backup, in one rename, and only if it has not changed since it
//! was read.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

use super::error::InstallError;

/// What stands between a file's name and the moment in the name of its backup.
pub(super) const BACKUP: &str = "trunkline-backup";
/// … and of what a restored backup has replaced.
const REPLACED: &str = "trunkline-replaced";

/// A file as it was found.
#[derive(Debug)]
pub(crate) struct CurrentFile {
    /// As the client knows it.
    named: PathBuf,
    /// Where the bytes are, links followed: a link in a dotfiles folder stays a link.
    real: PathBuf,
    /// `None`: there is no file.
    content: Option<String>,
}

/// Who may read a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The permissions of the old file; the usual ones where there was none.
    AsItWas,
    Private,
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have no such permissions")]
fn private() -> Option<Permissions> {
    Some(std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

#[cfg(not(unix))]
fn private() -> Option<Permissions> {
    None
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    Done {
        backup: Option<PathBuf>,
    },
    /// The file changed after it was read; nothing was written.
    Overtaken,
}

impl CurrentFile {
    pub(crate) fn read(file: &Path) -> Result<Self, InstallError> {
        let named = file.to_owned();
        match fs::canonicalize(file) {
            // Replacing a device or a pipe by a file would break more than a client.
            Ok(real) if !real.is_file() => Err(InstallError::NotAFile { file: named }),
            Ok(real) => {
                let bytes = fs::read(&real).map_err(InstallError::io("read", &real))?;
                let content = String::from_utf8(bytes)
                    .map_err(|_| InstallError::FileNotText { file: named.clone() })?;
                Ok(Self { named, real, content: Some(content) })
            }
            // a link to nothing is not "no file": replacing it would break the user's arrangement
            Err(error) if error.kind() == io::ErrorKind::NotFound && !file.is_symlink() => {
                Ok(Self { real: named.clone(), named, content: None })
            }
            Err(error) => Err(InstallError::io("read", file)(error)),
        }
    }

    pub(crate) fn content(&self) -> Option<&str> {
        self.content.as_deref()
    }

    /// Puts `text` in place of what was read. A reader sees the old file or the new one, never a part.
    pub(crate) fn write(&self, text: &str, stamp: &str) -> Result<WriteOutcome, InstallError> {
        self.replace(text, stamp, Some(BACKUP), Access::AsItWas, no_record)
    }

    /// Puts `text` in place of what was read, readable by its owner only: the config may hold secrets.
    pub(crate) fn write_private(
        &self,
        text: &str,
        stamp: &str,
    ) -> Result<WriteOutcome, InstallError> {
        self.replace(text, stamp, Some(BACKUP), Access::Private, no_record)
    }

    /// Puts `text` in place of what was read. `record` is told the name of the backup before the file is replaced; if
    /// it fails, the file is not.
    pub(crate) fn write_recorded(
        &self,
        text: &str,
        stamp: &str,
        access: Access,
        record: impl FnOnce(Option<&Path>) -> Result<(), InstallError>,
    ) -> Result<WriteOutcome, InstallError> {
        self.replace(text, stamp, Some(BACKUP), access, record)
    }

    /// Puts `text` in place of what was read, and keeps nothing of it: it is of our own making.
    pub(crate) fn overwrite(&self, text: &str) -> Result<WriteOutcome, InstallError> {
        self.replace(text, "", None, Access::AsItWas, no_record)
    }

    /// Puts `text` in place of what was read, readable by its owner only, and keeps nothing of it.
    pub(crate) fn overwrite_private(&self, text: &str) -> Result<WriteOutcome, InstallError> {
        self.replace(text, "", None, Access::Private, no_record)
    }

    /// Removes the file, and keeps nothing of it: it is of our own making.
    pub(crate) fn delete(&self) -> Result<WriteOutcome, InstallError> {
        if self.content.is_some() && self.is_overtaken()? {
            return Ok(WriteOutcome::Overtaken);
        }
        if self.content.is_some() {
            fs::remove_file(&self.real).map_err(InstallError::io("remove", &self.real))?;
        }
        Ok(WriteOutcome::Done { backup: None })
    }

    /// Puts `text` in place of what was read, without a backup: the caller has kept what was read. A new file is
    /// readable by its owner only.
    pub(crate) fn write_kept_elsewhere(&self, text: &str) -> Result<WriteOutcome, InstallError> {
        let found = fs::metadata(&self.real).ok().map(|found| found.permissions());
        let draft = Draft::create(&self.real, text, found.or_else(private).as_ref())?;
        if self.is_overtaken()? {
            return Ok(WriteOutcome::Overtaken);
        }
        draft.publish(&self.real)?;
        Ok(WriteOutcome::Done { backup: None })
    }

    /// Puts a backup in place of what was read. What was read is kept under another name than backups
    /// have, so that the next `restore` does not take it for an older state.
    pub(super) fn put_back(&self, text: &str, stamp: &str) -> Result<WriteOutcome, InstallError> {
        self.replace(text, stamp, Some(REPLACED), Access::AsItWas, no_record)
    }

    /// Removes the file, which was not there before Trunkline came.
    pub(super) fn remove(&self, stamp: &str) -> Result<WriteOutcome, InstallError> {
        let Some(content) = &self.content else {
            return Ok(WriteOutcome::Done { backup: None });
        };
        if self.is_overtaken()? {
            return Ok(WriteOutcome::Overtaken);
        }
        let permissions = fs::metadata(&self.real).ok().map(|found| found.permissions());
        let backup = back_up(&self.named, content, stamp, permissions.as_ref(), BACKUP)?;
        fs::remove_file(&self.real).map_err(InstallError::io("remove", &self.real))?;
        Ok(WriteOutcome::Done { backup: Some(backup) })
    }

    fn replace(
        &self,
        text: &str,
        stamp: &str,
        kept_as: Option<&str>,
        access: Access,
        record: impl FnOnce(Option<&Path>) -> Result<(), InstallError>,
    ) -> Result<WriteOutcome, InstallError> {
        let folder = self.real.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(InstallError::io("create the folder", folder))?;
        let permissions = fs::metadata(&self.real).ok().map(|found| found.permissions());
        let new = match access {
            Access::AsItWas => permissions.clone(),
            Access::Private => private(),
        };
        // In the same folder: a rename is atomic only within one file system.
        let draft = Draft::create(&self.real, text, new.as_ref())?;
        // Claude Code writes its file while it runs; what it wrote since must not be lost
        if self.is_overtaken()? {
            return Ok(WriteOutcome::Overtaken);
        }
        let backup = match (&self.content, kept_as) {
            (Some(content), Some(kept_as)) => {
                Some(back_up(&self.named, content, stamp, permissions.as_ref(), kept_as)?)
            }
            _ => None,
        };
        if let Err(error) = record(backup.as_deref()) {
            // The file is as the backup has it.
            drop(backup.map(fs::remove_file));
            return Err(error);
        }
        draft.publish(&self.real)?;
        Ok(WriteOutcome::Done { backup })
    }

    fn is_overtaken(&self) -> Result<bool, InstallError> {
        match fs::read(&self.real) {
            Ok(now) => Ok(self.content.as_ref().map(String::as_bytes) != Some(&now)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(self.content.is_some()),
            Err(error) => Err(InstallError::io("read", &self.real)(error)),
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it stands for a record that may fail")]
fn no_record(_: Option<&Path>) -> Result<(), InstallError> {
    Ok(())
}

/// The new content beside the file, removed again unless it is published.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn create(
        real: &Path,
        text: &str,
        permissions: Option<&Permissions>,
    ) -> Result<Self, InstallError> {
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let path = real.with_file_name(format!(".{name}.trunkline-{}.tmp", process::id()));
        let wrap = InstallError::io("write", &path);
        // from here on dropping removes the file, also when writing it fails half-way
        let mut file = match create_new(&path, permissions) {
            Ok(file) => file,
            Err(error) => return Err(wrap(error)),
        };
        let draft = Self { path: path.clone() };
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(wrap)?;
        Ok(draft)
    }

    fn publish(self, real: &Path) -> Result<(), InstallError> {
        fs::rename(&self.path, real).map_err(InstallError::io("replace", real))?;
        // the rename itself survives a power cut only with its folder; not all systems can do this
        if let Some(folder) = real.parent().and_then(|folder| File::open(folder).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // after publishing there is nothing left to remove
        let _ = fs::remove_file(&self.path);
    }
}

/// More in one second means that something is wrong.
const BACKUPS_A_SECOND: usize = 100;

fn back_up(
    file: &Path,
    content: &str,
    stamp: &str,
    permissions: Option<&Permissions>,
    kept_as: &str,
) -> Result<PathBuf, InstallError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let base = format!("{name}.{kept_as}-{stamp}");
    let mut candidate = file.with_file_name(&base);
    for number in 2..=BACKUPS_A_SECOND {
        match create_new(&candidate, permissions) {
            Ok(mut backup) => {
                let written = backup.write_all(content.as_bytes()).and_then(|()| backup.sync_all());
                written.map_err(InstallError::io("write the backup", &candidate))?;
                return Ok(candidate);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                candidate = file.with_file_name(format!("{base}-{number}"));
            }
            Err(error) => return Err(InstallError::io("write the backup", &candidate)(error)),
        }
    }
    let full = io::Error::from(io::ErrorKind::AlreadyExists);
    Err(InstallError::io("write the backup", &candidate)(full))
}

/// A new file with the permissions of the one it stands for, from the first moment not wider: these
/// files hold tokens.
fn create_new(path: &Path, permissions: Option<&Permissions>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // `create_new`: a link or file that another has put there is not followed.
    options.write(true).create_new(true);
    #[cfg(unix)]
    if permissions.is_some() {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let file = options.open(path)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions.clone())?;
    }
    Ok(file)
}
