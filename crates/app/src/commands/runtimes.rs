//! `trunkline ps`, `stop` and `restart`: the shared runtimes of this user.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::cli::{Ps, RestartArgs, Stop};
use crate::client::{columns, did_you_mean, line};
use crate::environment::Environment;
use crate::shared::Ask;
use crate::shared::control::{EndMode, Ended, RunningRuntime, Runtimes, distinct};
use crate::{FAILED, OK, console};

pub(crate) fn ps(asked: &Ps, environment: &Environment) -> u8 {
    let found = match Runtimes::find(asked.at.config.as_deref(), environment) {
        Ok(found) => found,
        Err(why) => return console::problem(&format!("error: {why}\n"), FAILED),
    };
    let told = match asked.json {
        true => {
            let runtimes: Vec<Value> = found.running.iter().map(measured).collect();
            format!("{}\n", json!({ "runtimes": runtimes, "silent": found.silent }))
        }
        false if found.running.is_empty() && found.silent.is_empty() => {
            "no shared runtime is running; the next client that starts Trunkline starts one\n"
                .to_owned()
        }
        false => {
            let mut blocks: Vec<String> =
                found.running.iter().map(|runtime| block(&measured(runtime))).collect();
            blocks.extend(found.silent.iter().map(|why| format!("{why}\n")));
            blocks.join("\n")
        }
    };
    console::out(&told)
}

pub(crate) fn stop(asked: &Stop, environment: &Environment) -> u8 {
    let choice = RuntimeChoice {
        config: asked.at.config.as_deref(),
        runtime: asked.runtime.as_deref(),
        all: asked.all,
    };
    let mode = if asked.now { EndMode::Now } else { EndMode::Orderly };
    choice.found(
        environment,
        |_| true,
        |found| {
            let meant = choice.meant(found, ", or all of them with --all")?;
            end_all(found, &meant, mode, "stopped")
        },
    )
}

pub(crate) fn restart(asked: &RestartArgs, environment: &Environment) -> u8 {
    let choice = RuntimeChoice {
        config: asked.at.config.as_deref(),
        runtime: asked.runtime.as_deref(),
        all: false,
    };
    choice.found(
        environment,
        |it| !it.is_ending(),
        |found| {
            if let Some(which) = &asked.runtime {
                let pids: Vec<u64> =
                    found.choose(which)?.iter().map(|it| it.number("pid")).collect();
                found.running.retain(|it| pids.contains(&it.number("pid")));
            }
            found.running.retain(|it| !it.is_ending());
            if let Some(server) = &asked.server {
                let with_it = |it: &RunningRuntime| it.has_server(server);
                if !found.running.iter().any(with_it) {
                    return Err(no_server(server, found));
                }
                found.running.retain(with_it);
            }
            let meant = choice.meant(found, "")?;
            for runtime in meant {
                if runtime.is_hung() {
                    end_all(found, &[runtime], EndMode::Now, "restarted")?;
                    continue;
                }
                let answer = found.ask_only(runtime, Ask::Restart(asked.server.clone()))?;
                let (done, how) = restarted(asked.server.as_deref(), answer.as_ref());
                tell(done, runtime, &how)?;
            }
            Ok(())
        },
    )
}

/// What came of a restart, by the runtime's answer: what was done, and to what.
fn restarted(server: Option<&str>, answer: Option<&Value>) -> (&'static str, String) {
    let Some(server) = server.map(line) else { return ("restarted", String::new()) };
    let said = |key: &str| answer.and_then(|answer| answer.get(key));
    if said("asleep").is_some() {
        let how = format!(": server `{server}` is not running; it starts when it is needed");
        return ("nothing to restart", how);
    }
    match said("private").and_then(Value::as_u64) {
        None | Some(0) => ("restarted", format!(": server `{server}`")),
        Some(own) => {
            let own = match own {
                1 => "1 process of a client has ended".to_owned(),
                own => format!("{own} processes of clients have ended"),
            };
            ("restarted", format!(": server `{server}`: {own}; the next call starts a new one"))
        }
    }
}

/// Which runtimes a command is about.
#[derive(Clone, Copy)]
struct RuntimeChoice<'c> {
    config: Option<&'c Path>,
    runtime: Option<&'c str>,
    all: bool,
}

