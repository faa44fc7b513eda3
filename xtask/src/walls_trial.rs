//! Popular servers with and without walls: builds what `tests/walls_trial` needs, and runs it.

use std::process::Command;

use crate::{conformance, peers, run};

/// Arguments are parts of the names of packages: only those are tried.
pub fn run(arguments: &[String]) -> Result<(), String> {
    // For `uvx`, and a Node that is new enough for all of them.
    let clients = peers::install_clients()?;
    run::cargo("build --locked -p trunkline -p trunkline-tests --bins")?;
    let programs = conformance::target().join("debug");
    let mut trial = Command::new(programs.join("walls-trial"));
    let found = std::env::var("PATH").unwrap_or_default();
    let path = ["venv/bin", "node_modules/.bin"].map(|it| clients.join(it).display().to_string());
    trial.args(arguments).env("PATH", format!("{}:{found}", path.join(":")));
    trial.env("TRUNKLINE_BIN_DIR", &programs);
    trial.env("TRUNKLINE_TRIAL_DIR", conformance::target().join("walls-trial"));
    run::checked(&mut trial, "walls-trial")
}
