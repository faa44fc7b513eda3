//! A package for Debian and its kin, put together by `dpkg-deb`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::file::{self, DATA, PROGRAM};
use super::{Dist, Haste, programs};
use crate::run;

pub(super) fn pack(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    let tree = dist.out.join("deb");
    furnish(dist, &tree)?;
    let arch = dist.programs.debian_arch();
    let package = dist.out.join(format!("trunkline_{}_{arch}.deb", dist.programs.version));
    let mut command = Command::new("dpkg-deb");
    // Files belong to root, whoever packs them.
    let squeeze = if dist.haste == Haste::Much { ["-Zgzip", "-z1"] } else { ["-Zxz", "-z6"] };
    command.arg("--root-owner-group").args(squeeze).arg("--build").arg(&tree).arg(&package);
    run::checked(command.stdout(std::process::Stdio::null()), "dpkg-deb --build")?;
    Ok(vec![package])
}

fn furnish(dist: &Dist, tree: &Path) -> Result<(), String> {
    let (root, usr) = (file::root(), tree.join("usr"));
    let packaging = root.join("packaging");
    dist.programs.copy_to(&usr.join("bin"))?;
    let unit = usr.join("lib/systemd/system/trunkline.service");
    file::copy(&packaging.join("trunkline.service"), &unit, DATA)?;
    file::copy(&packaging.join("mcp.json"), &tree.join("etc/trunkline/mcp.json"), DATA)?;
    for extra in &dist.extras {
        let to = usr.join(&extra.under_usr);
        file::copy(&extra.path, &to, DATA)?;
        if extra.under_usr.contains("/man/") {
            gzip(&to)?;
        }
    }
    let papers = usr.join("share/doc/trunkline");
    for page in ["README.md", "LICENSE-MIT"] {
        file::copy(&root.join(page), &papers.join(page), DATA)?;
    }
    // Where they lie in the repository: their links to each other hold.
    for page in pages(&root.join("docs"))? {
        let name = page.file_name().unwrap_or_default();
        file::copy(&page, &papers.join("docs").join(name), DATA)?;
    }
    file::copy(&packaging.join("debian/copyright"), &papers.join("copyright"), DATA)?;
    file::copy(&root.join("CHANGELOG.md"), &papers.join("changelog"), DATA)?;
    gzip(&papers.join("changelog"))?;
    let control = tree.join("DEBIAN");
    for script in ["postinst", "prerm", "postrm"] {
        let from = packaging.join("debian").join(script);
        file::copy(&from, &control.join(script), PROGRAM)?;
    }
    file::write(&control.join("conffiles"), "/etc/trunkline/mcp.json\n", DATA)?;
    file::write(&control.join("control"), self::control(dist, &usr)?, DATA)
}

/// The pages of a folder.
fn pages(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|found| found == "md")).collect())
}

/// What the package says about itself.
fn control(dist: &Dist, usr: &Path) -> Result<String, String> {
    let size = programs::output(Command::new("du").args(["-sk"]).arg(usr))?;
    let size = size.split_whitespace().next().unwrap_or("0").to_owned();
    let libraries = match dist.programs.glibc()? {
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
        dist.programs.version,
        dist.programs.debian_arch(),
    ))
}

/// Without name and time in it: one file always becomes the same bytes.
fn gzip(path: &Path) -> Result<(), String> {
    programs::output(Command::new("gzip").args(["-9", "-n"]).arg(path)).map(drop)
}
