//! The platform at full size, by hand: `cargo xtask soak platform`. Each run prints its figures
//! and fails when a limit is broken; the suite has smaller versions of the same.

mod caller;
mod crowd;
mod house;
mod kills;
mod load;
mod report;
mod restarts;
mod truth;
mod writer;

use std::process::ExitCode;

use report::Report;

const USAGE: &str = "usage: platform-soak [RUN]... [--scale N]
  load         1,000 calls a second for a minute, over MCP and REST
  restarts     a server killed and restarted 100 times under load, over HTTP and over stdio
  kills        `serve` killed at 200 moments while it writes, on SQLite and on Postgres
  --scale N    a part of that: N percent";

/// How much of each run, in percent.
#[derive(Debug, Clone, Copy)]
struct Scale(u64);

impl Scale {
    fn of(self, full: u64) -> u64 {
        (full * self.0 / 100).max(1)
    }
}

fn main() -> ExitCode {
    let Some((runs, scale)) = parse(&std::env::args().skip(1).collect::<Vec<_>>()) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let mut report = Report::default();
    for run in runs {
        match run {
            Run::Load => load::run(&mut report, scale),
            Run::Restarts => restarts::run(&mut report, scale),
            Run::Kills => kills::run(&mut report, scale),
        }
    }
    match report.verdict() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

#[derive(Debug, Clone, Copy)]
enum Run {
    Load,
    Restarts,
    Kills,
}

fn parse(args: &[String]) -> Option<(Vec<Run>, Scale)> {
    let (mut runs, mut scale) = (Vec::new(), Scale(100));
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "load" => runs.push(Run::Load),
            "restarts" => runs.push(Run::Restarts),
            "kills" => runs.push(Run::Kills),
            "--scale" => scale = Scale(args.next()?.parse().ok().filter(|part| *part > 0)?),
            _ => return None,
        }
    }
    if runs.is_empty() {
        runs = vec![Run::Load, Run::Restarts, Run::Kills];
    }
    Some((runs, scale))
}
