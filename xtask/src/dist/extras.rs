//! Shell completions and the manual page, as the program itself prints them; and the schema of the config.

use std::path::Path;

use super::file::{self, Placed};
use super::programs::Programs;

/// What the program is asked for, and where it goes.
const PRINTED: [(&[&str], &str); 5] = [
    (&["completions", "bash"], "share/bash-completion/completions/trunkline"),
    (&["completions", "zsh"], "share/zsh/vendor-completions/_trunkline"),
    (&["completions", "fish"], "share/fish/vendor_completions.d/trunkline.fish"),
    (&["man"], "share/man/man1/trunkline.1"),
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
        made.push(Placed { path, under_usr });
    }
    Ok(made)
}
