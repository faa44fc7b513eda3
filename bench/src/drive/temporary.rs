//! A directory for configurations and logs that goes away with its owner.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Temporary(PathBuf);

impl Temporary {
    pub(super) fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("trunkline-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
