//! `trunkline sandbox learn`: runs a server watched, and prints the smallest walls it works in.

use std::fs::{self, File};
use std::io::{self, BufRead as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use trunkline_catalog::config::{Config, SandboxProfile, ServerSpec, Transport};
use trunkline_catalog::name::DEFAULT_SEPARATOR;
use trunkline_gateway::{Gateway, Inherited, LocalClient, State};
use trunkline_keeper::support;
use trunkline_wire::{encode_into, is_json};

use crate::cli::{LearnSandbox, Servers};
use crate::client::did_you_mean;
use crate::commands::runtime::{block_on, refuse, start_logging};
use crate::commands::starting::{UNREMARKED, settled};
use crate::environment::Environment;
use crate::learned::{Base, Learned};
use crate::settings::{self, SettingsError, StartOptions};
use crate::terminal::StatusLine;
use crate::{FAILED, OK, console, walls};

/// As for `check`.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run(learn: &LearnSandbox, environment: &Environment) -> u8 {
    if let Err(code) = start_logging(&learn.log, environment) {
        return code;
    }
    match watched(learn, environment) {
        Ok(Ok(learned)) => {
            let mut words =
                learned.notes.iter().map(|it| format!("note: {it}\n")).collect::<String>();
            words.push_str(
                "note: which variables it reads cannot be seen; under `strict` it gets PATH, HOME, LANG and its own: \
                 name others in \"env\"\n",
            );
            console::problem(&words, OK);
            console::out(&format!("{:#}\n", learned.json()))
        }
        Ok(Err(what)) => console::problem(&format!("error: {what}\n"), FAILED),
        Err(error) => refuse(&error, environment),
    }
}

fn watched(
    learn: &LearnSandbox,
    environment: &Environment,
) -> Result<Result<Learned, String>, SettingsError> {
    if !support().notices {
        return Ok(Err("this kernel does not let a server be watched (Linux 5.5 does)".to_owned()));
    }
    let servers =
        Servers { config: learn.config.clone(), log: learn.log.clone(), ..Servers::default() };
    let wanted = StartOptions { patience: Some(PATIENCE), ..StartOptions::once(&servers) };
    let path = settings::config_path(learn.config.as_deref(), environment)?;
    let mut config = settings::load(&path, &wanted, environment)?;
    let server = match chosen(&mut config, &learn.server) {
        Ok(server) => server,
        Err(what) => return Ok(Err(what)),
    };
    let calls = match WatchedCalls::read(&learn.calls) {
        Ok(calls) => calls,
        Err(what) => return Ok(Err(what)),
    };
    let record = match WatchRecord::create() {
        Ok(record) => record,
        Err(error) => return Ok(Err(format!("the record cannot be written: {error}"))),
    };
    let mut options = settings::options(&wanted, &path, config, environment)?;
    options.inherited.sandbox.watch = Some(record.0.clone());
    let mut inherited = options.inherited.clone();
    let watching = Watching { key: &server.key, calls: &calls, time: learn.time };
    let used = block_on(async {
        let gateway = Gateway::start(options).map_err(|error| error.to_string())?;
        let used = watching.use_it(&gateway).await;
        gateway.stop().await;
        used
    });
    if let Err(what) = used.unwrap_or_else(|error| Err(error.to_string())) {
        return Ok(Err(what));
    }
    let text = fs::read(&record.0).unwrap_or_default();
    inherited.sandbox = walls::policy(fs::canonicalize(&path).ok().as_deref(), environment);
    Ok(learned(&String::from_utf8_lossy(&text), &server, &inherited, environment))
}

/// Leaves only this server in the config.
fn chosen(config: &mut Config, key: &str) -> Result<ServerSpec, String> {
    let Some(server) = config.servers.iter().find(|server| server.key == key).cloned() else {
        let near = did_you_mean(key, config.servers.iter().map(|it| it.key.as_str()));
        return Err(format!("the config has no server `{key}`{near}"));
    };
    let is_contained = server.sandbox.as_ref().is_some_and(|it| it.container.is_some());
    match server.transport {
        Transport::Remote { .. } => return Err(format!("`{key}` is no command")),
        Transport::Stdio { .. } if is_contained => {
            return Err(format!(
                "`{key}` runs in a container: its walls are those of the container"
            ));
        }
        Transport::Stdio { .. } if server.disabled => return Err(format!("`{key}` is disabled")),
        Transport::Stdio { .. } => {}
    }
    config.servers.retain(|it| it.key == key);
    config.custom.clear();
    Ok(server)
}

