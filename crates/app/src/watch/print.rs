//! A file's fingerprint: tells one content from the next without reading either.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Of the file a path leads to through all links; `Missing` where it leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Print {
    Missing,
    /// A pipe or device: it has no content to come back to, and opening it may block.
    Special,
    File {
        device: u64,
        inode: u64,
        size: u64,
        written: (i64, i64),
        changed: (i64, i64),
    },
}

impl Print {
    pub(super) fn take(file: &Path) -> Self {
        match fs::metadata(file) {
            Err(_) => Self::Missing,
            Ok(metadata) if !metadata.is_file() => Self::Special,
            Ok(metadata) => Self::File {
                device: metadata.dev(),
                inode: metadata.ino(),
                size: metadata.size(),
                written: (metadata.mtime(), metadata.mtime_nsec()),
                // A tool that restores the time of writing (cp -p, tar) cannot restore this one.
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            },
        }
    }
}
