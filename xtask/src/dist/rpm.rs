//! A package for Fedora, openSUSE and their kin, put together by `rpmbuild`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::file::{self, DATA};
use super::programs::{Programs, output};
use super::tree::{self, Family};
use super::{Dist, Haste};

/// The first package of its version.
const RELEASE: &str = "1";

pub(super) fn pack(dist: &Dist, programs: &Programs) -> Result<PathBuf, String> {
    let place = dist.out.join("rpm").join(programs.platform.to_string());
    let tree = place.join("tree");
    tree::furnish(dist, programs, &tree, Family::Rpm)?;
    let needs = match programs.glibc()? {
        Some(version) => format!("Requires: glibc >= {version}\n"),
        None => String::new(),
    };
    // In the order in which `find` meets them it would be another package each time.
    let mut files: Vec<String> = listed(&tree, &tree)?;
    files.sort();
    let spec = file::text(&file::root().join("packaging/rpm/trunkline.spec"))?;
    let spec = spec
        .replace("@VERSION@", &version(programs))
        .replace("@RELEASE@", RELEASE)
        .replace("@NEEDS@\n", &needs)
        .replace("@TREE@", &tree.display().to_string())
        .replace("@FILES@", &files.join("\n"));
    let written = place.join("trunkline.spec");
    file::write(&written, spec, DATA)?;
    let payload = if dist.haste == Haste::Much { "w1.gzdio" } else { "w19.zstdio" };
    let mut command = Command::new("rpmbuild");
    command.args(["-bb", "--quiet", "--target", programs.platform.processor()]);
    command.arg("--define").arg(format!("_topdir {}", place.join("build").display()));
    command.arg("--define").arg(format!("_rpmdir {}", place.display()));
    command.arg("--define").arg(format!("_binary_payload {payload}"));
    output(command.arg(&written))?;
    let made = place.join(programs.platform.processor()).join(name(programs));
    let package = dist.out.join(name(programs));
    std::fs::rename(&made, &package).map_err(|error| format!("{}: {error}", made.display()))?;
    Ok(package)
}

/// What the package is called.
pub(super) fn name(programs: &Programs) -> String {
    let processor = programs.platform.processor();
    format!("trunkline-{}-{RELEASE}.{processor}.rpm", version(programs))
}

/// A `-` parts the version from the release there.
fn version(programs: &Programs) -> String {
    programs.version.replace('-', "~")
}

/// Every file, as the package lists it.
fn listed(folder: &Path, tree: &Path) -> Result<Vec<String>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            all.extend(listed(&path, tree)?);
            continue;
        }
        let inside = path.strip_prefix(tree).unwrap_or(&path);
        let place = format!("/{}", inside.display());
        let kind = match place.as_str() {
            tree::CONFIG => "%config(noreplace) ",
            place if place.contains("/share/doc/") => "%doc ",
            _ => "",
        };
        all.push(format!("{kind}{place}"));
    }
    Ok(all)
}
