//! Asks running runtimes something and ends them, for commands: `ps`, `stop`, `restart`, `logs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use trunkline_gateway::{GREETING, RUNTIME_END, RUNTIME_SIGNALLED};

use super::directory::{RuntimeDirectory, draining_id, is_draining_id, own_id};
use super::front::{greeted, is_silence};
use super::hello::{Ask, RuntimeHello, refused};
use super::identity::differences;
use super::process::{RuntimeProcess, config_of, is_absence, is_pid, is_runtime, no_runtime, peer};
use crate::environment::Environment;

/// A runtime that is there.
#[derive(Debug)]
pub(crate) struct RunningRuntime {
    pub(crate) id: String,
    /// What it says about itself, or what can be seen of one that hangs.
    pub(crate) status: Value,
}

/// The runtimes of this user, by config.
#[derive(Debug)]
pub(crate) struct Runtimes {
    directory: Option<RuntimeDirectory>,
    pub(crate) running: Vec<RunningRuntime>,
    /// Why some that have a socket could not be asked.
    pub(crate) silent: Vec<String>,
    /// One was lost, and a client of it starts the next one.
    is_one_awaited: bool,
}

/// Within so long after a runtime has ended or was started, a client connects to the next one or is seen to start it.
const SUCCESSION: Duration = Duration::from_secs(2);
/// A client that starts the next runtime has done so after so long, also on a busy machine.
const LATEST_SUCCESSOR: Duration = Duration::from_secs(30);
/// Between two looks for a runtime that is being started.
const PAUSE: Duration = Duration::from_millis(20);

/// What a runtime said to a command.
enum RuntimeAnswer {
    Said(Value),
    /// No runtime listens there any more.
    Nothing,
    /// This process has said nothing for long.
    Hangs(rustix::process::Pid),
}

/// How a runtime is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndMode {
    /// Open calls may end.
    Orderly,
    /// Open calls are cut off.
    Now,
}

