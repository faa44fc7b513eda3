//! The log file: `trunkline.log`, and a few older ones of bounded size beside it.
//!
//! tracing-appender's own rolling files carry a date in the name of the current one and are readable by
//! everybody; `trunkline.log` keeps its name and its mode.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

pub(super) const NAME: &str = "trunkline.log";
/// A file that grows past this becomes `trunkline.log.1`.
const LARGEST: u64 = 64 << 20;
/// How many older files stay.
// With the current one they take some 320 MiB of the disk.
const OLDER: u32 = 4;

/// The current file in this directory, and the older ones.
pub(super) fn paths(directory: &Path) -> Vec<PathBuf> {
    let older = (1..=OLDER).map(|number| directory.join(format!("{NAME}.{number}")));
    std::iter::once(directory.join(NAME)).chain(older).collect()
}

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    largest: u64,
}

impl LogFile {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        Self::open_up_to(directory, LARGEST)
    }

    pub(super) fn open_up_to(directory: &Path, largest: u64) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let path = directory.join(NAME);
        let file = open(&path)?;
        let size = file.metadata()?.len();
        Ok(Self { path, file, size, largest })
    }

    /// `trunkline.log` becomes `.1`, `.1` becomes `.2`, and the last one goes.
    fn rotate(&mut self) -> io::Result<()> {
        let older = |number: u32| match number {
            0 => self.path.clone(),
            number => self.path.with_file_name(format!("{NAME}.{number}")),
        };
        // The oldest first: each name is free when the next file takes it.
        for number in (0..OLDER).rev() {
            match fs::rename(older(number), older(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.file = open(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    // 0600: names of tools and servers are the user's own. Append: two programs with one file do
    // not overwrite each other's lines.
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

impl Write for LogFile {
    /// A whole line at a time, as the writing thread hands them over.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.size >= self.largest {
            // A folder that forbids renaming must not cost the log: it grows on.
            drop(self.rotate());
        }
        // A full disk must not stop the service; stderr still tells what matters.
        if self.file.write_all(line).is_ok() {
            self.size = self.size.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
