//! A bundle (`.mcpb`) for clients that install servers with a click.

use std::path::PathBuf;
use std::process::Command;

use super::Dist;
use super::file::{self, DATA, PROGRAM};
use super::programs::{Programs, output};

pub(super) fn pack(dist: &Dist, programs: &Programs) -> Result<PathBuf, String> {
    let folder = dist.out.join("mcpb").join(programs.platform.to_string());
    let root = file::root();
    let program = folder.join("server/trunkline");
    file::copy(&programs.path("trunkline"), &program, PROGRAM)?;
    drop(Command::new("strip").arg(&program).output());
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        file::copy(&root.join(name), &folder.join(name), DATA)?;
    }
    let manifest = file::text(&root.join("packaging/mcpb/manifest.json"))?;
    let manifest = manifest.replace("@VERSION@", &programs.version);
    file::write(&folder.join("manifest.json"), manifest, DATA)?;
    let bundle = dist.out.join(name(programs));
    let mut command = Command::new("zip");
    // Without times of the machine that packs it, but with the modes: the program has to run.
    command.args(["--quiet", "--recurse-paths", "-X"]).arg(&bundle).arg(".").current_dir(&folder);
    output(&mut command)?;
    Ok(bundle)
}

/// What the bundle is called.
pub(super) fn name(programs: &Programs) -> String {
    format!("trunkline-{}-{}.mcpb", programs.version, programs.platform)
}
