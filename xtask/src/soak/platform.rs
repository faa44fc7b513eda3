//! The platform at full size: a thousand calls a second, servers that die, `serve` killed while it
//! writes.

use std::process::Command;

use super::USAGE;
use crate::{conformance, postgres, run};

/// `args`: which of its runs, and how much of them.
pub fn run(args: &[String]) -> Result<(), String> {
    run::cargo("build --release --locked -p trunkline -p trunkline-tests --bins")?;
    let release = conformance::target().join("release");
    let postgres = postgres::Cluster::start()?;
    let mut soak = Command::new(release.join("platform-soak"));
    soak.args(args).env("TRUNKLINE_BIN_DIR", &release).env(postgres::VARIABLE, postgres.url());
    run::checked(&mut soak, "platform-soak").map_err(|error| format!("{error}\n{USAGE}"))
}
