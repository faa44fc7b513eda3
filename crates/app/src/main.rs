//! The program `trunkline`.

use std::process::ExitCode;

fn main() -> ExitCode {
    trunkline_app::main(trunkline_app::Program::Trunkline)
}
