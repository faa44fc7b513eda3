//! Builds what is measured in release and runs the benchmark; `--peers` without a directory
//! installs the peers first.

use std::process::Command;

use crate::{conformance, peers, run};

/// Runs the benchmark; `args` are its own.
pub fn run(args: &[String]) -> Result<(), String> {
    let args = with_peers(args)?;
    run::cargo("build --release -p trunkline -p trunkline-bench --bins")?;
    let bench = conformance::target().join("release/bench");
    run::checked(Command::new(bench).args(&args), "bench")
}

/// The arguments with the peers' directory behind `--peers`.
fn with_peers(args: &[String]) -> Result<Vec<String>, String> {
    let mut args = args.to_vec();
    let Some(at) = args.iter().position(|arg| arg == "--peers") else {
        return Ok(args);
    };
    if args.get(at + 1).is_none_or(|next| next.starts_with("--")) {
        let directory = peers::install_for_bench()?;
        args.insert(at + 1, directory.to_string_lossy().into_owned());
    }
    Ok(args)
}
