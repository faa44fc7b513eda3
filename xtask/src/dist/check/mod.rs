//! Every package, tried as its user would: installed into an empty place, and run from there.

mod container;
mod deb;
mod mcpb;
mod npm;
mod sbom;
mod service;
mod session;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Dist, file};

/// All of them, whatever the first ones come to.
pub(super) fn run(dist: &Dist) -> Result<(), String> {
    let faults: Vec<String> = each(dist).filter_map(|(_, outcome)| outcome.err()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// One after the other, as it is asked for: its name, and what it came to.
pub(super) fn each(dist: &Dist) -> impl Iterator<Item = (&'static str, Result<(), String>)> {
    type Check = fn(&Dist, &Path) -> Result<String, String>;
    let checks: [(&str, Check); 6] = [
        ("deb", deb::check),
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

/// The one file with this ending.
fn made(dist: &Dist, prefix: &str, ending: &str) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(&dist.out).map_err(|error| error.to_string())?;
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(prefix) && name.ends_with(ending)
    };
    let mut found = entries.flatten().map(|entry| entry.path()).filter(fits);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(format!("there is not one {prefix}…{ending}")),
    }
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
