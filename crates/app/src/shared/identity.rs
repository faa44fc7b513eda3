//! `RuntimeIdentity`: which clients share a runtime: those for which it would be the same one.
//!
//! Same user (the directory), same program, same config file, same flags but `--for`, same values of the
//! variables that the config uses and of those that servers inherit. Only a keyed hash of it is kept.

use std::collections::{BTreeMap, BTreeSet};
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

/// Is this a directory that a client or an editor has put before `PATH` for itself: for its helpers (Codex has another
/// one at each start), or for those of its terminal (VS Code)? No server is meant by it. If these counted, no two
/// starts of Codex would share anything.
fn is_of_a_client(directory: &[u8]) -> bool {
    let names: Vec<&[u8]> =
        directory.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
    match names.as_slice() {
        [.., last] if last.starts_with(b"codex-arg0") => true,
        [.., b"codex-path" | b"remote-cli"] => true,
        // Older packages of Codex: `…/@openai/codex-linux-x64/vendor/TRIPLE/path`.
        [.., b"vendor", _, b"path"] => names.contains(&&b"@openai"[..]),
        // What extensions of VS Code bring along: `…/User/globalStorage/EXTENSION/…`.
        names => names.contains(&&b"globalStorage"[..]),
    }
}

/// Does this variable tell no clients apart?
pub(crate) fn is_of_the_seat(name: &str) -> bool {
    OF_THE_SEAT.contains(&name)
}

/// Variables of Trunkline itself that a runtime takes from the client that starts it.
const OWN: [&str; 8] = [
    "TRUNKLINE_CACHE",
    "TRUNKLINE_PINS",
    "TRUNKLINE_LOG",
    "MCP_PROXY_LOG_DIRECTORY_PATH",
    "MCP_PROXY_LOG_LEVEL",
    "TRUNKLINE_TEST_WAIT_DIVISOR",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
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
    /// Where the variables of Trunkline itself are.
    pub(crate) environment: &'i Environment,
}

impl RuntimeIdentity<'_> {
    /// A name for it that tells nobody what it is made of. 64 bits: a user has a handful.
    pub(crate) fn id(&self, key: &[u8]) -> String {
        let inputs = self.inputs(key);
        let parts = inputs.iter().flat_map(|(name, hash)| [name.as_bytes(), hash.as_bytes()]);
        keyed(key, parts)
    }

    /// A short keyed hash of each thing that tells runtimes apart, by what it is: `program`, `config`, `flags`,
    /// `cwd`, or a variable behind what it is used for. People are told names; the values stay here.
    pub(crate) fn inputs(&self, key: &[u8]) -> BTreeMap<String, String> {
        let mut inputs = BTreeMap::new();
        let mut add = |name: String, value: &[u8]| {
            let hash = keyed(key, [name.as_bytes(), value]);
            inputs.insert(name, hash);
        };
        add("program".to_owned(), program().as_bytes());
        add("config".to_owned(), self.config.as_os_str().as_bytes());
        add("flags".to_owned(), format!("{:?}", shared_flags(self.flags)).as_bytes());
        if let Some(directory) = self.directory {
            add("cwd".to_owned(), directory.as_os_str().as_bytes());
        }
        for (name, value) in self.used {
            match value {
                Some(value) => add(format!("used {name}"), value.as_bytes()),
                None => add(format!("unset {name}"), b""),
            }
        }
        for name in OWN {
            let value = self.environment.get(name).unwrap_or_default();
            add(format!("own {name}"), value.as_bytes());
        }
        for (name, value) in self.inherited {
            // Named in `--pass-env`, it was meant.
            let is_meant =
                self.flags.servers.pass_env.iter().any(|passed| name == OsStr::new(passed));
            if is_meant || !name.to_str().is_some_and(is_of_the_seat) {
                let value = what_counts(name, value);
                add(format!("inherited {}", name.to_string_lossy()), &value);
            }
        }
        inputs
    }
}

/// What tells two runtimes apart, by their inputs: in words for people, each once.
pub(crate) fn differences(
    one: &BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
) -> Vec<String> {
    let all: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differing = all.into_iter().filter(|name| one.get(*name) != other.get(*name));
    // The variable itself, whatever it is used for.
    let words = differing.map(|name| name.split_once(' ').map_or(name.as_str(), |(_, name)| name));
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    words.sort();
    words.dedup();
    words
}

