//! `trunkline ps`, `stop` and `restart`: the shared runtimes of this user.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::cli::{Ps, RestartArgs, Stop};
use crate::client::columns;
use crate::environment::Environment;
use crate::shared::Ask;
use crate::shared::control::{RunningRuntime, Runtimes};
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
    each(asked.at.config.as_deref(), asked.all, environment, |_| true, |_| Ask::Stop, "stopped")
}

pub(crate) fn restart(asked: &RestartArgs, environment: &Environment) -> u8 {
    let is_meant = |runtime: &RunningRuntime| match &asked.server {
        Some(server) => runtime.has_server(server),
        None => true,
    };
    let config = asked.at.config.as_deref();
    let what = |_: &RunningRuntime| Ask::Restart(asked.server.clone());
    each(config, false, environment, is_meant, what, "restarted")
}

/// Asks the one runtime that is meant, or each of them.
fn each(
    config: Option<&Path>,
    all: bool,
    environment: &Environment,
    is_meant: impl Fn(&RunningRuntime) -> bool,
    ask: impl Fn(&RunningRuntime) -> Ask,
    done: &str,
) -> u8 {
    let failed = |why: &str| console::problem(&format!("error: {why}\n"), FAILED);
    let found = match Runtimes::find(config, environment) {
        Ok(found) => found,
        Err(why) => return failed(&why),
    };
    if found.running.is_empty() {
        let silent: String = found.silent.iter().map(|why| format!("; {why}")).collect();
        return match config {
            Some(path) => {
                failed(&format!("no shared runtime of {} is running{silent}", path.display()))
            }
            None => failed(&format!("no shared runtime is running{silent}")),
        };
    }
    let meant: Vec<&RunningRuntime> = found.running.iter().filter(|it| is_meant(it)).collect();
    let configs =
        || found.running.iter().map(|it| it.text("config")).collect::<Vec<_>>().join(", ");
    match meant.as_slice() {
        [] => {
            // The runtime itself knows its servers best: it says what was perhaps meant.
            let first = found.running.first();
            let told = first.map(|first| found.ask(&first.id, ask(first)));
            let why =
                told.and_then(Result::err).unwrap_or_else(|| "there is no such server".to_owned());
            return failed(&why);
        }
        [_, _, ..] if config.is_none() && !all => {
            return failed(&format!(
                "several shared runtimes are running; name one with --config{} ({})",
                if done == "stopped" { ", or all of them with --all" } else { "" },
                configs()
            ));
        }
        _ => {}
    }
    for runtime in meant {
        match found.ask(&runtime.id, ask(runtime)) {
            Ok(_) => {}
            Err(why) => return failed(&why),
        }
        let pid = runtime.status.get("pid").and_then(Value::as_u64).unwrap_or_default();
        let told = console::out(&format!("{done}: {} (pid {pid})\n", runtime.text("config")));
        if told != OK {
            return told;
        }
    }
    OK
}

/// What a runtime says, and the memory of its processes.
fn measured(runtime: &RunningRuntime) -> Value {
    let mut status = runtime.status.clone();
    if let Some(status) = status.as_object_mut() {
        status.remove("trunkline");
        status.insert("id".to_owned(), runtime.id.clone().into());
        let own = status.get("pid").and_then(Value::as_u64);
        status.insert("memory_kib".to_owned(), own.map(resident_kib).into());
        status.insert("memory_total_kib".to_owned(), own.map(|pid| tree_kib(pid, 0)).into());
        for (key, of_tree) in [("servers", true), ("clients", false)] {
            for part in status.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                let pid = part.get("pid").and_then(Value::as_u64);
                let memory =
                    pid.map(|pid| if of_tree { tree_kib(pid, 0) } else { resident_kib(pid) });
                if let Some(part) = part.as_object_mut() {
                    part.insert("memory_kib".to_owned(), memory.into());
                }
            }
        }
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
        Some(Value::String(text)) => crate::client::line(text),
        Some(Value::Number(number)) => number.to_string(),
        _ => "-".to_owned(),
    };
    let list = |key: &str| status.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let (clients, servers) = (list("clients"), list("servers"));
    let mut out = format!(
        "{}\n  pid {}, version {}, up {}, {} of memory with its servers\n",
        text(status, "config"),
        text(status, "pid"),
        text(status, "version"),
        since(status.get("started")),
        mebibytes(status.get("memory_total_kib")),
    );
    let head = |words: [&str; 5]| words.map(str::to_owned);
    let mut rows = vec![head(["SERVER", "STATE", "PID", "TOOLS", "MEMORY"])];
    rows.extend(servers.iter().map(|server| {
        [
            text(server, "name"),
            text(server, "state"),
            text(server, "pid"),
            text(server, "tools"),
            mebibytes(server.get("memory_kib")),
        ]
    }));
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

fn mebibytes(kib: Option<&Value>) -> String {
    match kib.and_then(Value::as_f64) {
        Some(kib) => format!("{:.1} MiB", kib / 1024.0),
        None => "-".to_owned(),
    }
}

fn since(at: Option<&Value>) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let then = Duration::from_secs(at.and_then(Value::as_u64).unwrap_or_default());
    match now.saturating_sub(then).as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
