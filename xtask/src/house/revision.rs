//! Another revision of the repository, unpacked where it can be read, and removed again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::conformance;

pub(super) struct Checkout(PathBuf);

impl Checkout {
    pub(super) fn of(revision: &str) -> Result<Self, String> {
        let place = conformance::target().join(format!("house-{}", std::process::id()));
        let checkout = Self(place);
        let failed = |error: std::io::Error| format!("{}: {error}", checkout.0.display());
        std::fs::create_dir_all(&checkout.0).map_err(failed)?;
        let mut git = Command::new("git");
        git.args(["archive", "--format=tar", revision]).stdout(Stdio::piped());
        let mut git = git.spawn().map_err(|error| format!("cannot run git: {error}"))?;
        let mut tar = Command::new("tar");
        // Newer than whatever was built of another revision: cargo compares times.
        tar.args(["-x", "-m", "-C"])
            .arg(&checkout.0)
            .stdin(git.stdout.take().map_or_else(Stdio::null, Stdio::from));
        let unpacked = tar.status().map_err(|error| format!("cannot run tar: {error}"))?;
        let packed = git.wait().map_err(failed)?;
        match packed.success() && unpacked.success() {
            true => Ok(checkout),
            false => Err(format!("`{revision}` cannot be read")),
        }
    }

    pub(super) fn place(&self) -> &Path {
        &self.0
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
