//! The package for Fedora and its kin: what it says, what it holds, installed into a root of its own and removed.

use std::path::Path;
use std::process::Command;

use super::{holds, made, session};
use crate::dist::programs::{NAMES, output};
use crate::dist::{Dist, rpm, tree};

const FILES: [&str; 6] = [
    tree::CONFIG,
    "/usr/bin/trunkline",
    "/usr/bin/mcp-simple-aggregator",
    "/usr/lib/systemd/system/trunkline.service",
    "/usr/share/man/man1/trunkline.1.gz",
    "/usr/share/trunkline/config.schema.json",
];

pub(super) fn check(dist: &Dist, place: &Path) -> Result<String, String> {
    let programs = dist.here()?;
    let package = made(dist, &rpm::name(programs))?;
    let asked = |flags: &[&str]| output(call(place).args(flags).arg(&package));
    let said = asked(&["-qip"])?;
    holds(&said, &["Name        : trunkline", "License     : MIT OR Apache-2.0"])?;
    let listed = asked(&["-qplv"])?;
    holds(&listed, &FILES)?;
    if let Some(line) = listed.lines().find(|line| !line.contains(" root     root ")) {
        return Err(format!("not root's: {line}"));
    }
    holds(&asked(&["-qpc"])?, &[tree::CONFIG])?;
    let needs = asked(&["-qpR"])?;
    if needs.contains("glibc") != programs.glibc()?.is_some() {
        return Err(format!("what it needs is wrong:\n{needs}"));
    }
    let root = place.join("root");
    let install = ["--install", "--nodeps", "--noscripts", "--nosignature"];
    output(call(place).args(at(&root)).args(install).arg(&package))?;
    let program = root.join("usr/bin/trunkline");
    for name in NAMES {
        let said = output(Command::new(root.join("usr/bin").join(name)).arg("--version"))?;
        holds(&said, &[name, &programs.version])?;
    }
    let config = root.join(tree::CONFIG.trim_start_matches('/'));
    output(
        Command::new(&program).args(["check", "--config"]).arg(&config).env(session::PINS, "off"),
    )?;
    output(call(place).args(at(&root)).args(["--erase", "--nodeps", "--noscripts", "trunkline"]))?;
    if program.exists() {
        return Err("the program is left after it was erased".to_owned());
    }
    Ok(format!("{} files, installed, run and erased again", listed.lines().count()))
}

fn at(root: &Path) -> [String; 2] {
    ["--root".to_owned(), root.display().to_string()]
}

/// With a list of packages of its own. Debian's rpm wants to be told that it is meant.
fn call(place: &Path) -> Command {
    let mut command = Command::new("rpm");
    command.arg("--dbpath").arg(place.join("list"));
    if Path::new("/etc/debian_version").exists() {
        command.arg("--force-debian");
    }
    command
}
