//! Every command of this repository: `cargo xtask ci | test | tidy | map | peers | bench`.

mod bench;
mod map;
mod peers;
mod run;
mod source;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  ci      everything a change must pass: tidy, format, lints, all tests
  test    all tests (installs the MCP servers they talk to under target/peers)
  tidy    the laws the compiler does not know: door plates, who may import whom
  map     the tree with each file's first line
  peers   only install the MCP servers the tests talk to
  bench   measure against the direct call, the floor and peers (bench --help)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = arguments.split_first().map_or(("", &[][..]), |(t, r)| (t.as_str(), r));
    let outcome = match task {
        "ci" => ci(),
        "test" => test(),
        "tidy" => tidy::run(),
        "map" => map::run(),
        "peers" => peers::install(),
        "bench" => bench::run(rest),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The same steps on a laptop and in CI, cheapest first.
fn ci() -> Result<(), String> {
    run::announce("tidy");
    tidy::run()?;
    run::cargo("fmt --all --check")?;
    run::cargo("clippy --workspace --all-targets --locked -- -D warnings")?;
    test()
}

fn test() -> Result<(), String> {
    peers::install()?;
    run::cargo("build --workspace --bins --examples --locked")?;
    run::cargo("test --workspace --locked")
}
