//! Asks running runtimes something, for commands: `ps`, `stop`, `restart`, `logs`.

use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

use super::directory::RuntimeDirectory;
use super::front::{check_peer, greeted};
use super::hello::{Ask, RuntimeHello, refused};
use crate::environment::Environment;

/// A runtime that answers.
#[derive(Debug)]
pub(crate) struct RunningRuntime {
    pub(crate) id: String,
    /// What it says about itself.
    pub(crate) status: Value,
}

/// The runtimes of this user, by config.
#[derive(Debug)]
pub(crate) struct Runtimes {
    directory: Option<RuntimeDirectory>,
    pub(crate) running: Vec<RunningRuntime>,
    /// Why some that have a socket could not be asked.
    pub(crate) silent: Vec<String>,
}

impl Runtimes {
    /// All of them, or those of one config.
    pub(crate) fn find(config: Option<&Path>, environment: &Environment) -> Result<Self, String> {
        let config = match config {
            Some(path) => Some(
                std::fs::canonicalize(path)
                    .map_err(|error| format!("{}: {error}", path.display()))?,
            ),
            None => None,
        };
        let directory = RuntimeDirectory::existing(environment)?;
        let mut found = Self { directory, running: Vec::new(), silent: Vec::new() };
        let ids = found.directory.as_ref().map(RuntimeDirectory::ids).unwrap_or_default();
        for id in ids {
            match found.ask(&id, Ask::Status) {
                Ok(Some(status)) => found.running.push(RunningRuntime { id, status }),
                Ok(None) => {}
                Err(why) => found.silent.push(why),
            }
        }
        if let Some(config) = config {
            let is_of = |runtime: &RunningRuntime| {
                let of = runtime.status.get("config").and_then(Value::as_str).unwrap_or_default();
                std::fs::canonicalize(of).is_ok_and(|of| of == config)
            };
            found.running.retain(is_of);
        }
        found.running.sort_by_key(|runtime| runtime.text("config").to_owned());
        Ok(found)
    }

    /// `None`: no runtime listens there any more.
    pub(crate) fn ask(&self, id: &str, ask: Ask) -> Result<Option<Value>, String> {
        let Some(directory) = &self.directory else { return Ok(None) };
        let Ok(stream) = UnixStream::connect(directory.socket(id)) else { return Ok(None) };
        check_peer(&stream)?;
        let silent = |error| {
            let path = directory.file(id, "sock");
            format!("the runtime at {} does not answer: {error}", path.display())
        };
        let (_, line, _) = greeted(stream, &RuntimeHello::Ask(ask)).map_err(silent)?;
        if let Some(why) = refused(&line) {
            return Err(why);
        }
        serde_json::from_slice(&line).map(Some).map_err(|error| silent(error.into()))
    }
}

impl RunningRuntime {
    pub(crate) fn text(&self, key: &str) -> &str {
        self.status.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn list(&self, key: &str) -> &[Value] {
        self.status.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn has_server(&self, name: &str) -> bool {
        let named = |server: &Value| server.get("name").and_then(Value::as_str) == Some(name);
        self.list("servers").iter().any(named)
    }
}
