//! A program that sees a part of the file system otherwise than we do: with mounts of its own.

use std::process::Command;

use crate::scan;

/// Runs a command in a mount namespace of its own, after this shell script has prepared it. No other
/// program sees what it mounts, and the mounts end with the program.
pub fn apart(command: &Command, prepare: &str) -> Command {
    let script = format!(r#"set -e; {prepare}; exec "$0" "$@""#);
    let mut apart = Command::new("unshare");
    apart.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    apart.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => apart.env(name, value),
            None => apart.env_remove(name),
        };
    }
    apart
}

/// A path or word for the script, quoted.
pub fn word(text: &str) -> String {
    assert!(!text.contains('\''), "not a word for a script: {}", scan::quote(text));
    format!("'{text}'")
}
