//! One run: options in, scenarios in order, report out.

use super::affinity::Cpus;
use super::args::{self, Options};
use super::machine::{self, Time};
use super::peers::{self, Found};
use super::policies;
use super::report::{Report, Rows};
use super::scenario::{self, Context};
use super::target::{Place, Program};
use super::temporary::Temporary;
use super::watchdog;
use rustix::process::{getpid, set_child_subreaper};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Measures as the arguments say. Fails if something could not be measured, or with `--strict` if a target is missed.
pub fn main(args: &[String]) -> Result<ExitCode, String> {
    if args.iter().any(|arg| arg == "--help") {
        println!("{}", args::USAGE);
        return Ok(ExitCode::SUCCESS);
    }
    let options = args::parse(args)?;
    // Orphans come to us, so that nothing outlives the run unseen.
    set_child_subreaper(Some(getpid())).map_err(|error| error.to_string())?;
    let temporary = Temporary::new().map_err(|error| error.to_string())?;
    let found = options.peers.as_deref().map(peers::find).unwrap_or_default();
    let context = Context {
        place: place(&options, &temporary)?,
        cpus: Cpus::given().map_err(|error| error.to_string())?,
        peers: found.peers.clone(),
        quick: options.quick,
    };
    watchdog::begin(context.place.start);
    let (machine, time) = (machine::describe(), Time::now());
    let report = scenario::run_all(&context, &options.only)?;
    let others = time.taken_by_others();
    println!("\n{}\nother work took {others} % of the machine's CPU time", report.targets());
    let made = format!(
        "Made by `{}` on {machine}. Other work took {others} % of the CPU time.",
        options.shown
    );
    let text = document(&made, &report, &found);
    if let Some(path) = &options.markdown {
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let bad = !report.failures.is_empty() || (options.strict && !report.all_met());
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn place(options: &Options, temporary: &Temporary) -> Result<Place, String> {
    let beside = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = |name: &str| beside.with_file_name(name);
    let place = Place {
        child: program("bench-child"),
        floor: program("bench-floor"),
        subject: options.subject.as_deref().map_or_else(
            || Program { path: program("trunkline"), args: Vec::new() },
            Program::from_words,
        ),
        before: options.before.as_deref().map(Program::from_words),
        policies: policies(options, temporary)?,
        directory: temporary.path().to_owned(),
        start: Instant::now(),
    };
    let others = place.before.iter().map(|before| &before.path);
    for path in [&place.child, &place.floor, &place.subject.path].into_iter().chain(others) {
        if !path.exists() {
            return Err(format!("{} does not exist: build with --release first", path.display()));
        }
    }
    Ok(place)
}

/// The file of policies that was named, or one with the benchmark's own.
fn policies(options: &Options, temporary: &Temporary) -> Result<PathBuf, String> {
    let path = match &options.policies {
        Some(named) => return Ok(named.clone()),
        None => temporary.path().join("hundred.cedar"),
    };
    let written = std::fs::write(&path, policies::hundred());
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// The whole report as a Markdown page.
fn document(made: &str, report: &Report, found: &Found) -> String {
    let mut text = format!("# Benchmarks\n\n{made}\n\n");
    text.push_str(METHOD);
    let _ = writeln!(text, "\n## Targets\n\n{}\n## Figures\n", report.targets());
    for table in report.tables() {
        let _ = writeln!(text, "{table}");
    }
    for error in report.left_out() {
        let _ = writeln!(text, "Left out of one scenario: {error}\n");
    }
    for failure in &report.failures {
        let _ = writeln!(text, "Not finished: {failure}\n");
    }
    if !found.absent.is_empty() {
        let mut rows = Rows::with_header(&["peer", "why it is not in the tables"]);
        for (name, reason) in &found.absent {
            rows.push([name, reason]);
        }
        let _ = writeln!(text, "### Peers left out\n\n{rows}");
    }
    text
}

const METHOD: &str = "\
**Direct** is the driver talking to the children itself. The **floor** (`bench/src/floor`) is the least an aggregator
must do: one thread, one epoll loop, scan for id and name, splice, forward. All contenders have the same children
(`bench-child`, 10 servers × 10 tools unless said otherwise), are driven by the same code over pipes or, where the title
says so, over Streamable HTTP with connections that stay open, and take turns in short rounds whose order rotates. A
figure is the median over the rounds, with the quartiles in parentheses; ratios are computed per round. *One CPU*:
every process is pinned to the same CPU. Every answer is checked: its id, and its result byte by byte against the
direct child's (peers: its text).

*HTTP → HTTP*: client and children over HTTP, which the driver starts. *HTTP → stdio*: the client over HTTP, the
children over stdio; there, too, direct is the child over HTTP. The floor answers with JSON, holds a message back until
it is whole, checks the session of every request and keeps a pool of connections to each child.

*Modern*: protocol 2026-07-28, where there is neither `initialize` nor a session and every request says in its `_meta`
who asks. Over HTTP each has the headers `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name`; the floor compares them
with the body and puts the child's own tool name into both, but does not look into `_meta`. All other tables are of the
*legacy* era (2025-06-18). The limits by the floor are the legacy ones. *Ratio to legacy* is the modern figure by the
legacy one of the same rounds: no slower, for messages that are longer.
";
