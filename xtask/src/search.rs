//! Measures the search in release: quality, skills, time. The sets are not part of the repository.

use crate::run;

const USAGE: &str = "usage: cargo xtask search eval --data DIR [--data DIR]... (docs/search.md says what is in them)";

/// `args`: `eval`, and where the sets are.
pub fn run(args: &[String]) -> Result<(), String> {
    match args.split_first() {
        Some((what, folders)) if what == "eval" && !folders.is_empty() => {
            let mut command = std::process::Command::new(env!("CARGO"));
            command.args([
                "run",
                "--release",
                "--locked",
                "-p",
                "trunkline-search",
                "--example",
                "eval",
                "--",
            ]);
            run::checked(command.args(folders), "search eval")
        }
        _ => Err(USAGE.to_owned()),
    }
}
