//! `RuntimeIdentity`: which clients share a runtime: those for which it would be the same one.
//!
//! Same user (the directory), same program, same config file, same flags but `--for`, same values of the
//! variables that the config uses and of those that servers inherit. Only a keyed hash of it is kept.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ring::hmac;
use trunkline_catalog::config::{ServerSpec, Transport};

use crate::cli::Stdio;
use crate::environment::Environment;

/// Variables that servers inherit and that differ between a terminal, an editor and a desktop of one user
/// without changing what a server does. `DISPLAY` is none of them: a server that opens a window needs it.
const OF_THE_SEAT: &[&str] = &[
    "SHELL",
    "TERM",
    "XDG_SESSION_ID",
    "XDG_SESSION_TYPE",
    "XDG_SESSION_CLASS",
    "XDG_SESSION_DESKTOP",
    "XDG_SESSION_PATH",
    "XDG_CURRENT_DESKTOP",
    "XDG_SEAT",
    "XDG_SEAT_PATH",
    "XDG_VTNR",
    "XDG_MENU_PREFIX",
    "XDG_ACTIVATION_TOKEN",
    "XDG_GREETER_DATA_DIR",
];

/// Everything that tells one runtime from another.
#[derive(Debug)]
pub(crate) struct RuntimeIdentity<'i> {
    pub(crate) config: &'i Path,
    pub(crate) flags: &'i Stdio,
    /// Where servers run that are named relative to it; `None`: there is none, and any place will do.
    pub(crate) directory: Option<&'i Path>,
    /// What the config has asked for: also that a variable is not set.
    pub(crate) used: &'i BTreeMap<String, Option<String>>,
    /// What servers inherit.
    pub(crate) inherited: &'i [(std::ffi::OsString, std::ffi::OsString)],
    /// Variables of Trunkline itself.
    pub(crate) own: &'i [(&'i str, Option<String>)],
}

