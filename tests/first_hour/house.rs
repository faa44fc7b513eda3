//! `House`: a home folder, and the programs that are run in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use kit::bin;
use serde_json::{Map, Value, json};

use crate::servers::SERVERS;

/// Where `xtask` has installed the clients and what starts servers.
const CLIENTS: &str = "TRUNKLINE_FIRST_HOUR_CLIENTS";

/// Dropping it ends what runs in it and removes it.
pub(crate) struct House {
    pub(crate) home: PathBuf,
    path: OsString,
    keep: bool,
}

impl House {
    pub(crate) fn build(keep: bool) -> Result<Self, String> {
        let clients = std::env::var_os(CLIENTS).map(PathBuf::from);
        let clients = clients.ok_or("run it with `cargo xtask first-hour`")?;
        let home =
            std::env::temp_dir().join(format!("trunkline-first-hour-{}", std::process::id()));
        for folder in ["notes", "run", "tmp", "work", ".config/uv"] {
            make(&home.join(folder))?;
        }
        // Where registries are is the user's own business, and holds here, too.
        let own = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        for file in [".npmrc", ".config/uv/uv.toml"] {
            drop(std::fs::copy(own.join(file), home.join(file)));
        }
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let program = bin::trunkline();
        let program = program.parent().unwrap_or(Path::new("/")).to_owned();
        let first = [program, clients.join("node_modules/.bin"), clients.join("venv/bin")];
        let path = first.into_iter().chain(std::env::split_paths(&usual));
        let path = std::env::join_paths(path).map_err(|error| error.to_string())?;
        Ok(Self { home, path, keep })
    }

    /// Downloads the ten servers, as clients that have used them before have done.
    pub(crate) fn fetch_servers(&self) -> Result<(), String> {
        println!(
            "=== before the clock starts: each of the ten servers is fetched and started once"
        );
        self.write("fetch.json", &self.config())?;
        let mut check = self.trunkline(&["check", "--config", "fetch.json"]);
        check.args(["--start-timeout", "300"]).env("TRUNKLINE_CACHE", "off");
        println!("{}", text(&said(&mut check)?.stdout));
        Ok(())
    }

    /// A config with all ten servers.
    pub(crate) fn config(&self) -> String {
        let servers: Map<String, Value> =
            SERVERS.iter().map(|it| (it.name.to_owned(), it.entry(&self.home))).collect();
        format!("{:#}\n", json!({ "mcpServers": servers }))
    }

    /// A program of this house, in its work folder.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("env");
        command.arg("-C").arg(self.home.join("work")).arg(program);
        // A client's settings may come from the variables of whoever runs this.
        let foreign = ["XDG_", "TRUNKLINE_", "CLAUDE", "ANTHROPIC_", "CODEX_", "OPENAI_", "CARGO"];
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if foreign.iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        command.env("HOME", &self.home).env("PATH", &self.path);
        // A home below the folder for temporary files is none for Codex: it would leave its helpers out.
        command.env("TMPDIR", self.home.join("tmp"));
        command.env("XDG_RUNTIME_DIR", self.home.join("run")).stdin(Stdio::null());
        command
    }

    /// `trunkline` with these arguments; files are named from the home.
    pub(crate) fn trunkline(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("trunkline");
        let is_file = |word: &str| word.ends_with(".json");
        for word in arguments {
            match is_file(word) {
                true => command.arg(self.home.join(word)),
                false => command.arg(word),
            };
        }
        command
    }

    pub(crate) fn read(&self, file: &str) -> Result<String, String> {
        std::fs::read_to_string(self.home.join(file)).map_err(|error| format!("{file}: {error}"))
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.home.join(file);
        make(path.parent().unwrap_or(Path::new("/")))?;
        std::fs::write(&path, text).map_err(|error| format!("{file}: {error}"))
    }
}

impl Drop for House {
    fn drop(&mut self) {
        drop(self.trunkline(&["stop", "--all"]).output());
        match self.keep {
            true => println!("left: {}", self.home.display()),
            false => drop(std::fs::remove_dir_all(&self.home)),
        }
    }
}

/// The output of a command that has to succeed.
pub(crate) fn said(command: &mut Command) -> Result<Output, String> {
    let shown = shown(command);
    let output = command.output().map_err(|error| format!("cannot run `{shown}`: {error}"))?;
    match output.status.success() {
        true => Ok(output),
        false => {
            Err(format!("`{shown}` failed:\n{}{}", text(&output.stdout), text(&output.stderr)))
        }
    }
}

/// The command as a person types it.
pub(crate) fn shown(command: &Command) -> String {
    let words = command.get_args().skip(2).map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn make(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}
