//! The Containerfile, as far as it can be checked without building it: instructions, files, flags.

use std::path::Path;

use crate::dist::{Dist, file};

const KNOWN: [&str; 11] = [
    "FROM",
    "RUN",
    "WORKDIR",
    "COPY",
    "USER",
    "VOLUME",
    "EXPOSE",
    "STOPSIGNAL",
    "ENTRYPOINT",
    "CMD",
    "ENV",
];

pub(super) fn check(dist: &Dist, _place: &Path) -> Result<String, String> {
    let text = file::text(&file::root().join("packaging/Containerfile"))?;
    let text = text.replace("\\\n", " ");
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let instructions: Vec<(&str, &str)> =
        lines.map(|line| line.split_once(' ').unwrap_or((line, ""))).collect();
    for (name, rest) in &instructions {
        if !KNOWN.contains(name) || rest.is_empty() {
            return Err(format!("`{name} {rest}` is no instruction"));
        }
    }
    let copied =
        instructions.iter().filter(|(name, rest)| *name == "COPY" && !rest.starts_with("--"));
    for (_, rest) in copied {
        let mut words: Vec<&str> = rest.split_whitespace().collect();
        words.pop();
        if let Some(missing) = words.iter().find(|word| !file::root().join(word).exists()) {
            return Err(format!("COPY {missing}: there is no such file"));
        }
    }
    // Every member of the workspace has to be there, or cargo refuses to build any.
    for member in ["crates", "tests", "xtask", "bench", "fuzz"] {
        if !instructions.contains(&("COPY", &format!("{member} {member}"))) {
            return Err(format!("{member} is not copied"));
        }
    }
    let (_, command) = instructions.iter().find(|(name, _)| *name == "CMD").ok_or("no CMD")?;
    let arguments: Vec<&str> = command.split('"').skip(1).step_by(2).collect();
    let help = [&arguments[..], &["--help"]].concat();
    if dist.here()?.asked(&help).is_none() {
        return Err(format!("trunkline does not take {arguments:?}"));
    }
    Ok(format!("{} instructions, read and not built", instructions.len()))
}
