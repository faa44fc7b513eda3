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

use std::process::ExitCode;

use house::House;

const USAGE: &str = "usage: cargo xtask first-hour [requests|newcomer]... [--starts N] [--keep]

  requests    is every tool in the first request that Claude Code and Codex send to their models?
  newcomer    `trunkline setup` at a terminal with three clients and twelve servers, timed, and back
  --starts N  how often each client is started for `requests`; 20 if not given
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
    let (mut parts, mut starts, mut keep) = (Vec::new(), 20, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "requests" | "newcomer" => parts.push(argument),
            "--starts" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                starts = number.ok_or(USAGE)?;
            }
            "--keep" => keep = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|it| it == part);
    let house = House::build(keep)?;
    house.fetch_servers()?;
    let mut missed = Vec::new();
    if is_wanted("requests") {
        missed.extend(requests::run(&house, starts)?);
    }
    if is_wanted("newcomer") {
        missed.extend(newcomer::run(&house)?);
    }
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("not kept:\n  {}", missed.join("\n  "))),
    }
}
