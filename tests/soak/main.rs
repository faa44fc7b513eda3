//! Long runs by hand: the platform at full size (`cargo xtask soak platform`) and slow readers
//! (`cargo xtask soak slow-readers`). Each run prints its figures and fails when a limit is broken;
//! the suite has smaller versions of the same.

mod caller;
mod control;
mod crowd;
mod house;
mod kills;
mod load;
mod replicas;
mod report;
mod restarts;
mod slow_readers;
mod timeline;
mod truth;
mod writer;

use std::process::ExitCode;

use report::Report;

const USAGE: &str = "usage: platform-soak [RUN]... [--scale N] [--rate N]
  load         1,000 calls a second for a minute, over MCP and REST
  restarts     a server killed and restarted 100 times under load, over HTTP and over stdio
  kills        `serve` killed at 200 moments while it writes, on SQLite and on Postgres
  replicas     three replicas behind haproxy: killed, restarted, cut off from their store (only if named)
  slow-readers every front, every kind of server, several speeds: a minute each (only if named)
  --scale N    a part of that: N percent
  --rate N     calls a second to the server that is killed, instead of 200; to the replicas, instead of 400";

/// How much of each run.
#[derive(Debug, Clone, Copy)]
struct Size {
    percent: u64,
    /// Calls a second to what is killed; `None`: as many as usual.
    rate: Option<u64>,
}

impl Size {
    fn of(self, full: u64) -> u64 {
        (full * self.percent / 100).max(1)
    }
}

fn main() -> ExitCode {
    let Some((runs, size)) = parse(&std::env::args().skip(1).collect::<Vec<_>>()) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let mut report = Report::default();
    for run in runs {
        match run {
            Run::Load => load::run(&mut report, size),
            Run::Restarts => restarts::run(&mut report, size),
            Run::Kills => kills::run(&mut report, size),
            Run::Replicas => replicas::run(&mut report, size),
            Run::SlowReaders => slow_readers::run(&mut report, size),
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
    Replicas,
    SlowReaders,
}

fn parse(args: &[String]) -> Option<(Vec<Run>, Size)> {
    let (mut runs, mut size) = (Vec::new(), Size { percent: 100, rate: None });
    let mut args = args.iter();
    let number = |arg: Option<&String>| arg?.parse().ok().filter(|number| *number > 0);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "load" => runs.push(Run::Load),
            "restarts" => runs.push(Run::Restarts),
            "kills" => runs.push(Run::Kills),
            "replicas" => runs.push(Run::Replicas),
            "slow-readers" => runs.push(Run::SlowReaders),
            "--scale" => size.percent = number(args.next())?,
            "--rate" => size.rate = Some(number(args.next())?),
            _ => return None,
        }
    }
    if runs.is_empty() {
        runs = vec![Run::Load, Run::Restarts, Run::Kills];
    }
    Some((runs, size))
}
