//! The program `trunkline`; called `mcp-simple-aggregator`, it is that.

use std::process::ExitCode;

fn main() -> ExitCode {
    trunkline_app::main(trunkline_app::Program::called())
}
