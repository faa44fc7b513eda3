//! The first hour of a new user with real clients and real servers: `cargo xtask first-hour`.
//!
//! Claude Code, Codex and ten servers of npm and PyPI are real; only the models are not (`model`). Everything
//! happens in a home folder of its own, which is removed again.

mod direct;
mod house;
mod model;
mod newcomer;
mod requests;
mod servers;
mod starts;
mod together;

use std::process::ExitCode;

use house::House;

const USAGE: &str = "usage: cargo xtask first-hour [starts|requests|together|newcomer]... [--starts N] [--keep]

  starts      20 scripted servers that take 3 s each: how long until a client has every tool, alone, with a runtime
              that starts with it, and with one that is there; memory of a front
  requests    is every tool in the first request that Claude Code and Codex send to their models?
  together    both at once on one config: does one runtime with one set of servers serve both?
  newcomer    `trunkline setup` at a terminal with three clients and twelve servers, timed, and back
  --starts N  how often a client is started for `starts` (200 if not given), `requests` (20) and `together` (3)
  --keep      leave the home folder, and say where it is";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (mut parts, mut starts, mut keep) = (Vec::new(), None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "starts" | "requests" | "together" | "newcomer" => parts.push(argument),
            "--starts" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                starts = Some(number.filter(|number| *number > 0).ok_or(USAGE)?);
            }
            "--keep" => keep = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|it| it == part);
    let mut missed = Vec::new();
    if is_wanted("starts") {
        missed.extend(starts::run(starts.unwrap_or(200))?);
    }
    if parts != ["starts"] {
        let house = House::build(keep)?;
        house.fetch_servers()?;
        if is_wanted("requests") {
            missed.extend(requests::run(&house, starts.unwrap_or(20))?);
        }
        if is_wanted("together") {
            missed.extend(together::run(&house, starts.unwrap_or(3))?);
        }
        if is_wanted("newcomer") {
            missed.extend(newcomer::run(&house)?);
        }
    }
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("not kept:\n  {}", missed.join("\n  "))),
    }
}
