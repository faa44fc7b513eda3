//! Files that this user keeps for Trunkline: read only if nobody else can have written them, and bounded.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;

/// What is in a file of this user, if that is at most `most` bytes.
pub(crate) fn read_bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A pipe in its place must not keep Trunkline from starting.
    let without_waiting = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(without_waiting).open(path)?;
    let metadata = file.metadata()?;
    check_owner(&metadata)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other("it is too large")),
        false => Ok(bytes),
    }
}

/// Only this user may have written it.
pub(crate) fn check_owner(metadata: &Metadata) -> io::Result<()> {
    const OTHERS_MAY_WRITE: u32 = 0o022;
    if metadata.uid() != geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    match metadata.mode() & OTHERS_MAY_WRITE {
        0 => Ok(()),
        _ => Err(io::Error::other("others can write to it")),
    }
}

/// There is no such file, or nothing below which one could be.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
