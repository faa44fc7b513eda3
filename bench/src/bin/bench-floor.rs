//! The yardstick: a minimal raw forwarder. `bench-floor --config FILE` over stdio, and over HTTP with the subject's
//! command line `bench-floor serve --config FILE --listen ADDRESS`, so that it can also be measured against itself.

use std::path::Path;
use std::process::ExitCode;
use trunkline_bench::floor;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let value =
        |flag: &str| args.iter().position(|arg| arg == flag).and_then(|at| args.get(at + 1));
    let Some(config) = value("--config") else {
        eprintln!("usage: bench-floor [serve] --config FILE [--listen ADDRESS]");
        return ExitCode::from(2);
    };
    let config = Path::new(config);
    let over_http = args.iter().any(|arg| arg == "serve" || arg == "--http");
    let result = if over_http {
        floor::run_http(config, value("--listen").map_or("127.0.0.1:0", String::as_str))
    } else {
        floor::run(config)
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-floor: {error}");
            ExitCode::FAILURE
        }
    }
}
