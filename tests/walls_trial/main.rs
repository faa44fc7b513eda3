//! Do popular servers work unchanged under `standard`? Each is loaded and started with and without the walls, one
//! after the other; what it lists and what a harmless call gives has to be the same. By hand: `cargo xtask walls-trial`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};

/// A server of the list.
struct Popular {
    package: String,
    runner: String,
    entry: Value,
    call: Option<(String, Value)>,
}

/// What came of one start.
#[derive(PartialEq)]
struct Outcome {
    /// The names of its tools, or nothing where it did not start.
    tools: Option<BTreeSet<String>>,
    /// Whether the call succeeded, where there is one.
    called: Option<bool>,
    /// What was said about a failure.
    said: String,
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let place = PathBuf::from(
        std::env::var_os("TRUNKLINE_TRIAL_DIR").unwrap_or("target/walls-trial".into()),
    );
    fs::create_dir_all(&place).expect("the folder of the trial can be made");
    let place = place.canonicalize().expect("it is there");
    let text = include_str!("servers.json");
    let all: Vec<Value> = serde_json::from_str(text).expect("the list is JSON");
    let is_wanted = |it: &&Value| {
        let package = it["package"].as_str().unwrap_or_default();
        wanted.is_empty() || wanted.iter().any(|part| package.contains(part.as_str()))
    };
    println!(
        "| server | by | without walls | under `standard` | call | same |\n|---|---|---|---|---|---|"
    );
    let (mut tried, mut same, mut listed) = (0, 0, 0);
    for server in all.iter().filter(is_wanted) {
        let work = place.join("work").join(format!("{tried}"));
        prepare(&work);
        let server = Popular::read(server, &work);
        let without = server.outcome(&place, &json!("off"));
        let with = server.outcome(&place, &json!("standard"));
        let is_same = without.is_same(&with);
        tried += 1;
        same += usize::from(is_same);
        listed += usize::from(is_same && with.tools.is_some());
        let call = match with.called {
            Some(true) => "works",
            Some(false) => "fails",
            None => "–",
        };
        let sign = if is_same { "yes" } else { "NO" };
        println!(
            "| {} | {} | {without} | {with} | {call} | {sign} |",
            server.package, server.runner
        );
        if !is_same {
            eprintln!("--- {}\nwithout: {}\nwith: {}", server.package, without.said, with.said);
        }
    }
    println!("\n{same} of {tried} behave the same; {listed} of them start and list their tools");
    if same == tried { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A directory to work in, with a repository.
fn prepare(work: &Path) {
    fs::create_dir_all(work).expect("a folder to work in can be made");
    let _ = Command::new("git").args(["init", "-q"]).arg(work).status();
}

impl Popular {
    fn read(value: &Value, work: &Path) -> Popular {
        let text = value.to_string().replace("${WORK}", &work.display().to_string());
        let value: Value = serde_json::from_str(&text).expect("a path needs no escapes");
        let word = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let (runner, package) = (word("run"), word("package"));
        let mut args = if runner == "npx" { vec![json!("-y")] } else { Vec::new() };
        args.push(json!(package));
        args.extend(value["args"].as_array().cloned().unwrap_or_default());
        let mut entry = json!({ "command": runner, "args": args });
        if value["env"].is_object() {
            entry["env"] = value["env"].clone();
        }
        let call = value["call"]
            .as_array()
            .and_then(|call| Some((call.first()?.as_str()?.to_owned(), call.get(1)?.clone())));
        Popular { package, runner, entry, call }
    }

    fn outcome(&self, place: &Path, sandbox: &Value) -> Outcome {
        let mut entry = self.entry.clone();
        entry["sandbox"] = sandbox.clone();
        let config = place.join("mcp.json");
        fs::write(&config, json!({ "mcpServers": { "s": entry } }).to_string())
            .expect("the config can be written");
        let (out, said) = trunkline(place, &config, &["tools", "--json"]);
        let tools = serde_json::from_str::<Value>(&out).ok().and_then(|listed| names(&listed));
        // A server that did not start is none without tools.
        let tools = tools.filter(|names| !names.is_empty());
        let called = self.call.as_ref().filter(|_| tools.is_some()).map(|(tool, arguments)| {
            let (name, arguments) = (format!("s:{tool}"), arguments.to_string());
            let (out, _) =
                trunkline(place, &config, &["call", &name, "--json", "--args", &arguments]);
            serde_json::from_str::<Value>(&out)
                .is_ok_and(|it| it["isError"] != true && it.get("content").is_some())
        });
        Outcome { tools, called, said }
    }
}

fn names(listed: &Value) -> Option<BTreeSet<String>> {
    let tools = listed.get("tools").unwrap_or(listed).as_array()?;
    Some(tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect())
}

/// What it prints, and what it says about it. A server that is being loaded has three minutes.
fn trunkline(place: &Path, config: &Path, args: &[&str]) -> (String, String) {
    let programs = PathBuf::from(std::env::var_os("TRUNKLINE_BIN_DIR").expect("started by xtask"));
    let mut command = Command::new("nice");
    command.arg("-n10").arg(programs.join("trunkline")).args(args);
    command.arg("--config").arg(config).args(["--start-timeout", "180"]);
    command.env("TRUNKLINE_CACHE", place.join("cache")).env("TRUNKLINE_SHARED", "off");
    command.env("HOME", place.join("home")).stdin(Stdio::null());
    let _ = fs::create_dir_all(place.join("home"));
    let done = command.output().expect("trunkline can be started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&done.stdout), text(&done.stderr))
}

impl Outcome {
    /// Without tools: whether it fails for the same reason.
    fn is_same(&self, other: &Outcome) -> bool {
        match (&self.tools, &other.tools) {
            (None, None) => self.reason() == other.reason(),
            (one, other_tools) => one == other_tools && self.called == other.called,
        }
    }

    /// The error without what to do about it.
    fn reason(&self) -> Option<&str> {
        let line = self.said.lines().find(|line| line.contains("error: server"))?;
        line.split("; ").next()
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.tools {
            Some(tools) => write!(f, "{} tools", tools.len()),
            None => write!(f, "does not start"),
        }
    }
}
