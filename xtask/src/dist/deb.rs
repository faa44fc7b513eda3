//! A package for Debian and its kin, put together by `dpkg-deb`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::file::{self, DATA, PROGRAM};
use super::programs::{Programs, output};
use super::tree::{self, Family};
use super::{Dist, Haste};
use crate::run;

pub(super) fn pack(dist: &Dist, programs: &Programs) -> Result<PathBuf, String> {
    let tree = dist.out.join("deb").join(programs.platform.to_string());
    tree::furnish(dist, programs, &tree, Family::Debian)?;
    let packaging = file::root().join("packaging/debian");
    let copyright = tree.join("usr/share/doc/trunkline/copyright");
    file::copy(&packaging.join("copyright"), &copyright, DATA)?;
    let control = tree.join("DEBIAN");
    for script in ["postinst", "prerm", "postrm"] {
        file::copy(&packaging.join(script), &control.join(script), PROGRAM)?;
    }
    file::write(&control.join("conffiles"), format!("{}\n", tree::CONFIG), DATA)?;
    file::write(&control.join("control"), self::control(programs, &tree.join("usr"))?, DATA)?;
    let package = dist.out.join(name(programs));
    let mut command = Command::new("dpkg-deb");
    // Files belong to root, whoever packs them.
    let squeeze = if dist.haste == Haste::Much { ["-Zgzip", "-z1"] } else { ["-Zxz", "-z6"] };
    command.arg("--root-owner-group").args(squeeze).arg("--build").arg(&tree).arg(&package);
    run::checked(command.stdout(std::process::Stdio::null()), "dpkg-deb --build")?;
    Ok(package)
}

/// What the package is called.
pub(super) fn name(programs: &Programs) -> String {
    format!("trunkline_{}_{}.deb", programs.version, programs.platform.debian())
}

/// What the package says about itself.
fn control(programs: &Programs, usr: &Path) -> Result<String, String> {
    let size = output(Command::new("du").args(["-sk"]).arg(usr))?;
    let size = size.split_whitespace().next().unwrap_or("0").to_owned();
    let libraries = match programs.glibc()? {
        Some(version) => format!("Depends: libc6 (>= {version}), libgcc-s1\n"),
        None => String::new(),
    };
    Ok(format!(
        "Package: trunkline\n\
         Version: {}\n\
         Architecture: {}\n\
         Maintainer: The Trunkline authors <trunkline@localhost>\n\
         Installed-Size: {size}\n\
         {libraries}\
         Recommends: ca-certificates\n\
         Suggests: nodejs, npm, python3\n\
         Section: net\n\
         Priority: optional\n\
         Description: one MCP endpoint in front of every MCP server\n \
         Trunkline starts the MCP servers of a plain mcpServers file, or is told of them over\n \
         REST, and is itself one MCP server: over standard input and output, and over HTTP for\n \
         many clients at once.\n",
        programs.version,
        programs.platform.debian(),
    ))
}
