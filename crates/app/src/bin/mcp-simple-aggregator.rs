//! The program `mcp-simple-aggregator`: Trunkline with `--simple`, under the name of the drop-in.

use std::process::ExitCode;

fn main() -> ExitCode {
    trunkline_app::main(trunkline_app::Program::SimpleAggregator)
}
