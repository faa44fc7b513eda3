//! The yardstick: `bench-floor --config mcp.json` is a minimal raw forwarder over stdio.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let Some(config) =
        args.iter().position(|arg| arg == "--config").and_then(|at| args.get(at + 1))
    else {
        eprintln!("usage: bench-floor --config FILE");
        return ExitCode::from(2);
    };
    match trunkline_bench::floor::run(Path::new(config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-floor: {error}");
            ExitCode::FAILURE
        }
    }
}
