//! The toolchain's own coverage tools, and the wrapper that instruments our crates and no others.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

/// What `rustup` calls them.
const COMPONENT: &str = "llvm-tools";
/// Counters are shared with the file while the program runs: who is killed has counted, too.
const FLAGS: &str = "-C instrument-coverage -C llvm-args=-runtime-counter-relocation";

pub struct Tools(PathBuf);

impl Tools {
    /// They are installed if they are missing.
    pub fn find() -> Result<Self, String> {
        if let Some(found) = installed()? {
            return Ok(Self(found));
        }
        let mut rustup = Command::new("rustup");
        rustup.args(["component", "add", COMPONENT]);
        run::checked(&mut rustup, &format!("rustup component add {COMPONENT}"))?;
        let missing = || format!("there is no llvm-profdata: install the component `{COMPONENT}`");
        installed()?.map(Self).ok_or_else(missing)
    }

    /// All profiles of these folders as one.
    pub fn merge(&self, folders: &[PathBuf], into: &Path) -> Result<(), String> {
        let mut profiles = Vec::new();
        for folder in folders {
            let entries =
                fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            profiles.extend(entries.flatten().map(|entry| entry.path()));
        }
        let mut merge = Command::new(self.0.join("llvm-profdata"));
        // A process that was killed while it started has a profile without an end.
        merge.args(["merge", "-sparse", "-failure-mode=all", "-o"]).arg(into).args(profiles);
        run::checked(&mut merge, "llvm-profdata merge")
    }

    /// Every line of every file and how often it was run through, as `lcov` writes it.
    pub fn lcov(&self, profile: &Path, objects: &[PathBuf]) -> Result<String, String> {
        let mut export = Command::new(self.0.join("llvm-cov"));
        export.args(["export", "-format=lcov", "-instr-profile"]).arg(profile);
        export.args(objects.iter().flat_map(|object| [Path::new("-object"), object]));
        run::announce("llvm-cov export");
        let output = export.output().map_err(|error| format!("cannot run llvm-cov: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}

/// A compiler that adds our flags; cargo uses it for the crates of the workspace.
pub fn wrapper(place: &Path) -> PathBuf {
    place.join("instrumented-rustc")
}

pub fn write_wrapper(place: &Path) -> Result<(), String> {
    let path = wrapper(place);
    let script = format!("#!/bin/sh\nexec \"$@\" {FLAGS}\n");
    let written = fs::write(&path, script)
        .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn installed() -> Result<Option<PathBuf>, String> {
    let said = |arguments: &[&str]| {
        let output = Command::new("rustc").args(arguments).output();
        let output = output.map_err(|error| format!("cannot run rustc: {error}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let version = said(&["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let root = said(&["--print", "sysroot"])?;
    let place = Path::new(root.trim()).join("lib/rustlib").join(host).join("bin");
    Ok(place.join("llvm-profdata").exists().then_some(place))
}
