//! The child process of the benchmark: `bench-child --name NAME --tools N`.

use std::process::ExitCode;
use trunkline_bench::child::Child;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let value =
        |flag: &str| args.iter().position(|arg| arg == flag).and_then(|at| args.get(at + 1));
    let name = value("--name").map_or("child", String::as_str);
    let tools = value("--tools").and_then(|n| n.parse().ok()).unwrap_or(10);
    // A broken pipe is how the other side says goodbye.
    let _ = Child::new(name, tools).serve();
    ExitCode::SUCCESS
}
