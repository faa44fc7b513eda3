//! Slow readers on every front, with every kind of server, at several speeds: how much the memory of
//! the gateway grows.

use std::process::Command;

use super::USAGE;
use crate::{conformance, run};

/// `args`: `--scale PERCENT` of a minute for every cell of the table.
pub fn run(args: &[String]) -> Result<(), String> {
    run::cargo("build --release --locked -p trunkline -p trunkline-tests --bins")?;
    let release = conformance::target().join("release");
    let mut soak = Command::new(release.join("platform-soak"));
    soak.arg("slow-readers").args(args).env("TRUNKLINE_BIN_DIR", &release);
    run::checked(&mut soak, "platform-soak").map_err(|error| format!("{error}\n{USAGE}"))
}
