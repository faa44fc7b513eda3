//! The repository's Rust files, as the checks see them.

use std::fs;
use std::path::{Path, PathBuf};

pub struct Source {
    pub path: PathBuf,
    pub text: String,
}

impl Source {
    /// First line of the door plate, without its `//!`.
    pub fn plate(&self) -> Option<&str> {
        self.text.lines().next()?.strip_prefix("//! ")
    }

    /// Lines that are not the trailing unit tests.
    pub fn code(&self) -> &str {
        self.text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or(&self.text)
    }

    /// `gateway/router` for `crates/gateway/src/router/route.rs`; `None` outside `crates/`.
    pub fn room(&self) -> Option<String> {
        let parts: Vec<_> = self.path.iter().map(|part| part.to_string_lossy()).collect();
        match parts.as_slice() {
            [crates, name, src, room, ..] if crates == "crates" && src == "src" => {
                Some(format!("{name}/{}", room.trim_end_matches(".rs")))
            }
            _ => None,
        }
    }
}

pub fn all() -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for root in ["crates", "tests", "xtask", "bench", "fuzz"] {
        walk(Path::new(root), &mut sources)?;
    }
    sources.sort_by_key(|file| (file.path.parent().map(Path::to_owned), file.path.clone()));
    Ok(sources)
}

fn walk(dir: &Path, sources: &mut Vec<Source>) -> Result<(), String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            walk(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            sources.push(Source { path, text });
        }
    }
    Ok(())
}