impl RuntimeIdentity<'_> {
    /// A name for it that tells nobody what it is made of. 64 bits: a user has a handful.
    pub(crate) fn id(&self, key: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
        // With its length before it, so that no two lists of parts read alike.
        let mut part = |bytes: &[u8]| {
            context.update(&(bytes.len() as u64).to_le_bytes());
            context.update(bytes);
        };
        part(program().as_bytes());
        part(self.config.as_os_str().as_bytes());
        part(format!("{:?}", shared_flags(self.flags)).as_bytes());
        part(self.directory.map_or(&b""[..], |directory| directory.as_os_str().as_bytes()));
        for (name, value) in self.used {
            part(name.as_bytes());
            part(value.as_ref().map_or(&b"unset"[..], |_| b"set"));
            part(value.as_deref().unwrap_or_default().as_bytes());
        }
        for (name, value) in self.own {
            part(name.as_bytes());
            part(value.as_deref().unwrap_or_default().as_bytes());
        }
        let mut inherited: Vec<_> = self.inherited.iter().collect();
        inherited.sort();
        for (name, value) in inherited {
            // Named in `--pass-env`, it was meant.
            let is_meant =
                self.flags.servers.pass_env.iter().any(|passed| name == OsStr::new(passed));
            if is_meant || !OF_THE_SEAT.iter().any(|seat| name == OsStr::new(seat)) {
                part(name.as_bytes());
                part(&without_repeats(name, value));
            }
        }
        let digest = context.sign();
        digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A short keyed hash of each variable, by name. A runtime compares those that an edited config uses with its
/// own; the values stay here.
pub(crate) fn digests(environment: &Environment, key: &[u8]) -> BTreeMap<String, String> {
    let all = environment.all();
    let named = all.iter().filter_map(|(name, value)| Some((name.to_str()?, value.as_bytes())));
    named.map(|(name, value)| (name.to_owned(), digest(key, name, value))).collect()
}

fn digest(key: &[u8], name: &str, value: &[u8]) -> String {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    context.update(name.as_bytes());
    context.update(b"=");
    context.update(value);
    context.sign().as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A directory that is named twice in `PATH` is found at its first place.
fn without_repeats(name: &OsStr, value: &OsStr) -> Vec<u8> {
    if name != "PATH" {
        return value.as_bytes().to_vec();
    }
    let mut kept: Vec<&[u8]> = Vec::new();
    for directory in value.as_bytes().split(|byte| *byte == b':') {
        if !kept.contains(&directory) {
            kept.push(directory);
        }
    }
    kept.join(&b':')
}

/// The flags that all clients of a runtime have in common.
fn shared_flags(flags: &Stdio) -> Stdio {
    let mut shared = flags.clone();
    shared.servers.config = None; // the file itself is part of the identity
    shared.servers.client = None; // each session has names of its own
    shared.linger = None;
    shared.no_shared = false;
    shared.restart = false; // a runtime starts failed servers again in any case
    shared
}

/// The running program: a newer one on disk is another one.
fn program() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match std::fs::metadata("/proc/self/exe") {
        Ok(about) => format!(
            "{version} {} {} {} {}.{}",
            about.dev(),
            about.ino(),
            about.size(),
            about.mtime(),
            about.mtime_nsec()
        ),
        Err(_) => version.to_owned(),
    }
}

/// Does a server of these run in, or name, something relative to the directory that its client is in?
pub(crate) fn depends_on_directory(servers: &[ServerSpec]) -> bool {
    servers.iter().filter(|server| !server.disabled).any(|server| match &server.transport {
        Transport::Stdio { command, args, cwd, .. } => {
            let is_relative = |path: &str| !Path::new(path).is_absolute();
            let names_here = |text: &str| {
                matches!(text, "." | "..") || text.starts_with("./") || text.starts_with("../")
            };
            cwd.as_deref().is_some_and(is_relative)
                || (command.contains('/') && is_relative(command))
                || (cwd.is_none() && args.iter().any(|arg| names_here(arg)))
        }
        Transport::Remote { .. } => false,
    })
}

/// Where a runtime runs whose servers do not care: not in the project of the client that came first.
pub(crate) fn neutral_directory(home: Option<PathBuf>) -> PathBuf {
    home.filter(|home| home.is_absolute() && home.is_dir()).unwrap_or_else(|| PathBuf::from("/"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use trunkline_catalog::config::{self, ConfigSource, Rules};

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        stdio: Stdio,
    }

    fn flags(line: &str) -> Stdio {
        Line::parse_from(format!("trunkline {line}").split_whitespace()).stdio
    }

    fn id(
        line: &str,
        directory: Option<&str>,
        used: &[(&str, &str)],
        inherited: &[(&str, &str)],
    ) -> String {
        let used = used.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
        RuntimeIdentity {
            config: Path::new("/c.json"),
            flags: &flags(line),
            directory: directory.map(Path::new),
            used: &used.collect(),
            inherited: &inherited
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect::<Vec<_>>(),
            own: &[],
        }
        .id(&[7; 32])
    }

    #[test]
    fn clients_share_what_would_be_the_same_runtime() {
        let plain = id("", None, &[("T", "a")], &[("PATH", "/a:/b")]);
        for (line, used, inherited) in [
            ("--for cursor", [("T", "a")], vec![("PATH", "/a:/b")]),
            ("--linger 5s --config x.json", [("T", "a")], vec![("PATH", "/a:/b:/a")]),
            ("", [("T", "a")], vec![("TERM", "xterm"), ("PATH", "/a:/b")]),
        ] {
            assert_eq!(id(line, None, &used, &inherited), plain, "{line} {inherited:?}");
        }
        for other in [
            id("", None, &[("T", "b")], &[("PATH", "/a:/b")]),
            id("", None, &[], &[("PATH", "/a:/b")]),
            id("", None, &[("T", "a")], &[("PATH", "/b:/a")]),
            id("", None, &[("T", "a")], &[("PATH", "/a:/b"), ("HTTPS_PROXY", "http://p")]),
            id("", None, &[("T", "a")], &[("PATH", "/a:/b"), ("DISPLAY", ":0")]),
            id("", Some("/w"), &[("T", "a")], &[("PATH", "/a:/b")]),
            id("--separator /", None, &[("T", "a")], &[("PATH", "/a:/b")]),
            id("--pass-env TERM", None, &[("T", "a")], &[("PATH", "/a:/b"), ("TERM", "xterm")]),
        ] {
            assert_ne!(other, plain);
        }
        assert!(plain.len() == 16 && !plain.contains("/c.json"));
    }

    #[test]
    fn a_config_that_names_something_relative_belongs_to_a_directory() {
        let depends = |entry: &str| {
            let text = format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#);
            let source = ConfigSource { name: "mcp.json", text: text.as_bytes() };
            depends_on_directory(&config::load(&source, Rules::Full, &|_| None).unwrap().servers)
        };
        for entry in [
            r#"{"command": "./server"}"#,
            r#"{"command": "bin/server"}"#,
            r#"{"command": "npx", "args": ["-y", "fs", "."]}"#,
            r#"{"command": "npx", "args": ["../notes"]}"#,
            r#"{"command": "npx", "cwd": "."}"#,
        ] {
            assert!(depends(entry), "{entry}");
        }
        for entry in [
            r#"{"command": "npx", "args": ["-y", "@scope/server", "/data"]}"#,
            r#"{"command": "/bin/server"}"#,
            r#"{"command": "npx", "args": ["./x"], "cwd": "/w"}"#,
            r#"{"command": "./server", "disabled": true}"#,
            r#"{"url": "http://127.0.0.1:1/mcp"}"#,
        ] {
            assert!(!depends(entry), "{entry}");
        }
    }
}
