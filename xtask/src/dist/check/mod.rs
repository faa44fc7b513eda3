//! Every package, tried as its user would: installed into an empty place, and run from there.

mod container;
mod deb;
mod emulated;
mod formula;
mod install;
mod mcpb;
mod npm;
mod rpm;
mod sbom;
mod service;
mod session;
mod tarball;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Dist, file};

/// Where packages that are only tried would be downloaded from.
pub(super) const ADDRESS: &str = "http://127.0.0.1";

/// All of them, whatever the first ones come to.
pub(super) fn run(dist: &Dist) -> Result<(), String> {
    let faults: Vec<String> = each(dist).filter_map(|(_, outcome)| outcome.err()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// One after the other, as it is asked for: its name, and what it came to.
pub(super) fn each(dist: &Dist) -> impl Iterator<Item = (&'static str, Result<(), String>)> {
    type Check = fn(&Dist, &Path) -> Result<String, String>;
    let checks: [(&str, Check); 11] = [
        ("tarball", tarball::check),
        ("install.sh", install::check),
        ("formula", formula::check),
        ("deb", deb::check),
        ("rpm", rpm::check),
        ("emulated", emulated::check),
        ("service", service::check),
        ("npm", npm::check),
        ("mcpb", mcpb::check),
        ("container", container::check),
        ("sbom", sbom::check),
    ];
    checks.into_iter().map(|(name, check)| {
        let place = dist.out.join("check").join(name);
        let outcome = file::emptied(&place).and_then(|()| check(dist, &place));
        (
            name,
            outcome
                .map(|said| println!("ok  {name}: {said}"))
                .map_err(|why| format!("dist: {name}: {why}")),
        )
    })
}

/// The package of this name.
fn made(dist: &Dist, name: &str) -> Result<PathBuf, String> {
    let path = dist.out.join(name);
    if path.exists() { Ok(path) } else { Err(format!("there is no {name}")) }
}

/// Is there such a program on this machine?
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// What a command says must have all of these.
fn holds(said: &str, parts: &[&str]) -> Result<(), String> {
    match parts.iter().find(|part| !said.contains(*part)) {
        None => Ok(()),
        Some(missing) => Err(format!("no {missing:?} in\n{said}")),
    }
}
