//! Packages for npm: one with the programs of this platform, and one that everybody asks for and that
//! has npm choose among those.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Dist;
use super::file::{self, DATA, PROGRAM};
use super::programs::{NAMES, Programs, output};

const DESCRIPTION: &str = "One MCP endpoint in front of every MCP server you have";

pub(super) fn pack(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    let folder = dist.out.join("npm");
    let mut made = Vec::new();
    for programs in &dist.programs {
        let package = folder.join(name(programs));
        platform(programs, &package)?;
        made.push(packed(&package, &dist.out)?);
    }
    let all = folder.join("trunkline");
    chooser(dist, &all)?;
    made.push(packed(&all, &dist.out)?);
    Ok(made)
}

/// The package of a platform, as npm calls it.
pub(super) fn name(programs: &Programs) -> String {
    let (system, processor) = programs.platform.node();
    format!("trunkline-{system}-{processor}")
}

/// It names the packages of those platforms that there are programs for, and no others.
fn chooser(dist: &Dist, folder: &Path) -> Result<(), String> {
    let version = &dist.version;
    let packages: Vec<String> = dist
        .programs
        .iter()
        .map(|programs| format!("    \"{}\": \"{version}\"", name(programs)))
        .collect();
    let packages = packages.join(",\n");
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

fn platform(programs: &Programs, folder: &Path) -> Result<(), String> {
    let (system, processor) = programs.platform.node();
    // Static programs run beside any C library.
    let library = match programs.glibc()? {
        Some(_) => ",\n  \"libc\": [\"glibc\"]",
        None => "",
    };
    let manifest = format!(
        "{{\n{}  \"os\": [\"{system}\"],\n  \"cpu\": [\"{processor}\"]{library}\n}}\n",
        head(&name(programs), &programs.version)
    );
    file::write(&folder.join("package.json"), manifest, DATA)?;
    // npm packs no links: the starter says by which name the program is called.
    programs.copy_program_to(&folder.join("bin"))?;
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
    let said = output(&mut command)?;
    let name = said.lines().last().unwrap_or_default().trim();
    Ok(out.join(name))
}
