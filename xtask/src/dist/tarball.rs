//! The programs in an archive that needs no package manager: what `install.sh` and Homebrew unpack.

use std::path::PathBuf;
use std::process::Command;

use super::file::{self, DATA};
use super::platform::System;
use super::programs::{Programs, output};
use super::{Dist, Haste};

pub(super) fn pack(dist: &Dist, programs: &Programs) -> Result<PathBuf, String> {
    let place = dist.out.join("tar");
    let folder = folder(programs);
    let tree = place.join(&folder);
    programs.copy_to(&tree)?;
    for page in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        file::copy(&file::root().join(page), &tree.join(page), DATA)?;
    }
    for extra in &dist.extras {
        file::copy(&extra.path, &tree.join(&extra.under_usr), DATA)?;
    }
    let archive = dist.out.join(name(programs));
    if programs.platform.system == System::Windows {
        let mut zip = Command::new("zip");
        zip.args(["--quiet", "--recurse-paths", "-X"]).arg(&archive).arg(&folder);
        output(zip.current_dir(&place))?;
        return Ok(archive);
    }
    let level = if dist.haste == Haste::Much { 1 } else { 9 };
    let mut tar = Command::new("tar");
    // Neither the names nor the times of the machine that packs it.
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]);
    tar.arg(format!("--use-compress-program=gzip -n -{level}"));
    output(tar.arg("--create").arg("--file").arg(&archive).arg(&folder).current_dir(&place))?;
    Ok(archive)
}

/// The folder in it.
pub(super) fn folder(programs: &Programs) -> String {
    format!("trunkline-{}-{}", programs.version, programs.platform)
}

/// What the archive is called.
pub(super) fn name(programs: &Programs) -> String {
    let ending = if programs.platform.system == System::Windows { "zip" } else { "tar.gz" };
    format!("{}.{ending}", folder(programs))
}
