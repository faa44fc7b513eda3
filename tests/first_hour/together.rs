//! Claude Code and Codex at once on one config: does one runtime, with one set of servers, serve both?

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use kit::process;
use serde_json::{Value, json};

use crate::house::{House, said, text};
use crate::model::{Model, Wanted};
use crate::requests::Client;
use crate::servers::SERVERS;

/// What both models want to have called: one process has to answer both.
const TOOL: &str = "calculator__calculate";
const SERVER: &str = "calculator";
/// For ten servers that start at once.
const PATIENCE: Duration = Duration::from_secs(300);

/// What was not kept.
pub(crate) fn run(house: &House, starts: usize) -> Result<Vec<String>, String> {
    house.write("mcp.json", &house.config())?;
    for client in Client::BOTH {
        said(&mut house.trunkline(&["install", client.id(), "--config", "mcp.json"]))?;
    }
    println!("=== Claude Code and Codex at once: {starts} starts");
    println!(
        "{:>5}  {:<16}  {:>8}  {:<20}  {:>15}  {:>9}  {:>10}",
        "START", "REMEMBERED", "RUNTIMES", "CLIENTS", "SERVERS RUNNING", "PROCESSES", "MEMORY"
    );
    let mut missed = Vec::new();
    for start in 1..=starts {
        drop(house.trunkline(&["stop", "--all"]).output());
        // The first start ever starts every server: that is the set.
        let is_first = start == 1;
        if is_first {
            drop(house.trunkline(&["cache", "clear"]).output());
        }
        let (runtimes, failures) = both(house, is_first)?;
        let remembered = if is_first { "nothing" } else { "everything" };
        show(start, remembered, &runtimes);
        let told = failures.into_iter().chain(faults(&runtimes));
        missed.extend(told.map(|why| format!("together, start {start}: {why}")));
    }
    Ok(missed)
}

/// Starts both, and looks when both have called the tool; then they end. On the first start ever, when every server
/// runs: no client knows the tools before.
fn both(house: &House, is_first: bool) -> Result<(Vec<Value>, Vec<String>), String> {
    let wanted = Wanted { tool: TOOL, arguments: json!({"expression": "6*7"}) };
    let wanted = (!is_first).then_some(wanted);
    let servers = if is_first { SERVERS.len() } else { 1 };
    let models = [Model::start_holding(wanted.clone())?, Model::start_holding(wanted)?];
    std::thread::scope(|scope| {
        let pairs = || Client::BOTH.into_iter().zip(&models);
        let clients: Vec<_> = pairs()
            .map(|(client, model)| scope.spawn(move || said(&mut client.asks(house, model, TOOL))))
            .collect();
        let begun = Instant::now();
        let runtimes = loop {
            let runtimes = listed(house)?;
            let is_there = models.iter().all(|model| match is_first {
                true => model.was_asked(),
                false => model.result().is_some(),
            });
            let running = runtimes.iter().map(|it| running(it).len()).sum::<usize>();
            let is_over = begun.elapsed() > PATIENCE || clients.iter().any(|it| it.is_finished());
            if is_over || (is_there && running >= servers) {
                break runtimes;
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        models.iter().for_each(Model::release);
        let mut failures = Vec::new();
        for ((client, model), end) in pairs().zip(clients) {
            let output = end.join().map_err(|_| "a client could not be watched")??;
            if !is_first && !model.result().is_some_and(|result| result.contains("42")) {
                failures.push(format!("{} got no 42: {}", client.id(), text(&output.stderr)));
            }
        }
        Ok((runtimes, failures))
    })
}

fn listed(house: &House) -> Result<Vec<Value>, String> {
    let told = said(&mut house.trunkline(&["ps", "--json"]))?;
    let told: Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
    Ok(told["runtimes"].as_array().cloned().unwrap_or_default())
}

/// The servers of a runtime that have a process.
fn running(runtime: &Value) -> Vec<&Value> {
    let servers = runtime["servers"].as_array().into_iter().flatten();
    servers.filter(|server| server["pid"].is_u64() && server["state"] == "running").collect()
}

/// The clients of a runtime, by what they are.
fn clients(runtime: &Value) -> Vec<&str> {
    let clients = runtime["clients"].as_array().into_iter().flatten();
    let mut kinds: Vec<&str> =
        clients.map(|client| client["for"].as_str().unwrap_or("any")).collect();
    kinds.sort_unstable();
    kinds
}

fn show(start: usize, remembered: &str, runtimes: &[Value]) {
    let all: Vec<&str> = runtimes.iter().flat_map(clients).collect();
    let servers: usize = runtimes.iter().map(|it| running(it).len()).sum();
    let pids = runtimes.iter().filter_map(|it| i32::try_from(it["pid"].as_i64()?).ok());
    let processes: usize = pids.map(|pid| 1 + process::descendants(pid).len()).sum();
    let memory: u64 = runtimes.iter().filter_map(|it| it["memory_total_kib"].as_u64()).sum();
    println!(
        "{start:>5}  {remembered:<16}  {:>8}  {:<20}  {servers:>15}  {processes:>9}  {:>6.0} MiB",
        runtimes.len(),
        all.join(", "),
        memory as f64 / 1024.0
    );
}

/// What is not as it has to be.
fn faults(runtimes: &[Value]) -> Vec<String> {
    let [runtime] = runtimes else {
        let differ: Vec<String> = runtimes.iter().map(|it| it["differs_in"].to_string()).collect();
        return vec![format!("{} runtimes instead of one; {differ:?}", runtimes.len())];
    };
    let mut faults = Vec::new();
    if clients(runtime) != ["claude-code", "codex"] {
        faults.push(format!("its clients are {:?}", clients(runtime)));
    }
    let servers = running(runtime);
    let pids: BTreeSet<u64> = servers.iter().filter_map(|it| it["pid"].as_u64()).collect();
    let names: BTreeSet<&str> = servers.iter().filter_map(|it| it["name"].as_str()).collect();
    if pids.len() != servers.len() || names.len() != servers.len() || !names.contains(SERVER) {
        faults.push(format!("not one set of servers: {servers:?}"));
    }
    faults
}
