//! Runs the official conformance suite: its clients before `trunkline serve`, with the fixture
//! behind it in either era, as a child and over HTTP; and its servers behind `trunkline`.

mod bridge;
mod clients;
mod programs;
mod report;
mod suite;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{peers, run};
use programs::{Running, program, quoted, ready};

pub use programs::target;

/// The two revisions the suite asks for, one of each era.
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
/// Scenarios the suite runs and does not count, but that hold here.
const ALSO: &[&str] = &["http-header-validation", "http-custom-header-server-validation"];

/// One run of the suite's clients.
struct Run {
    /// What is expected to fail is in the file of this name.
    kind: &'static str,
    /// Which revision the suite speaks.
    revision: &'static str,
    /// What the fixture is started as.
    era: &'static str,
    fixture: Fixture,
    front: FrontKind,
    /// Scenarios to be run one by one besides.
    also: &'static [&'static str],
}

/// What the suite's clients reach the gateway over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FrontKind {
    Plain,
    /// HTTP/2 over TLS, behind a proxy that speaks HTTP/1.1 to the suite.
    Http2,
}

enum Fixture {
    Child,
    /// Over HTTP, with this on its command line.
    Http(&'static [&'static str]),
}

impl Run {
    const fn new(
        kind: &'static str,
        revision: &'static str,
        era: &'static str,
        fixture: Fixture,
    ) -> Self {
        Self { kind, revision, era, fixture, front: FrontKind::Plain, also: &[] }
    }

