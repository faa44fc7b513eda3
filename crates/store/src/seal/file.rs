//! The file a key is kept in: its owner's only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;
use zeroize::Zeroizing;

use crate::seal::key::{self, KeyError, SealKey};

#[derive(Debug, Error)]
pub enum KeyFileError {
    #[error("{path}: there is no key file: it is missing, or elsewhere")]
    Missing { path: PathBuf },
    #[error("{path}: others can read this key (mode {mode:03o}): `chmod 600` it")]
    Open { path: PathBuf, mode: u32 },
    #[error("{path}: there is a key already")]
    Exists { path: PathBuf },
    #[error("{path}: {error}")]
    Key { path: PathBuf, error: KeyError },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
}

/// Longer than any spelling of a key.
const LONGEST: u64 = 1_024;

/// Refuses a file that others can read.
pub fn load(path: &Path) -> Result<SealKey, KeyFileError> {
    let file = File::open(path).map_err(|error| failed(path, error))?;
    // Of the file that is open: another one may be put there meanwhile.
    let metadata = file.metadata().map_err(|error| failed(path, error))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyFileError::Open { path: path.to_owned(), mode });
    }
    let mut text = Zeroizing::new(String::new());
    // Bounded: the path is the operator's, and may be a device by mistake.
    file.take(LONGEST).read_to_string(&mut text).map_err(|error| failed(path, error))?;
    SealKey::parse(&text).map_err(|error| KeyFileError::Key { path: path.to_owned(), error })
}

/// Makes a new key and its file. A file that is there is never replaced, and there is never one
/// with half a key in it.
pub fn create(path: &Path) -> Result<SealKey, KeyFileError> {
    let key =
        SealKey::random().map_err(|error| KeyFileError::Key { path: path.to_owned(), error })?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // The process id, so that two that start at once do not write one draft.
    name.push(format!(".{}.new", std::process::id()));
    let draft = path.with_file_name(name);
    // `hard_link` fails if the name exists, which `rename` does not: a key is never replaced by
    // accident.
    let written = write(&draft, &key).and_then(|()| fs::hard_link(&draft, path));
    let removed = fs::remove_file(&draft);
    written.and(removed).map_err(|error| failed(path, error))?;
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // The name itself must survive a crash: secrets are sealed with this key from now on.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| failed(path, error))?;
    Ok(key)
}

fn write(path: &Path, key: &SealKey) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(key::to_hex(key).as_bytes())?;
    file.write_all(b"\n")?;
    // Before the link: the name must never lead to an empty file.
    file.sync_all()
}

fn failed(path: &Path, error: io::Error) -> KeyFileError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => KeyFileError::Missing { path },
        io::ErrorKind::AlreadyExists => KeyFileError::Exists { path },
        _ => KeyFileError::Io { path, error },
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let name = format!("trunkline-key-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_created_key_is_its_owners_only_and_is_not_replaced() {
        let folder = folder("create");
        let path = folder.join("key");
        assert!(matches!(load(&path), Err(KeyFileError::Missing { .. })));
        let key = create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(load(&path).unwrap().id(), key.id());
        assert!(matches!(create(&path), Err(KeyFileError::Exists { .. })));
        assert_eq!(load(&path).unwrap().id(), key.id());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let folder = folder("modes");
        let path = folder.join("key");
        create(&path).unwrap();
        for (mode, accepted) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(load(&path).is_ok(), accepted, "{mode:o}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "correct horse battery staple").unwrap();
        assert!(matches!(load(&path), Err(KeyFileError::Key { .. })));
        fs::remove_dir_all(folder).unwrap();
    }
}