impl RuntimeChoice<'_> {
    /// Acts on the runtimes that there are. `is_meant`: those that the command can be about.
    fn found(
        self,
        environment: &Environment,
        is_meant: impl Fn(&RunningRuntime) -> bool,
        act: impl FnOnce(&mut Runtimes) -> Result<(), String>,
    ) -> u8 {
        let done = Runtimes::find_next(self.config, environment, is_meant).and_then(|mut found| {
            if found.running.is_empty() {
                return Err(self.none(&found));
            }
            act(&mut found)
        });
        match done {
            Ok(()) => OK,
            Err(why) => console::problem(&format!("error: {why}\n"), FAILED),
        }
    }

    /// Those that are meant; `or` is what else can be said where it is not clear.
    fn meant<'f>(self, found: &'f Runtimes, or: &str) -> Result<Vec<&'f RunningRuntime>, String> {
        if let Some(which) = self.runtime {
            return found.choose(which);
        }
        let all: Vec<&RunningRuntime> = found.running.iter().collect();
        match all.is_empty() {
            true => Err(self.none(found)),
            false if self.config.is_none() && !self.all && distinct(&all) > 1 => Err(format!(
                "several shared runtimes are running; name one by its pid or with --config{or}: {}",
                found.names()
            )),
            false => Ok(all),
        }
    }

    fn none(self, found: &Runtimes) -> String {
        let silent: String = found.silent.iter().map(|why| format!("; {why}")).collect();
        match self.config {
            Some(path) => format!("no shared runtime of {} is running{silent}", path.display()),
            None => format!("no shared runtime is running{silent}"),
        }
    }
}

/// Why nothing can be done about a server of this name.
pub(super) fn no_server(server: &str, found: &Runtimes) -> String {
    let mut names: Vec<&str> =
        found.running.iter().flat_map(RunningRuntime::server_names).collect();
    names.sort_unstable();
    names.dedup();
    let near = did_you_mean(server, names.iter().copied());
    let hung: Vec<u64> =
        found.running.iter().filter(|it| it.is_hung()).map(|it| it.number("pid")).collect();
    let mut told = format!("no shared runtime has a server `{}`{near}", line(server));
    for pid in &hung {
        told += &format!("; one hangs and cannot be asked: `trunkline stop {pid}` ends it");
    }
    match (names.is_empty(), hung.is_empty()) {
        (false, _) => told += &format!("; there are {}", names.join(", ")),
        (true, true) => told += "; they have no servers",
        (true, false) => {}
    }
    told
}

/// Ends these at once, waits for them, and says what was `done` to each, and how. The clients of one that hung
/// start another one, as after any loss.
fn end_all(
    found: &Runtimes,
    meant: &[&RunningRuntime],
    mode: EndMode,
    done: &str,
) -> Result<(), String> {
    let ended: Vec<Result<Ended, String>> = std::thread::scope(|scope| {
        let ends: Vec<_> =
            meant.iter().map(|runtime| scope.spawn(|| found.end(runtime, mode))).collect();
        let lost = || Err("it could not be ended".to_owned());
        ends.into_iter().map(|end| end.join().unwrap_or_else(|_| lost())).collect()
    });
    for (runtime, ended) in meant.iter().zip(ended) {
        let how = match ended? {
            Ended::ByItself => "",
            Ended::Killed => ": it did not end by itself and was killed; its servers end with it",
        };
        tell(done, runtime, how)?;
    }
    Ok(())
}

fn tell(done: &str, runtime: &RunningRuntime, how: &str) -> Result<(), String> {
    let (config, pid) = (runtime.text("config"), runtime.number("pid"));
    match console::reaches(&format!("{done}: {config} (pid {pid}){how}\n")) {
        true => Ok(()),
        false => Err("standard output is closed".to_owned()),
    }
}

/// What a runtime says, and the memory of its processes.
fn measured(runtime: &RunningRuntime) -> Value {
    let mut status = runtime.status.clone();
    if let Some(status) = status.as_object_mut() {
        status.remove("trunkline");
        status.insert("id".to_owned(), runtime.id.clone().into());
        status.insert("short_id".to_owned(), runtime.short_id().into());
        let own = status.get("pid").and_then(Value::as_u64);
        status.insert("memory_kib".to_owned(), own.map(resident_kib).into());
        status.insert("memory_total_kib".to_owned(), own.map(|pid| tree_kib(pid, 0)).into());
        let parts = |of: Option<&mut Value>, measure: fn(u64) -> u64| {
            for part in of.and_then(Value::as_array_mut).into_iter().flatten() {
                let memory = part.get("pid").and_then(Value::as_u64).map(measure);
                if let Some(part) = part.as_object_mut() {
                    part.insert("memory_kib".to_owned(), memory.into());
                }
            }
        };
        parts(status.get_mut("clients"), resident_kib);
        let of_tree = |pid| tree_kib(pid, 0);
        parts(status.get_mut("servers"), of_tree);
        let servers = status.get_mut("servers").and_then(Value::as_array_mut);
        servers.into_iter().flatten().for_each(|it| parts(it.get_mut("processes"), of_tree));
    }
    status
}