fn learned(
    record: &str,
    server: &ServerSpec,
    inherited: &Inherited,
    environment: &Environment,
) -> Result<Learned, String> {
    let under = |profile: SandboxProfile| {
        let spec = ServerSpec { sandbox: Some(profile.rules()), ..server.clone() };
        inherited.sandbox_of(&spec).ok_or_else(|| "it is no command".to_owned())
    };
    let (strict, standard) = (under(SandboxProfile::Strict)?, under(SandboxProfile::Standard)?);
    let home = environment.path("HOME");
    Ok(Learned::of(
        record,
        &Base { word: SandboxProfile::Strict.word(), sandbox: &strict.sandbox },
        &Base { word: SandboxProfile::Standard.word(), sandbox: &standard.sandbox },
        home.as_deref(),
    ))
}

/// What is asked of a server while it is watched.
struct Watching<'w> {
    key: &'w str,
    calls: &'w WatchedCalls,
    time: Option<Duration>,
}

impl Watching<'_> {
    async fn use_it(&self, gateway: &Gateway) -> Result<(), String> {
        let status = StatusLine::new();
        let client = gateway.local(b"{}");
        settled(gateway, &status, UNREMARKED).await;
        status.clear();
        if let Some((_, found)) = gateway.statuses().first()
            && let State::Failed(failure) = &found.state
        {
            return Err(format!("`{}` {failure}", self.key));
        }
        client.request("tools/list", b"{}").await.map_err(|error| error.message)?;
        for (tool, arguments) in &self.calls.0 {
            self.call(&client, tool, arguments).await;
        }
        if let Some(time) = self.time {
            self.until(&client, Instant::now() + time).await;
        }
        Ok(())
    }

    /// Makes the calls that somebody writes, a line each, until the time is up or the input ends.
    async fn until(&self, client: &LocalClient, end: Instant) {
        console::problem(
            "watching; write TOOL {ARGUMENTS} to call a tool, end the input to stop\n",
            OK,
        );
        let (sender, mut lines) = mpsc::channel(16);
        // Reading a terminal blocks: its thread ends with its input or with the program.
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        while let Ok(Some(line)) = timeout_at(end, lines.recv()).await {
            let words: Vec<String> = match line.trim().split_once(' ') {
                Some((tool, arguments)) => vec![tool.to_owned(), arguments.trim().to_owned()],
                None if line.trim().is_empty() => continue,
                None => vec![line.trim().to_owned()],
            };
            match WatchedCalls::read(&words) {
                Ok(calls) => {
                    for (tool, arguments) in &calls.0 {
                        self.call(client, tool, arguments).await;
                    }
                }
                Err(what) => drop(console::problem(&format!("error: {what}\n"), FAILED)),
            }
        }
    }

    /// A call that fails has used what it used: it is told, and the next one is made.
    async fn call(&self, client: &LocalClient, tool: &str, arguments: &str) {
        let mut params = b"{\"name\":".to_vec();
        encode_into(&format!("{}{DEFAULT_SEPARATOR}{tool}", self.key), &mut params);
        params.extend_from_slice(format!(",\"arguments\":{arguments}}}").as_bytes());
        if let Err(error) = client.request("tools/call", &params).await {
            console::problem(&format!("note: `{tool}` failed: {}\n", error.message), OK);
        }
    }
}

/// Tools, each with its arguments.
#[derive(Debug, PartialEq, Eq)]
struct WatchedCalls(Vec<(String, String)>);

impl WatchedCalls {
    /// A word is a tool; one that begins with `{` is the arguments of the tool before it.
    fn read(words: &[String]) -> Result<WatchedCalls, String> {
        let mut calls: Vec<(String, String)> = Vec::new();
        for word in words {
            match calls.last_mut() {
                _ if !word.starts_with('{') => calls.push((word.clone(), "{}".to_owned())),
                Some((_, arguments)) if is_json(word.as_bytes()) => arguments.clone_from(word),
                Some((tool, _)) => {
                    return Err(format!("the arguments of `{tool}` are no JSON object"));
                }
                None => return Err("the first word after `--` must be a tool".to_owned()),
            }
        }
        Ok(WatchedCalls(calls))
    }
}

/// A file that is removed with this.
struct WatchRecord(PathBuf);

impl WatchRecord {
    fn create() -> io::Result<WatchRecord> {
        let path = std::env::temp_dir().join(format!("tl-learn-{}", std::process::id()));
        // Fails where somebody has made it before: what is in it would not be ours.
        File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(WatchRecord(path))
    }
}

impl Drop for WatchRecord {
    fn drop(&mut self) {
        // It is of no use to anybody.
        let _ = fs::remove_file(Path::new(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read() {
        let read = |words: &[&str]| {
            WatchedCalls::read(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
                .map(|it| it.0)
        };
        let call = |tool: &str, arguments: &str| (tool.to_owned(), arguments.to_owned());
        assert_eq!(read(&[]), Ok(vec![]));
        let two = vec![call("a", "{\"x\":1}"), call("b", "{}")];
        assert_eq!(read(&["a", "{\"x\":1}", "b"]), Ok(two));
        assert!(read(&["{}"]).is_err() && read(&["a", "{x"]).is_err());
    }
}
