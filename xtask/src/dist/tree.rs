//! What a package puts on a Linux machine: programs, service, config, completions, manual, documents.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Dist;
use super::file::{self, DATA};
use super::programs::{self, Programs};

/// Whose package it is: they have other folders for the same things.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Debian,
    Rpm,
}

/// Where the config of the service is.
pub(super) const CONFIG: &str = "/etc/trunkline/mcp.json";

pub(super) fn furnish(
    dist: &Dist,
    programs: &Programs,
    tree: &Path,
    family: Family,
) -> Result<(), String> {
    let (root, usr) = (file::root(), tree.join("usr"));
    let packaging = root.join("packaging");
    programs.copy_to(&usr.join("bin"))?;
    let unit = usr.join("lib/systemd/system/trunkline.service");
    file::copy(&packaging.join("trunkline.service"), &unit, DATA)?;
    file::copy(&packaging.join("mcp.json"), &tree.join(CONFIG.trim_start_matches('/')), DATA)?;
    for extra in &dist.extras {
        let place = match family {
            Family::Debian => extra.under_usr.clone(),
            Family::Rpm => extra.under_usr.replace("zsh/vendor-completions", "zsh/site-functions"),
        };
        let to = usr.join(&place);
        file::copy(&extra.path, &to, DATA)?;
        if place.contains("/man/") {
            gzip(&to)?;
        }
    }
    let papers = usr.join("share/doc/trunkline");
    for page in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        file::copy(&root.join(page), &papers.join(page), DATA)?;
    }
    // Where they lie in the repository: their links to each other hold.
    for page in pages(&root.join("docs"))? {
        let name = page.file_name().unwrap_or_default();
        file::copy(&page, &papers.join("docs").join(name), DATA)?;
    }
    file::copy(&root.join("CHANGELOG.md"), &papers.join("changelog"), DATA)?;
    gzip(&papers.join("changelog"))
}

/// The pages of a folder.
fn pages(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|found| found == "md")).collect())
}

/// Without name and time in it: one file always becomes the same bytes.
fn gzip(path: &Path) -> Result<(), String> {
    programs::output(Command::new("gzip").args(["-9", "-n"]).arg(path)).map(drop)
}
