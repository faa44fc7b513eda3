//! The archive: unpacked, and its program run and spoken to from where it lies.

use std::path::Path;
use std::process::Command;

use super::{holds, made, session};
use crate::dist::programs::{NAMES, output};
use crate::dist::{Dist, file, tarball};

pub(super) fn check(dist: &Dist, place: &Path) -> Result<String, String> {
    let programs = dist.here()?;
    let archive = made(dist, &tarball::name(programs))?;
    let listed = output(Command::new("tar").arg("-tvf").arg(&archive))?;
    if let Some(line) = listed.lines().find(|line| !line.contains(" 0/0 ")) {
        return Err(format!("somebody's own: {line}"));
    }
    output(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(place))?;
    let folder = place.join(tarball::folder(programs));
    for name in NAMES {
        let said = output(Command::new(folder.join(name)).arg("--version"))?;
        holds(&said, &[name, &programs.version])?;
    }
    for page in ["LICENSE-MIT", "LICENSE-APACHE", "share/man/man1/trunkline.1"] {
        file::read(&folder.join(page))?;
    }
    let config = place.join("mcp.json");
    let program = folder.join("trunkline");
    file::write(&config, session::config(&program), file::DATA)?;
    let said = session::tools(Command::new(&program).arg("--config").arg(&config))?;
    holds(&said, &["\"clock:now\""])?;
    Ok(format!("{} files, unpacked and spoken to", listed.lines().count()))
}
