//! The npm packages: installed from their tarballs into an empty folder, without scripts, and run.

use std::path::Path;
use std::process::Command;

use super::{holds, made, session};
use crate::dist::programs::{NAMES, output};
use crate::dist::{Dist, file, npm};

pub(super) fn check(dist: &Dist, place: &Path) -> Result<String, String> {
    let version = &dist.version;
    let chooser = made(dist, &format!("trunkline-{version}.tgz"))?;
    let ours = made(dist, &format!("{}-{version}.tgz", npm::name(dist.here()?)))?;
    let folder = place.join("folder");
    file::write(&folder.join("package.json"), "{\"private\": true}\n", file::DATA)?;
    output(call(&folder).args(["install", "--ignore-scripts"]).arg(&ours).arg(&chooser))?;
    for name in NAMES {
        let mut command = Command::new("npx");
        command.args(["--no-install", name, "--version"]).current_dir(&folder);
        holds(&output(&mut command)?, &[name, version])?;
    }
    let program = folder.join("node_modules/.bin/trunkline");
    file::write(&folder.join("mcp.json"), session::config(&program), file::DATA)?;
    let mut command = Command::new(&program);
    let said = session::tools(command.args(["--config", "mcp.json"]).current_dir(&folder))?;
    holds(&said, &["\"clock:now\""])?;
    missing(&chooser, &place.join("without"))?;
    Ok("installed from its tarballs, run with npx, and spoken to".to_owned())
}

/// Without the package of the platform there is a word about it, and no stack trace.
fn missing(chooser: &Path, folder: &Path) -> Result<(), String> {
    file::write(&folder.join("package.json"), "{\"private\": true}\n", file::DATA)?;
    output(call(folder).args(["install", "--omit=optional"]).arg(chooser))?;
    let program = folder.join("node_modules/.bin/trunkline");
    let run = Command::new(program).arg("--version").output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    holds(&said, &["error: Trunkline has no program for", "cargo install"])?;
    match run.status.code() {
        Some(1) if !said.contains("    at ") => Ok(()),
        code => Err(format!("exit code {code:?}\n{said}")),
    }
}

fn call(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.args(["--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(folder);
    command.current_dir(folder);
    command
}
