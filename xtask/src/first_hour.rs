//! The first hour of a new user: builds what `tests/first_hour` needs, and runs it.

use std::process::Command;

use crate::{conformance, peers, run};

/// `--debug`: without a release build; figures then mean little. Other arguments go on to the run.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let clients = peers::install_clients()?;
    let profile = match arguments.iter().any(|it| it == "--debug") {
        true => "debug",
        false => "release",
    };
    let flag = if profile == "release" { " --release" } else { "" };
    run::cargo(&format!("build --locked -p trunkline -p trunkline-tests --bins{flag}"))?;
    let programs = conformance::target().join(profile);
    let mut hour = Command::new(programs.join("first-hour"));
    hour.args(arguments.iter().filter(|it| *it != "--debug"));
    hour.env("TRUNKLINE_BIN_DIR", &programs).env("TRUNKLINE_FIRST_HOUR_CLIENTS", clients);
    run::checked(&mut hour, "first-hour")
}
