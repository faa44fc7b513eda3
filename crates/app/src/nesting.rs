//! An aggregator that is its own server must not start itself without end.
//!
//! Each Trunkline passes the list of configs above it on in the environment. A server entry may
//! clear the environment (`env -i`), so the ancestors' command lines are looked at as well.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

pub(crate) const VARIABLE: &str = "TRUNKLINE_CHAIN";
/// Trunkline behind Trunkline is legitimate, but so many levels are a loop.
const MOST_HOPS: usize = 8;
/// Ancestors looked at; beyond them is not our doing.
const MOST_ANCESTORS: usize = 64;

/// The configs that are being served above us, outermost first.
#[derive(Debug)]
pub(crate) struct ConfigChain(Vec<String>);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Loop {
    #[error(
        "this config is already being served by the program that started this one: a server entry \
         in {0} leads back to the same file. Remove that entry, or give it another config"
    )]
    Itself(String),
    #[error(
        "{MOST_HOPS} aggregators are already nested above this one; server entries probably lead \
         back to each other"
    )]
    TooDeep,
}

impl ConfigChain {
    /// The chain with this config added, or why it must not be served here.
    pub(crate) fn extend(config: &Path, environment: &Environment) -> Result<Self, Loop> {
        join(above(environment), config).map(Self)
    }

    /// Is there another Trunkline above this process?
    pub(crate) fn is_nested(environment: &Environment) -> bool {
        !above(environment).is_empty()
    }

    /// What servers are given, so that they know.
    pub(crate) fn value(&self) -> String {
        self.0.join("\n")
    }
}

/// The configs above this process.
fn above(environment: &Environment) -> Vec<String> {
    let mut chain = split(&environment.filled(VARIABLE).unwrap_or_default());
    // A runtime has none above it: its front, which served nothing, has looked before it started it.
    if environment.is_of_runtime() {
        return chain;
    }
    if let Ok(own) = std::fs::canonicalize("/proc/self/exe") {
        chain.extend(ancestors(&own));
    }
    chain
}

fn split(value: &str) -> Vec<String> {
    value.split('\n').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn join(mut chain: Vec<String>, config: &Path) -> Result<Vec<String>, Loop> {
    let own = config.to_string_lossy().into_owned();
    // By its real path: links and relative names of one file are the same config.
    if chain.contains(&own) {
        return Err(Loop::Itself(own));
    }
    chain.push(own);
    // The list is a set, passed on from process to process: sorted, it does not grow by repetition.
    chain.sort();
    chain.dedup();
    if chain.len() > MOST_HOPS { Err(Loop::TooDeep) } else { Ok(chain) }
}

/// The configs of ancestors that run a program beside ours (either binary).
fn ancestors(own: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pid = parent(Path::new("/proc/self/stat"));
    for _ in 0..MOST_ANCESTORS {
        let Some(process) = pid.filter(|pid| *pid > 1) else {
            break;
        };
        let place = PathBuf::from(format!("/proc/{process}"));
        let exe = std::fs::read_link(place.join("exe")).unwrap_or_default();
        if exe.parent() == own.parent() && is_ours(&exe) {
            found.extend(config_of(&place));
        }
        pid = parent(&place.join("stat"));
    }
    found
}

fn is_ours(exe: &Path) -> bool {
    let names = [OsStr::new("trunkline"), OsStr::new("mcp-simple-aggregator")];
    exe.file_name().is_some_and(|name| names.contains(&name))
}

/// The parent in a `stat` file: the second field behind the command, which may hold anything.
fn parent(stat: &Path) -> Option<u32> {
    let text = std::fs::read(stat).ok()?;
    // From the end: the command may hold spaces and brackets of its own (proc(5)).
    let behind = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(behind + 1..)?).ok()?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// The config named on a process's command line, as an absolute path.
fn config_of(place: &Path) -> Option<String> {
    let line = std::fs::read(place.join("cmdline")).ok()?;
    let args: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let at = args.iter().position(|arg| arg.starts_with(b"--config"))?;
    let value = match args.get(at)?.strip_prefix(b"--config=") {
        Some(value) => value,
        None => args.get(at + 1)?,
    };
    let path = Path::new(OsStr::from_bytes(value));
    let path = std::fs::read_link(place.join("cwd")).unwrap_or_default().join(path);
    Some(std::fs::canonicalize(path).ok()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(configs: &[&str]) -> Vec<String> {
        configs.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn edge_2_the_same_config_twice_is_a_loop() {
        assert_eq!(join(chain(&["/a"]), Path::new("/b")), Ok(chain(&["/a", "/b"])));
        assert_eq!(join(chain(&["/a", "/b"]), Path::new("/a")), Err(Loop::Itself("/a".to_owned())));
    }

    #[test]
    fn edge_2_there_is_an_end_to_nesting() {
        let eight: Vec<String> = (0..8).map(|n| format!("/{n}")).collect();
        assert_eq!(join(eight, Path::new("/x")), Err(Loop::TooDeep));
    }
}