    const fn and(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    const fn over_http2(self) -> Self {
        Self { front: FrontKind::Http2, ..self }
    }

    fn name(&self) -> String {
        let fixture = match self.fixture {
            Fixture::Child => "stdio",
            Fixture::Http(_) => "http",
        };
        match self.front {
            FrontKind::Plain => format!("{}-{fixture}", self.kind),
            FrontKind::Http2 => format!("{}-{fixture}-over-http2", self.kind),
        }
    }
}

/// Same era on both sides, then different ones: there the gateway translates. A server without
/// sessions may answer as JSON or as events, so one of the HTTP runs has each.
const RUNS: &[Run] = &[
    Run::new("legacy", LEGACY, "legacy", Fixture::Child),
    Run::new("legacy", LEGACY, "legacy", Fixture::Http(&[])),
    Run::new("modern", MODERN, "modern", Fixture::Child).and(ALSO),
    Run::new("modern", MODERN, "modern", Fixture::Http(&["--json"])).and(ALSO),
    Run::new("modern-to-legacy", MODERN, "legacy", Fixture::Child),
    Run::new("modern-to-legacy", MODERN, "legacy", Fixture::Http(&[])),
    Run::new("legacy-to-modern", LEGACY, "modern", Fixture::Child),
    Run::new("legacy-to-modern", LEGACY, "modern", Fixture::Http(&[])),
    // A server of both eras is spoken to in the modern one.
    Run::new("modern-to-dual", MODERN, "dual", Fixture::Child),
    Run::new("legacy", LEGACY, "legacy", Fixture::Child).over_http2(),
    Run::new("modern", MODERN, "modern", Fixture::Child).over_http2().and(ALSO),
];

/// Installs, builds and runs everything, or the runs that are named.
pub fn run(wanted: &[String]) -> Result<(), String> {
    known(wanted)?;
    peers::install()?;
    run::cargo("build -p trunkline -p trunkline-conformance --bins --locked")?;
    judge(wanted)
}

/// Runs the suite with what is built and installed. All runs, whatever the first ones come to.
fn judge(wanted: &[String]) -> Result<(), String> {
    let faults: Vec<String> = judge_each(wanted).filter_map(|(_, outcome)| outcome.err()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Each run that is wanted, as it is asked for: its name, and what it came to.
pub fn judge_each(wanted: &[String]) -> impl Iterator<Item = (String, Result<(), String>)> {
    let is_wanted = |kind: &str, name: &str| {
        wanted.is_empty() || wanted.iter().any(|wanted| wanted == kind || wanted == name)
    };
    let servers = RUNS.iter().filter(move |run| is_wanted(run.kind, &run.name()));
    let servers = servers.map(|run| (run.name(), through_the_gateway(run)));
    let eras = clients::ERAS.iter().filter(move |era| is_wanted("client", &clients::name(era)));
    servers.chain(eras.map(|era| (clients::name(era), clients::judge(era))))
}

/// A misspelt name would run nothing, and be content.
fn known(wanted: &[String]) -> Result<(), String> {
    let runs = RUNS.iter().flat_map(|run| [run.kind.to_owned(), run.name()]);
    let clients = clients::ERAS.iter().map(clients::name).chain(["client".to_owned()]);
    let mut names: Vec<String> = runs.chain(clients).collect();
    names.sort();
    names.dedup();
    match wanted.iter().find(|wanted| !names.contains(wanted)) {
        None => Ok(()),
        Some(wanted) => Err(format!("no run `{wanted}`; there are: {}", names.join(", "))),
    }
}

fn through_the_gateway(run: &Run) -> Result<(), String> {
    let name = run.name();
    run::announce(&format!("conformance {name}: {} before a {} server", run.revision, run.era));
    let place = fresh(&name)?;

    let server = program("conformance-server");
    let (entry, _fixture) = match run.fixture {
        Fixture::Child => {
            let command = quoted(&server);
            let args = format!(r#"["--era", "{}", "--stdio"]"#, run.era);
            // The suite leaves questions unanswered. On a pipe nothing says whose the next one is,
            // unless each stateless call that may be asked has a process to itself.
            let share = if run.kind == "modern-to-legacy" { "per-session" } else { "shared" };
            let entry =
                format!(r#"{{ "command": {command}, "args": {args}, "share": "{share}" }}"#);
            (entry, None)
        }
        Fixture::Http(answers) => {
            let mut command = Command::new(server);
            command.args(["--era", run.era, "--listen", "127.0.0.1:0"]).args(answers);
            let fixture = Running::start(&mut command, &place.join("fixture.log"))?;
            (format!(r#"{{ "type": "http", "url": "{}" }}"#, fixture.url), Some(fixture))
        }
    };
    let config = place.join("mcp.json");
    let text = format!(r#"{{ "mcpServers": {{ "fixture": {entry} }} }}"#);
    fs::write(&config, text).map_err(|error| format!("{}: {error}", config.display()))?;

    let mut command = Command::new(program("trunkline"));
    command.arg("serve").arg("--config").arg(&config).args(["--listen", "127.0.0.1:0"]);
    if run.front == FrontKind::Http2 {
        command.args(bridge::flags());
    }
    let gateway = Running::start(&mut command, &place.join("gateway.log"))?;
    let bridge = match run.front {
        FrontKind::Plain => None,
        FrontKind::Http2 => Some(bridge::Bridge::to(&gateway.url, &place)?),
    };
    let url = bridge.as_ref().map_or(&gateway.url, |bridge| &bridge.url);
    ready(url)?;
    let mut command = Command::new(program("conformance-shim"));
    command.args(["--listen", "127.0.0.1:0", "--upstream", url, "--prefix", "fixture."]);
    let shim = Running::start(&mut command, &place.join("shim.log"))?;

    let url = format!("{}/mcp", shim.url);
    let every = suite::every_scenario(run.revision, &url, &expected(run.kind), &place);
    let also = run.also.iter().map(|scenario| {
        suite::one_scenario(scenario, run.revision, &url, &expected(run.kind), &place)
    });
    let faults: Vec<String> = [every].into_iter().chain(also).filter_map(Result::err).collect();
    match faults.as_slice() {
        [] => Ok(()),
        faults => Err(format!("{name}: {}; see {}", faults.join("; "), place.display())),
    }
}

/// What is known to be impossible, and why.
fn expected(kind: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../tests/conformance/expected").join(format!("{kind}.yml"))
}

/// An empty folder for one run: logs, and what the suite found.
fn fresh(name: &str) -> Result<PathBuf, String> {
    let place = target().join("conformance").join(name);
    drop(fs::remove_dir_all(&place));
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    Ok(place)
}
