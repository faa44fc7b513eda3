//! Three replicas behind haproxy: killed, restarted one after the other, cut off from their store.

use std::process::Command;

use super::USAGE;
use crate::{balancers, conformance, postgres, run};

/// `args`: how much of it, and at which rate; with `--debug` the programs of the tests.
pub fn run(args: &[String]) -> Result<(), String> {
    let is_debug = args.iter().any(|arg| arg == "--debug");
    let args = args.iter().filter(|arg| *arg != "--debug");
    let profile = if is_debug { "" } else { "--release " };
    let folder = if is_debug { "debug" } else { "release" };
    let wanted = "--bin trunkline --bin fake-mcp --bin platform-soak";
    run::cargo(&format!("build {profile}--workspace --locked {wanted}"))?;
    balancers::install()?;
    let programs = conformance::target().join(folder);
    let postgres = postgres::Cluster::start()?;
    let mut soak = Command::new(programs.join("platform-soak"));
    soak.arg("replicas").args(args).env("TRUNKLINE_BIN_DIR", &programs);
    soak.env(postgres::VARIABLE, postgres.url());
    run::checked(&mut soak, "platform-soak").map_err(|error| format!("{error}\n{USAGE}"))
}
