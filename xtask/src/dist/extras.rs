//! Shell completions and manual pages, as the program itself prints them; and the schema of the config.

use std::path::Path;

use super::file::{self, Placed};
use super::programs::Programs;

/// What the program is asked for, and where it goes.
const PRINTED: [(&[&str], &str); 4] = [
    (&["completions", "bash"], "share/bash-completion/completions/trunkline"),
    (&["completions", "zsh"], "share/zsh/vendor-completions/_trunkline"),
    (&["completions", "fish"], "share/fish/vendor_completions.d/trunkline.fish"),
    (&["schema"], "share/trunkline/config.schema.json"),
];

/// What the program knows; what it does not is left out, and said.
pub(super) fn made(programs: &Programs, folder: &Path) -> Result<Vec<Placed>, String> {
    let mut made = Vec::new();
    for (arguments, under_usr) in PRINTED {
        let Some(text) = programs.asked(arguments).filter(|text| !text.is_empty()) else {
            println!("left out: `trunkline {}` does not work", arguments.join(" "));
            continue;
        };
        let path = folder.join(under_usr);
        file::write(&path, text, file::DATA)?;
        made.push(Placed { path, under_usr: under_usr.to_owned() });
    }
    made.extend(pages(programs, folder)?);
    Ok(made)
}

/// A page for the program, and one for each of its commands, which the first refers to.
fn pages(programs: &Programs, folder: &Path) -> Result<Vec<Placed>, String> {
    const MANUAL: &str = "share/man/man1";
    let to = folder.join(MANUAL);
    let Some(_) = programs.asked(&["man", "--dir", &to.display().to_string()]) else {
        println!("left out: `trunkline man --dir` does not work");
        return Ok(Vec::new());
    };
    let entries = std::fs::read_dir(&to).map_err(|error| format!("{}: {error}", to.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let placed = paths.into_iter().map(|path| {
        let under_usr = format!("{MANUAL}/{}", name(&path));
        Placed { path, under_usr }
    });
    Ok(placed.collect())
}
