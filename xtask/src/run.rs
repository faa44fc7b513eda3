//! Runs commands, saying which.

use std::process::Command;

pub fn announce(what: &str) {
    println!("=== {what}");
}

/// Runs cargo with these arguments.
pub fn cargo(arguments: &str) -> Result<(), String> {
    cargo_with(arguments, &[])
}

/// … and with these variables in its environment, which are not shown: they may be secret.
pub fn cargo_with(arguments: &str, variables: &[(&str, &str)]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments.split(' ')).envs(variables.iter().copied());
    checked(&mut command, &format!("cargo {arguments}"))
}

/// Runs a command; its failure is ours.
pub fn checked(command: &mut Command, shown: &str) -> Result<(), String> {
    announce(shown);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed ({status})")),
        Err(error) => Err(format!("cannot run `{shown}`: {error}")),
    }
}