/// 64 bits of a keyed hash of these parts.
fn keyed<'p>(key: &[u8], parts: impl IntoIterator<Item = &'p [u8]>) -> String {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    for part in parts {
        // With its length before it, so that no two lists of parts read alike.
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    context.sign().as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A short keyed hash of each variable, by name. A runtime compares those that an edited config uses with its
/// own; the values stay here.
pub(crate) fn digests(environment: &Environment, key: &[u8]) -> BTreeMap<String, String> {
    let all = environment.all();
    let named = all.iter().filter_map(|(name, value)| Some((name.to_str()?, value.as_bytes())));
    named.map(|(name, value)| (name.to_owned(), keyed(key, [name.as_bytes(), value]))).collect()
}

/// Of `PATH`, the directories that can make a difference: one that is named twice is found at its first place.
fn what_counts(name: &OsStr, value: &OsStr) -> Vec<u8> {
    if name != "PATH" {
        return value.as_bytes().to_vec();
    }
    let mut kept: Vec<&[u8]> = Vec::new();
    for directory in value.as_bytes().split(|byte| *byte == b':') {
        if !kept.contains(&directory) && !is_of_a_client(directory) {
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
                // `--root=./x` means what `--root ./x` means.
                let value = text.split_once('=').filter(|_| text.starts_with('-'));
                let text = value.map_or(text, |(_, value)| value);
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
            environment: &Environment::of(&[]),
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
            (
                "--for codex",
                [("T", "a")],
                vec![("PATH", "/h/.codex/tmp/arg0/codex-arg0Zx1/:/a:/b")],
            ),
            ("", [("T", "a")], vec![("PATH", "/p/codex-path:/a:/s/bin/remote-cli:/b")]),
            (
                "",
                [("T", "a")],
                vec![(
                    "PATH",
                    "/n/@openai/codex-linux-x64/vendor/x86/path:/a:/b:/c/globalStorage/x/y",
                )],
            ),
        ] {
            assert_eq!(id(line, None, &used, &inherited), plain, "{line} {inherited:?}");
        }
        for other in [
            id("", None, &[("T", "b")], &[("PATH", "/a:/b")]),
            id("", None, &[], &[("PATH", "/a:/b")]),
            id("", None, &[("T", "a")], &[("PATH", "/b:/a")]),
            id("", None, &[("T", "a")], &[("PATH", "/venv/bin:/a:/b")]),
            id("", None, &[("T", "a")], &[("PATH", "/x/vendor/y/path:/a:/b")]),
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
    fn what_tells_two_runtimes_apart_is_named_without_its_value() {
        let inputs = |line: &str, directory: Option<&str>, token: Option<&str>, path: &str| {
            RuntimeIdentity {
                config: Path::new("/c.json"),
                flags: &flags(line),
                directory: directory.map(Path::new),
                used: &BTreeMap::from([("TOKEN".to_owned(), token.map(str::to_owned))]),
                inherited: &[("PATH".into(), path.into())],
                environment: &Environment::of(&[]),
            }
            .inputs(&[7; 32])
        };
        let plain = inputs("", None, Some("hunter2"), "/a");
        for (other, expected) in [
            (inputs("--for cursor", None, Some("hunter2"), "/a:/a"), vec![]),
            (inputs("", None, None, "/a"), vec!["TOKEN"]),
            (inputs("", Some("/w"), Some("other"), "/b"), vec!["PATH", "TOKEN", "cwd"]),
            (inputs("--separator /", None, Some("hunter2"), "/a"), vec!["flags"]),
        ] {
            assert_eq!(differences(&plain, &other), expected);
        }
        assert!(!format!("{plain:?}").contains("hunter2"));
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
            r#"{"command": "npx", "args": ["--root", "./x"]}"#,
            r#"{"command": "npx", "args": ["--root=./x"]}"#,
            r#"{"command": "npx", "args": ["-r=."]}"#,
            r#"{"command": "npx", "cwd": "."}"#,
        ] {
            assert!(depends(entry), "{entry}");
        }
        for entry in [
            r#"{"command": "npx", "args": ["-y", "@scope/server", "/data"]}"#,
            r#"{"command": "/bin/server"}"#,
            r#"{"command": "npx", "args": ["--root=/data", "--glob=.x", "a=./x"]}"#,
            r#"{"command": "npx", "args": ["./x"], "cwd": "/w"}"#,
            r#"{"command": "./server", "disabled": true}"#,
            r#"{"url": "http://127.0.0.1:1/mcp"}"#,
        ] {
            assert!(!depends(entry), "{entry}");
        }
    }
}
