//! `Backlog`: how many records are not written, kept beside the store while it takes none, so that
//! the next start can tell of those that were never written.

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::spool_file;

#[derive(Debug, Clone)]
pub struct Backlog {
    path: PathBuf,
}

impl Backlog {
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Left by the one before. What cannot be read is at least one.
    pub(super) fn left(&self) -> u64 {
        match spool_file::open(fs::OpenOptions::new().read(true), &self.path) {
            Ok(file) => {
                let mut text = String::new();
                let read = file.take(64).read_to_string(&mut text);
                read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(1)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(_) => 1,
        }
    }

    pub(super) fn keep(&self, count: u64) {
        let kept = if count == 0 { self.remove() } else { self.write(count) };
        if let Err(error) = kept {
            tracing::error!(%error, count, "the count of lost audit records cannot be written to the data directory");
        }
    }

    fn write(&self, count: u64) -> io::Result<()> {
        let mut options = fs::OpenOptions::new();
        options.create(true).truncate(true).write(true).mode(0o600);
        let mut file = spool_file::open(&mut options, &self.path)?;
        writeln!(file, "{count}")?;
        file.sync_all()
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn what_is_kept_is_there_until_nothing_is_left() {
        let folder = Folder::new();
        let backlog = Backlog::at(folder.path().join("audit-lost"));
        for count in [0, 7, 3, 0, 0] {
            backlog.keep(count);
            assert_eq!(backlog.left(), count);
        }
        fs::write(folder.path().join("audit-lost"), "?").unwrap();
        assert_eq!(backlog.left(), 1);
    }

    #[test]
    fn a_link_in_its_place_leads_nowhere() {
        let folder = Folder::new();
        let (key, path) = (folder.path().join("key"), folder.path().join("audit-lost"));
        fs::write(&key, "the key").unwrap();
        std::os::unix::fs::symlink(&key, &path).unwrap();
        let backlog = Backlog::at(path);
        backlog.keep(7);
        assert_eq!((backlog.left(), fs::read(&key).unwrap()), (1, b"the key".to_vec()));
    }
}
