//! What the tests need of the system's packages: found, or installed where we may, saying so.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use crate::run;

/// What `find` finds, after installing these packages if it finds nothing. `why` says who needs it.
pub fn ensure<T>(why: &str, packages: &[&str], find: impl Fn() -> Option<T>) -> Result<T, String> {
    if let Some(found) = find() {
        return Ok(found);
    }
    let names = packages.join(" ");
    let advice = format!("{why}: install with `apt-get install {names}` (Debian and its kin)");
    if our_user() != Some(0) || on_path("apt-get").is_none() {
        return Err(advice);
    }
    let mut update = Command::new("apt-get");
    run::checked(update.args(["update", "-q"]), "apt-get update")?;
    let mut install = Command::new("apt-get");
    install.args(["install", "-q", "-y", "--no-install-recommends"]).args(packages);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    run::checked(&mut install, &format!("apt-get install {names} ({why})"))?;
    find().ok_or(advice)
}

/// Who runs us.
pub fn our_user() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|metadata| metadata.uid())
}

/// Where the PATH leads for this program.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|place| place.join(program)).find(|it| it.exists())
}