/// How it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    ByItself,
    Killed,
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
        let mut found =
            Self { directory, running: Vec::new(), silent: Vec::new(), is_one_awaited: false };
        // One that is told to end while it is looked for has another name then.
        let asked = found.ask_all(&[]);
        found.ask_all(&asked);
        let is_there = |id: &str| found.running.iter().any(|it| own_id(&it.id) == id);
        found.is_one_awaited = found.directory.as_ref().is_some_and(|it| it.is_awaited(is_there));
        found.running.retain(|it| config.is_none() || it.config() == config);
        let place = |it: &RunningRuntime| {
            (it.text("config").to_owned(), it.number("started"), it.number("pid"))
        };
        found.running.sort_by_key(place);
        found.compare();
        Ok(found)
    }

    /// Like [`Runtimes::find`]; between two runtimes, the next one is waited for as long as there is reason to expect
    /// it. `is_meant`: is this one that the command can be about?
    pub(crate) fn find_next(
        config: Option<&Path>,
        environment: &Environment,
        is_meant: impl Fn(&RunningRuntime) -> bool,
    ) -> Result<Self, String> {
        let begun = Instant::now();
        let late = begun + RUNTIME_END + SUCCESSION;
        let mut expected_until = None;
        loop {
            let found = Self::find(config, environment)?;
            let is_starting = found.directory.as_ref().is_some_and(RuntimeDirectory::is_starting);
            let now = Instant::now();
            if is_starting || !found.running.is_empty() {
                expected_until = Some(late.min(now + SUCCESSION));
            }
            let is_coming = is_starting || found.is_one_awaited;
            let is_expected = expected_until.is_some_and(|until| now < until)
                || (is_coming && now < begun + LATEST_SUCCESSOR);
            if found.running.iter().any(&is_meant) || !is_expected {
                return Ok(found);
            }
            std::thread::park_timeout(PAUSE);
        }
    }

    /// Asks each runtime but those of these names. Returns the names that there are.
    fn ask_all(&mut self, before: &[String]) -> Vec<String> {
        let ids = self.directory.as_ref().map(RuntimeDirectory::ids).unwrap_or_default();
        for id in ids.iter().filter(|id| !before.contains(id)) {
            let status = match self.tell(id, None, Ask::Status) {
                Ok(RuntimeAnswer::Said(status)) => status,
                Ok(RuntimeAnswer::Hangs(pid)) => {
                    let why = format!("it has not answered for {} s", GREETING.as_secs());
                    json!({ "pid": pid.as_raw_nonzero().get(), "state": "hung", "why": why,
                        "config": config_of(pid) })
                }
                Ok(RuntimeAnswer::Nothing) => continue,
                Err(why) => {
                    self.silent.push(why);
                    continue;
                }
            };
            let runtime = RunningRuntime { id: id.clone(), status };
            self.running.retain(|it| it.number("pid") != runtime.number("pid"));
            self.running.push(runtime);
        }
        ids
    }

    /// Says of each but the first of a config in what it differs from the first.
    fn compare(&mut self) {
        let mut first: BTreeMap<Option<PathBuf>, (u64, BTreeMap<String, String>)> = BTreeMap::new();
        for runtime in &mut self.running {
            let (config, pid) = (runtime.config(), runtime.number("pid"));
            let inputs = runtime.status.as_object_mut().and_then(|it| it.remove("inputs"));
            let Some(inputs) = inputs.and_then(|it| serde_json::from_value(it).ok()) else {
                continue;
            };
            let Some((other, theirs)) = first.get(&config) else {
                first.insert(config, (pid, inputs));
                continue;
            };
            if let Some(status) = runtime.status.as_object_mut() {
                status.insert("differs_from".to_owned(), (*other).into());
                status.insert("differs_in".to_owned(), differences(theirs, &inputs).into());
            }
        }
    }

    /// Those with this pid, or whose id begins so; a runtime and what still ends of its predecessor are one.
    pub(crate) fn choose(&self, which: &str) -> Result<Vec<&RunningRuntime>, String> {
        let has_pid = |it: &&RunningRuntime| it.number("pid").to_string() == which;
        let mut chosen: Vec<&RunningRuntime> = self.running.iter().filter(has_pid).collect();
        if chosen.is_empty() && !which.is_empty() {
            chosen = self.running.iter().filter(|it| it.id.starts_with(which)).collect();
        }
        let what = crate::client::line(which);
        match distinct(&chosen) {
            0 => Err(format!("no shared runtime has the pid or id `{what}`: {}", self.names())),
            1 => Ok(chosen),
            _ => Err(format!("`{what}` begins several ids: {}", self.names())),
        }
    }

    /// Which there are, in one line.
    pub(crate) fn names(&self) -> String {
        let name = |it: &RunningRuntime| {
            format!("pid {} (id {}, {})", it.number("pid"), it.short_id(), it.text("config"))
        };
        match self.running.is_empty() {
            true => "none is running".to_owned(),
            false => {
                format!(
                    "there are {}",
                    self.running.iter().map(name).collect::<Vec<_>>().join(", ")
                )
            }
        }
    }

    /// Asks whichever runtime has this id now. `None`: there is none any more.
    pub(crate) fn ask(&self, id: &str, ask: Ask) -> Result<Option<Value>, String> {
        self.answered(id, None, ask)
    }

    /// Asks this process and no successor. `None`: it has gone.
    pub(crate) fn ask_only(&self, it: &RunningRuntime, ask: Ask) -> Result<Option<Value>, String> {
        self.answered(&it.id, Some(it.number("pid")), ask)
    }

    fn answered(&self, id: &str, only: Option<u64>, ask: Ask) -> Result<Option<Value>, String> {
        match self.tell(id, only, ask)? {
            RuntimeAnswer::Said(answer) => Ok(Some(answer)),
            RuntimeAnswer::Nothing => Ok(None),
            RuntimeAnswer::Hangs(pid) => {
                Err(format!("the runtime hangs (pid {pid}); `trunkline stop {pid}` ends it"))
            }
        }
    }

    fn tell(&self, id: &str, only: Option<u64>, ask: Ask) -> Result<RuntimeAnswer, String> {
        let Some(directory) = &self.directory else { return Ok(RuntimeAnswer::Nothing) };
        let stream = match directory.connect(id) {
            Ok(stream) => stream,
            Err(error) => {
                if is_absence(&error) {
                    directory.forget_draining(id);
                }
                return Ok(RuntimeAnswer::Nothing);
            }
        };
        let path = directory.file(id, "sock");
        let told = |why: &str| format!("{}: {why}", path.display());
        let pid = peer(&stream).map_err(|why| told(&why))?;
        if only.is_some_and(|only| !is_pid(pid, only)) {
            return Ok(RuntimeAnswer::Nothing);
        }
        let line = match greeted(stream, pid, &RuntimeHello::Ask(ask)) {
            Ok((_, line, _)) => line,
            Err(error) if is_silence(&error) => {
                return match is_runtime(pid, id) {
                    true => Ok(RuntimeAnswer::Hangs(pid)),
                    false => Err(told(&no_runtime(pid))),
                };
            }
            // It went while we spoke.
            Err(_) => return Ok(RuntimeAnswer::Nothing),
        };
        match refused(&line) {
            Some(why) => Err(why),
            None => match serde_json::from_slice::<Value>(&line) {
                Ok(answer) if answer.get("trunkline").is_some() => Ok(RuntimeAnswer::Said(answer)),
                _ => Err(told(&no_runtime(pid))),
            },
        }
    }

    /// Ends a runtime and waits until it has: it is asked first, and killed if nothing else helps. Its keeper
    /// ends its servers in any case.
    pub(crate) fn end(&self, runtime: &RunningRuntime, mode: EndMode) -> Result<Ended, String> {
        let Some(directory) = &self.directory else { return Ok(Ended::ByItself) };
        let Some(process) = self.process_of(directory, runtime)? else {
            return Ok(Ended::ByItself);
        };
        let is_asked = mode == EndMode::Orderly
            && !runtime.is_hung()
            // One that was told to end is told once more: it may only have lost its place to another.
            && (matches!(self.ask_only(runtime, Ask::Stop), Ok(Some(_))) || runtime.is_ending());
        if is_asked && process.ends_within(RUNTIME_END) {
            return Ok(Ended::ByItself);
        }
        process.signal(Signal::TERM)?;
        if process.ends_within(RUNTIME_SIGNALLED) {
            return Ok(Ended::ByItself);
        }
        process.signal(Signal::KILL)?;
        match process.ends_within(RUNTIME_SIGNALLED) {
            true => Ok(Ended::Killed),
            false => {
                Err(format!("process {} was killed and is still there", runtime.number("pid")))
            }
        }
    }

    /// It may have given its socket up since it was looked at.
    fn process_of(
        &self,
        directory: &RuntimeDirectory,
        runtime: &RunningRuntime,
    ) -> Result<Option<RuntimeProcess>, String> {
        let pid = runtime.number("pid");
        let draining = u32::try_from(pid).map(|pid| draining_id(own_id(&runtime.id), pid));
        for id in [Some(runtime.id.clone()), draining.ok()].into_iter().flatten() {
            let process = RuntimeProcess::of(directory, &id)?;
            if let Some(process) = process.filter(|it| is_pid(it.pid, pid)) {
                return Ok(Some(process));
            }
        }
        Ok(None)
    }
}

