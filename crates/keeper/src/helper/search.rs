//! Finds a command as the shell would, in the PATH that the server itself is given.
//!
//! exec could search, but cannot tell a missing command from a missing interpreter, nor one that
//! lies in a later directory from one that may not be executed.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Mode, accessat, open, statat};
use rustix::io::Errno;

use crate::system;

/// Where a command is found that is started in `cwd`, as an absolute path; `None`: nowhere.
pub fn find_program(
    cwd: Option<&Path>,
    command: &OsStr,
    env: &[(OsString, OsString)],
) -> Option<PathBuf> {
    let here = match cwd {
        Some(cwd) => std::path::absolute(cwd).ok()?,
        None => std::env::current_dir().ok()?,
    };
    let directory = open(&here, system::DIRECTORY, Mode::empty()).ok()?;
    let found = find(directory.as_fd(), command, env).ok()?;
    // `./` in front of a directory that PATH names in full.
    let found = found.strip_prefix(".").map(Path::to_path_buf).unwrap_or(found);
    Some(here.join(found))
}

/// A path to the command that contains a slash, relative to the server's directory or absolute.
pub(super) fn find(
    cwd: BorrowedFd<'_>,
    command: &OsStr,
    env: &[(OsString, OsString)],
) -> Result<PathBuf, Errno> {
    if command.is_empty() {
        return Err(Errno::NOENT);
    }
    if command.as_bytes().contains(&b'/') {
        // POSIX: a command with a slash is never searched in PATH.
        return executable(cwd, Path::new(command)).map(|()| PathBuf::from(command));
    }
    let mut reason = Errno::NOENT;
    for directory in std::env::split_paths(search_path(env)) {
        // An empty entry means the server's directory.
        let candidate = Path::new(".").join(directory).join(command);
        match executable(cwd, &candidate) {
            Ok(()) => return Ok(candidate),
            // Remembered and not returned: a later directory may hold one that can be executed, as
            // in a shell.
            Err(Errno::ACCESS) => reason = Errno::ACCESS,
            Err(_) => {}
        }
    }
    Err(reason)
}

/// The last one counts, as it does in the environment that is built from the same list.
fn search_path(env: &[(OsString, OsString)]) -> &OsStr {
    let path = env.iter().rfind(|(name, _)| name == "PATH");
    // Without PATH, exec searches here.
    path.map_or(OsStr::new("/bin:/usr/bin"), |(_, path)| path)
}

fn executable(cwd: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
    // `accessat` follows the file's ACLs and mount flags, which the mode bits alone do not show.
    accessat(cwd, path, Access::EXEC_OK, AtFlags::empty())?;
    // For a directory, x means that it may be entered.
    let found = statat(cwd, path, AtFlags::empty())?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => Err(Errno::ACCESS),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{OsStr, OsString};
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use rustix::fs::CWD;
    use rustix::io::Errno;

    use super::find;

    fn env(path: &str) -> Vec<(OsString, OsString)> {
        vec![("PATH".into(), "/overridden".into()), ("PATH".into(), path.into())]
    }

    /// `one/tool` is there but not executable, `two/tool` is, `two/folder` is a directory.
    fn shelf() -> PathBuf {
        let shelf = std::env::temp_dir().join(format!("tl-search-{}", std::process::id()));
        for folder in ["one", "two/folder"] {
            fs::create_dir_all(shelf.join(folder)).unwrap();
        }
        for (file, mode) in [("one/tool", 0o644), ("two/tool", 0o755), ("one/plain", 0o644)] {
            let file = File::create(shelf.join(file)).unwrap();
            file.set_permissions(Permissions::from_mode(mode)).unwrap();
        }
        shelf
    }

    #[test]
    fn finds_what_the_shell_would_find() {
        let shelf = shelf();
        let (one, two) = (shelf.join("one"), shelf.join("two"));
        let path = format!("{}:/nowhere:{}", one.display(), two.display());
        let at = |path: &Path| path.to_path_buf();
        let cases: [(&str, Result<PathBuf, Errno>); 7] = [
            ("tool", Ok(two.join("tool"))),
            ("plain", Err(Errno::ACCESS)),
            ("folder", Err(Errno::ACCESS)),
            ("absent", Err(Errno::NOENT)),
            ("", Err(Errno::NOENT)),
            ("/bin/sh", Ok(at(Path::new("/bin/sh")))),
            ("./absent", Err(Errno::NOENT)),
        ];
        for (command, expected) in cases {
            assert_eq!(find(CWD, OsStr::new(command), &env(&path)), expected, "{command}");
        }
        fs::remove_dir_all(shelf).unwrap();
    }

    #[test]
    fn without_path_the_system_directories_are_searched() {
        assert!(find(CWD, OsStr::new("sh"), &[]).is_ok());
        assert_eq!(find(CWD, OsStr::new("sh"), &env("/nowhere")), Err(Errno::NOENT));
    }
}
