//! The Debian package: what it says, what it holds, installed into a root of its own and removed again.

use std::path::Path;
use std::process::Command;

use super::{holds, made, session};
use crate::dist::programs::{NAMES, output};
use crate::dist::{Dist, deb, file};

/// What everybody gets; completions and the manual follow when the program prints them.
const FILES: [&str; 8] = [
    "./etc/trunkline/mcp.json",
    "./usr/bin/trunkline",
    "./usr/bin/mcp-simple-aggregator",
    "./usr/lib/systemd/system/trunkline.service",
    "./usr/share/doc/trunkline/copyright",
    "./usr/share/doc/trunkline/changelog.gz",
    "./usr/share/doc/trunkline/docs/config.md",
    "./usr/share/trunkline/config.schema.json",
];

pub(super) fn check(dist: &Dist, place: &Path) -> Result<String, String> {
    let programs = dist.here()?;
    let package = made(dist, &deb::name(programs))?;
    let version = &programs.version;
    let said = output(Command::new("dpkg-deb").arg("--info").arg(&package))?;
    holds(&said, &["Package: trunkline", &format!("Version: {version}")])?;
    // Static programs depend on nothing.
    match programs.glibc()? {
        Some(version) => holds(&said, &[&format!("Depends: libc6 (>= {version})")])?,
        None if said.contains("Depends:") => return Err(format!("static, and yet:\n{said}")),
        None => {}
    }
    let listed = output(Command::new("dpkg-deb").arg("--contents").arg(&package))?;
    holds(&listed, &FILES)?;
    for extra in &dist.extras {
        holds(&listed, &[&extra.under_usr])?;
    }
    if let Some(line) = listed.lines().find(|line| !line.contains(" root/root ")) {
        return Err(format!("not root's: {line}"));
    }
    let root = place.join("root");
    installed(&package, &root)?;
    let program = root.join("usr/bin/trunkline");
    for name in NAMES {
        let said = output(Command::new(root.join("usr/bin").join(name)).arg("--version"))?;
        holds(&said, &[name, version])?;
    }
    let config = root.join("etc/trunkline/mcp.json");
    output(
        Command::new(&program).args(["check", "--config"]).arg(&config).env(session::PINS, "off"),
    )?;
    removed(&root)?;
    let files = listed.lines().filter(|line| line.starts_with('-')).count();
    Ok(format!("{files} files, installed, run and purged again"))
}

/// An empty machine, and the package on it. Scripts run outside, and know where (`DPKG_ROOT`).
fn installed(package: &Path, root: &Path) -> Result<(), String> {
    for folder in ["info", "updates", "triggers"] {
        let folder = root.join("var/lib/dpkg").join(folder);
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    }
    file::write(&root.join("var/lib/dpkg/status"), "", file::DATA)?;
    output(dpkg(root).args(["--force-depends", "--install"]).arg(package)).map(drop)
}

/// What the service keeps goes with the package, and nothing else does.
fn removed(root: &Path) -> Result<(), String> {
    let foreign = root.join("var/lib/other/file");
    for file in ["var/lib/trunkline/key", "etc/trunkline/environment"] {
        file::write(&root.join(file), "", file::DATA)?;
    }
    file::write(&foreign, "", file::DATA)?;
    output(dpkg(root).args(["--purge", "trunkline"]))?;
    for gone in ["usr/bin/trunkline", "etc/trunkline", "var/lib/trunkline"] {
        if root.join(gone).exists() {
            return Err(format!("{gone} is left after a purge"));
        }
    }
    if foreign.exists() { Ok(()) } else { Err("a purge removed somebody else's file".to_owned()) }
}

fn dpkg(root: &Path) -> Command {
    let mut command = Command::new("dpkg");
    command.args(["--force-script-chrootless", "--force-not-root", "--force-bad-path"]);
    command.arg(format!("--root={}", root.display()));
    command
}
