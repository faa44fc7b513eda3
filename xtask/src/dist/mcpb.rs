//! A bundle (`.mcpb`) for clients that install servers with a click.

use std::path::PathBuf;
use std::process::Command;

use super::file::{self, DATA, PROGRAM};
use super::{Dist, programs};

pub(super) fn pack(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    let folder = dist.out.join("mcpb");
    let root = file::root();
    let program = folder.join("server/trunkline");
    file::copy(&dist.programs.path("trunkline"), &program, PROGRAM)?;
    drop(Command::new("strip").arg(&program).output());
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        file::copy(&root.join(name), &folder.join(name), DATA)?;
    }
    let manifest = file::text(&root.join("packaging/mcpb/manifest.json"))?;
    let manifest = manifest.replace("@VERSION@", &dist.programs.version);
    file::write(&folder.join("manifest.json"), manifest, DATA)?;
    let name = format!("trunkline-{}-{}.mcpb", dist.programs.version, dist.programs.platform());
    let bundle = dist.out.join(name);
    let mut command = Command::new("zip");
    // Without times of the machine that packs it, but with the modes: the program has to run.
    command.args(["--quiet", "--recurse-paths", "-X"]).arg(&bundle).arg(".").current_dir(&folder);
    programs::output(&mut command)?;
    Ok(vec![bundle])
}
