//! The private directory of one run of a server, which its temporary files go to, and its removal.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, getpid, getuid, test_kill_process};

/// Holds the name until it is removed.
#[derive(Debug)]
pub(crate) struct PrivateDir {
    path: PathBuf,
}

/// Tells whose it is, to whoever looks into the directory for temporary files.
const PREFIX: &str = "tl-sandbox-";

impl PrivateDir {
    /// In `base`, with a number that no other tree of this keeper has, and a name that nobody can foresee: whoever made it
    /// before us would keep the server from starting.
    pub(crate) fn create(base: &Path, number: u64) -> io::Result<PrivateDir> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty())?;
        let random = u64::from_ne_bytes(random);
        Self::make(base.join(format!("{PREFIX}{}-{number}-{random:016x}", getpid())))
    }

    fn make(path: PathBuf) -> io::Result<PrivateDir> {
        // Fails where somebody has made it before: what is in it would not be ours.
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(PrivateDir { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn removal(self) -> Removal {
        Removal { root: self.path, moved: 0 }
    }
}

/// Removes the private directories of keepers that were killed.
pub(crate) fn remove_abandoned(base: &Path) -> Vec<Removal> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let is_ours = |entry: &fs::DirEntry| {
        let metadata = entry.metadata().ok();
        metadata.is_some_and(|it| it.is_dir() && it.uid() == getuid().as_raw())
    };
    let abandoned = entries.filter(|entry| is_abandoned(&entry.file_name()) && is_ours(entry));
    abandoned.map(|entry| Removal { root: entry.path(), moved: 0 }).collect()
}

fn is_abandoned(name: &OsStr) -> bool {
    let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
    let pid = pid.and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// What is left of a private directory. It is removed in portions: a server may leave millions of
/// files, and the keeper serves others.
#[derive(Debug)]
pub(crate) struct Removal {
    root: PathBuf,
    moved: u64,
}

impl Removal {
    /// Removes up to so many entries. True: there is more.
    ///
    /// Directories in directories are moved up first, so that no depth a server makes needs a stack
    /// or a path as long.
    pub(crate) fn go_on(&mut self, most: usize) -> bool {
        // An error is somebody else's file, or a disk that fails: it stays.
        self.portion(most).unwrap_or(false)
    }

    fn portion(&mut self, most: usize) -> io::Result<bool> {
        let mut done = 0;
        while let Some(entry) = open(&self.root)?.next().transpose()? {
            if done >= most {
                return Ok(true);
            }
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                for inner in open(&path)?.take(most) {
                    let inner = inner?;
                    done += 1;
                    if inner.file_type()?.is_dir() {
                        self.moved += 1;
                        fs::set_permissions(inner.path(), Permissions::from_mode(0o700))?;
                        fs::rename(
                            inner.path(),
                            self.root.join(format!("{PREFIX}{}", self.moved)),
                        )?;
                    } else {
                        fs::remove_file(inner.path())?;
                    }
                }
                // Not empty yet: the next portion goes on with it.
                if open(&path)?.next().is_none() {
                    fs::remove_dir(&path)?;
                }
            } else {
                fs::remove_file(path)?;
            }
            done += 1;
        }
        fs::remove_dir(&self.root)?;
        Ok(false)
    }
}

/// A server may have taken the rights from its own directories.
fn open(directory: &Path) -> io::Result<fs::ReadDir> {
    fs::read_dir(directory).or_else(|_| {
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
        fs::read_dir(directory)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn everything_in_it_goes_and_nothing_else() {
        let base = std::env::temp_dir().join(format!("tl-private-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        fs::write(base.join("outside"), "").unwrap();
        let private = PrivateDir::create(&base, 1).unwrap();
        let root = private.path().to_path_buf();
        assert!(
            PrivateDir::make(root.clone()).is_err(),
            "what somebody else has made is not taken"
        );
        let other = PrivateDir::create(&base, 1).unwrap();
        assert_ne!(other.path(), root, "nobody can foresee its name");
        let mut deep = root.clone();
        for _ in 0..40 {
            deep.push("d");
            fs::create_dir(&deep).unwrap();
            fs::write(deep.join("file"), "x").unwrap();
        }
        symlink(&base, root.join("link")).unwrap();
        fs::set_permissions(root.join("d/d"), Permissions::from_mode(0o000)).unwrap();
        let mut removal = private.removal();
        let mut portions = 1;
        while removal.go_on(7) {
            portions += 1;
            assert!(portions < 1000, "{root:?} stays");
        }
        assert!(portions > 1 && !root.exists() && base.join("outside").exists());
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn those_of_living_keepers_stay() {
        let own = format!("{PREFIX}{}-1", std::process::id());
        for (name, expected) in [
            (own.as_str(), false),
            ("tl-sandbox-2147483646-1", true),
            ("tl-sandbox-x", false),
            ("other", false),
        ] {
            assert_eq!(is_abandoned(OsStr::new(name)), expected, "{name}");
        }
    }
}