fn resident_kib(pid: u64) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

/// Of a process and all below it. `depth` bounds a tree that changes while it is walked.
fn tree_kib(pid: u64, depth: u32) -> u64 {
    const DEEPEST: u32 = 32;
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let below: u64 = lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u64>>()
        })
        .filter(|_| depth < DEEPEST)
        .map(|child| tree_kib(child, depth + 1))
        .sum();
    resident_kib(pid) + below
}

/// One runtime for people.
fn block(status: &Value) -> String {
    let text = |of: &Value, key: &str| match of.get(key) {
        Some(Value::String(text)) => line(text),
        Some(Value::Number(number)) => number.to_string(),
        _ => "-".to_owned(),
    };
    let list = |key: &str| status.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let (clients, servers) = (list("clients"), list("servers"));
    let mut out = format!(
        "{}\n  pid {}, id {}, {}, version {}, up {}, {} of memory with its servers\n",
        text(status, "config"),
        text(status, "pid"),
        text(status, "short_id"),
        text(status, "state"),
        text(status, "version"),
        since(status.get("started")),
        mebibytes(status.get("memory_total_kib")),
    );
    if status.get("why").is_some_and(Value::is_string) {
        out.push_str(&format!("  {}: {}", text(status, "state"), text(status, "why")));
        if clients.is_empty() && servers.is_empty() {
            out.push_str(&format!("; `trunkline stop {}` ends it\n", text(status, "pid")));
            return out;
        }
        let open = status.get("open_calls").and_then(Value::as_u64).unwrap_or_default();
        let (clients, calls) = (count(clients.len() as u64, "client"), count(open, "open call"));
        out.push_str(&format!("; {clients}, {calls}\n"));
    }
    if let Some(other) = status.get("differs_from").and_then(Value::as_u64) {
        let names: Vec<String> =
            list("differs_in").iter().filter_map(Value::as_str).map(line).collect();
        let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        out.push_str(&format!("  differs from pid {other} in: {names}\n"));
    }
    let head = |words: [&str; 5]| words.map(str::to_owned);
    let mut rows = vec![head(["SERVER", "STATE", "PID", "TOOLS", "MEMORY"])];
    let row = |name: String, of: &Value| {
        let memory = mebibytes(of.get("memory_kib"));
        [name, text(of, "state"), text(of, "pid"), text(of, "tools"), memory]
    };
    for server in &servers {
        let name = text(server, "name");
        rows.push(row(name.clone(), server));
        let own = server.get("processes").and_then(Value::as_array).into_iter().flatten();
        rows.extend(own.map(|of| row(format!("{name} of client {}", text(of, "client")), of)));
    }
    out.push_str(&columns(&rows, "  ", console::width()));
    let mut rows = vec![["CLIENT", "PID", "SINCE", "MEMORY"].map(str::to_owned)];
    rows.extend(clients.iter().map(|client| {
        let kind = client.get("for").and_then(Value::as_str).unwrap_or("any");
        [
            kind.to_owned(),
            text(client, "pid"),
            since(client.get("since")),
            mebibytes(client.get("memory_kib")),
        ]
    }));
    match clients.is_empty() {
        true => out.push_str("  no client is connected\n"),
        false => out.push_str(&columns(&rows, "  ", console::width())),
    }
    out
}

/// `1 client`, `2 clients`
fn count(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn mebibytes(kib: Option<&Value>) -> String {
    match kib.and_then(Value::as_f64) {
        Some(kib) => format!("{:.1} MiB", kib / 1024.0),
        None => "-".to_owned(),
    }
}

fn since(at: Option<&Value>) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let Some(then) = at.and_then(Value::as_u64).map(Duration::from_secs) else {
        return "-".to_owned();
    };
    match now.saturating_sub(then).as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
