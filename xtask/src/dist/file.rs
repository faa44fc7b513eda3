//! Files and folders of packages: put where they belong, with the right mode.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A file that was made, and its place under `/usr` once installed.
pub(super) struct Placed {
    pub(super) path: PathBuf,
    pub(super) under_usr: String,
}

pub(super) const PROGRAM: u32 = 0o755;
pub(super) const DATA: u32 = 0o644;

/// The root of the repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where cargo builds.
pub(super) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => root().join("target"),
    }
}

/// A folder with nothing in it.
pub(super) fn emptied(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(said(folder, &error)),
        _ => fs::create_dir_all(folder).map_err(|error| said(folder, &error)),
    }
}

/// Writes a file, and the folders it is in.
pub(super) fn write(path: &Path, content: impl AsRef<[u8]>, mode: u32) -> Result<(), String> {
    let written = (|| {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, content)?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    })();
    written.map_err(|error| said(path, &error))
}

pub(super) fn copy(from: &Path, to: &Path, mode: u32) -> Result<(), String> {
    write(to, read(from)?, mode)
}

/// Makes a link to a file in the same folder.
pub(super) fn link(name: &str, path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::os::unix::fs::symlink(name, path),
    }
    .map_err(|error| said(path, &error))
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| said(path, &error))
}

pub(super) fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| said(path, &error))
}

fn said(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
