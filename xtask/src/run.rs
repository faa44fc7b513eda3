//! Runs commands, saying which.

use std::process::Command;

pub fn announce(what: &str) {
    println!("=== {what}");
}

/// The cargo that runs us, without what it has told us of our own package: build scripts (ring's)
/// look at these variables, and would run again, with all that follows, after each plain `cargo`.
pub fn our_cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let is_of_package = |name: &String| {
        ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix))
    };
    names.filter(is_of_package).for_each(|name| {
        command.env_remove(name);
    });
    command
}

/// Runs cargo with these arguments.
pub fn cargo(arguments: &str) -> Result<(), String> {
    cargo_with(arguments, &[])
}

/// … and with these variables in its environment, which are not shown: they may be secret.
pub fn cargo_with(arguments: &str, variables: &[(&str, &str)]) -> Result<(), String> {
    let mut command = our_cargo();
    command.args(arguments.split(' ')).envs(variables.iter().copied());
    checked(&mut command, &format!("cargo {arguments}"))
}

/// Cargo, about to run this example in release; its arguments are still to come.
pub fn example(package: &str, name: &str) -> Command {
    let mut command = our_cargo();
    command.args(["run", "--release", "--locked", "-p", package, "--example", name, "--"]);
    command
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