/// How many runtimes these are, each with what still ends of its predecessors.
pub(crate) fn distinct(runtimes: &[&RunningRuntime]) -> usize {
    let mut ids: Vec<&str> = runtimes.iter().map(|it| own_id(&it.id)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.len()
}

impl RunningRuntime {
    pub(crate) fn text(&self, key: &str) -> &str {
        self.status.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn number(&self, key: &str) -> u64 {
        self.status.get(key).and_then(Value::as_u64).unwrap_or_default()
    }

    pub(crate) fn list(&self, key: &str) -> &[Value] {
        self.status.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn has_server(&self, name: &str) -> bool {
        self.server_names().any(|server| server == name)
    }

    pub(crate) fn server_names(&self) -> impl Iterator<Item = &str> {
        self.list("servers").iter().filter_map(|server| server.get("name")?.as_str())
    }

    /// The beginning of its id: enough to choose it by.
    pub(crate) fn short_id(&self) -> &str {
        self.id.get(..SHORT_ID).unwrap_or(&self.id)
    }

    pub(crate) fn is_hung(&self) -> bool {
        self.text("state") == "hung"
    }

    /// It was told to end, and does.
    pub(crate) fn is_ending(&self) -> bool {
        is_draining_id(&self.id)
    }

    fn config(&self) -> Option<PathBuf> {
        std::fs::canonicalize(self.text("config")).ok()
    }
}

/// Two runtimes of one user hardly ever have the same first digits.
const SHORT_ID: usize = 6;
