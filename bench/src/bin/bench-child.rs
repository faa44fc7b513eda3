//! The child process of the benchmark: `bench-child --name NAME --tools N [--modern] [--http ADDRESS]`, over stdio or HTTP.

use std::io::{self, Write};
use std::net::TcpListener;
use std::process::ExitCode;
use trunkline_bench::child::Child;
use trunkline_bench::era::Era;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let value =
        |flag: &str| args.iter().position(|arg| arg == flag).and_then(|at| args.get(at + 1));
    let name = value("--name").map_or("child", String::as_str);
    let tools = value("--tools").and_then(|n| n.parse().ok()).unwrap_or(10);
    let modern = args.iter().any(|arg| arg == "--modern");
    let mut child = Child::new(name, tools, if modern { Era::Modern } else { Era::Legacy });
    let Some(address) = value("--http") else {
        // A broken pipe is how the other side says goodbye.
        let _ = child.serve();
        return ExitCode::SUCCESS;
    };
    match serve_http(&mut child, address) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-child: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Says the port on stdout, then serves.
fn serve_http(child: &mut Child, address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    writeln!(io::stdout(), "{}", listener.local_addr()?.port())?;
    child.serve_http(listener)
}
