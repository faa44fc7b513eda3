//! The first hour of a new user: builds what `tests/first_hour` needs, and runs it.

use std::process::Command;

use crate::{conformance, peers, run};

/// `--debug`: without a release build; figures then mean little. Other arguments go on to the run.
pub fn run(arguments: &[String]) -> Result<(), String> {
    // Its servers are scripted, and its client is the test kit.
    let is_only_starts = arguments.iter().any(|it| it == "starts")
        && !arguments.iter().any(|it| ["requests", "together", "newcomer"].contains(&it.as_str()));
    let clients = if is_only_starts { None } else { Some(peers::install_clients()?) };
    let profile = match arguments.iter().any(|it| it == "--debug") {
        true => "debug",
        false => "release",
    };
    let flag = if profile == "release" { " --release" } else { "" };
    run::cargo(&format!("build --locked -p trunkline -p trunkline-tests --bins{flag}"))?;
    let programs = conformance::target().join(profile);
    let mut hour = Command::new(programs.join("first-hour"));
    hour.args(arguments.iter().filter(|it| *it != "--debug"));
    hour.env("TRUNKLINE_BIN_DIR", &programs);
    hour.envs(clients.map(|clients| ("TRUNKLINE_FIRST_HOUR_CLIENTS", clients)));
    run::checked(&mut hour, "first-hour")
}
