//! Packages for npm: one with the programs of this platform, and one that everybody asks for and that
//! has npm choose among those.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::file::{self, DATA, PROGRAM};
use super::programs::NAMES;
use super::{Dist, programs};

/// The processors that there are packages for, as Node calls them.
const ARCHES: [&str; 2] = ["x64", "arm64"];

const DESCRIPTION: &str = "One MCP endpoint in front of every MCP server you have";

pub(super) fn pack(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    let folder = dist.out.join("npm");
    let (all, ours) = (folder.join("trunkline"), folder.join(ours(dist)));
    chooser(dist, &all)?;
    platform(dist, &ours)?;
    [ours, all].iter().map(|package| packed(package, &dist.out)).collect()
}

/// The package of this platform.
pub(super) fn ours(dist: &Dist) -> String {
    format!("trunkline-linux-{}", dist.programs.node_arch())
}

fn chooser(dist: &Dist, folder: &Path) -> Result<(), String> {
    let version = &dist.programs.version;
    let packages =
        ARCHES.map(|arch| format!("    \"trunkline-linux-{arch}\": \"{version}\"")).join(",\n");
    let programs = NAMES.map(|name| format!("    \"{name}\": \"bin/{name}.js\"")).join(",\n");
    let manifest = format!(
        "{{\n{}  \"bin\": {{\n{programs}\n  }},\n  \"engines\": {{ \"node\": \">=18\" }},\n  \
         \"optionalDependencies\": {{\n{packages}\n  }}\n}}\n",
        head("trunkline", version)
    );
    file::write(&folder.join("package.json"), manifest, DATA)?;
    let sources = file::root().join("packaging/npm");
    for name in NAMES {
        let to = folder.join(format!("bin/{name}.js"));
        file::copy(&sources.join("launch.js"), &to, PROGRAM)?;
    }
    file::copy(&sources.join("README.md"), &folder.join("README.md"), DATA)?;
    licences(folder)
}

fn platform(dist: &Dist, folder: &Path) -> Result<(), String> {
    let arch = dist.programs.node_arch();
    let manifest = format!(
        "{{\n{}  \"os\": [\"linux\"],\n  \"cpu\": [\"{arch}\"],\n  \"libc\": [\"glibc\"]\n}}\n",
        head(&ours(dist), &dist.programs.version)
    );
    file::write(&folder.join("package.json"), manifest, DATA)?;
    dist.programs.copy_to(&folder.join("bin"))?;
    licences(folder)
}

fn head(name: &str, version: &str) -> String {
    format!(
        "  \"name\": \"{name}\",\n  \"version\": \"{version}\",\n  \
         \"description\": \"{DESCRIPTION}\",\n  \"license\": \"MIT OR Apache-2.0\",\n"
    )
}

fn licences(folder: &Path) -> Result<(), String> {
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        file::copy(&file::root().join(name), &folder.join(name), DATA)?;
    }
    Ok(())
}

/// `npm pack` says the name of what it has made.
fn packed(package: &Path, out: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new("npm");
    command.args(["pack", "--silent", "--pack-destination"]).arg(out).current_dir(package);
    let said = programs::output(&mut command)?;
    let name = said.lines().last().unwrap_or_default().trim();
    Ok(out.join(name))
}
