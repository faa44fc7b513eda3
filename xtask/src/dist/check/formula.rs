//! The Homebrew formula: read by Ruby where there is one, its checksums those of the archives.

use std::path::Path;
use std::process::Command;

use super::{has, holds, made};
use crate::dist::platform::System;
use crate::dist::programs::output;
use crate::dist::{Dist, file, sbom, tarball};

pub(super) fn check(dist: &Dist, _place: &Path) -> Result<String, String> {
    let Some(url) = &dist.url else {
        return Ok("left out: there is no --url".to_owned());
    };
    let path = made(dist, "trunkline.rb")?;
    let formula = file::text(&path)?;
    let sums = file::text(&dist.out.join(sbom::SUMS))?;
    for programs in dist.programs.iter().filter(|it| it.platform.system != System::Windows) {
        let name = tarball::name(programs);
        let line = sums.lines().find(|line| line.ends_with(&name));
        let sum =
            line.and_then(|line| line.split(' ').next()).ok_or("an archive has no checksum")?;
        holds(&formula, &[&format!("url \"{url}/{name}\"\n      sha256 \"{sum}\"")])?;
    }
    if !dist.programs.iter().any(|it| it.platform.system == System::Mac) {
        holds(&formula, &["depends_on :linux"])?;
    }
    if !has("ruby") {
        return Ok("its checksums are right; it was not read: there is no ruby".to_owned());
    }
    output(Command::new("ruby").arg("-c").arg(&path))?;
    Ok("its checksums are right, and Ruby reads it".to_owned())
}
