//! Programs that heed Ctrl-C, whoever has started the tests: a shell starts what it puts into the
//! background, and `nohup` everything, with signals ignored, and that is inherited.

use std::process::Command;

use rustix::process::Signal;

/// The command with the default action for SIGINT and SIGHUP, if they are ignored here.
pub fn heeded(command: Command) -> Command {
    let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    let names: Vec<&str> = [(Signal::INT, "INT"), (Signal::HUP, "HUP")]
        .into_iter()
        .filter(|(signal, _)| ignored >> (signal.as_raw() - 1) & 1 == 1)
        .map(|(_, name)| name)
        .collect();
    if names.is_empty() {
        return command;
    }
    // It becomes the program: one process, and the same one.
    let mut heeding = Command::new("env");
    heeding.arg(format!("--default-signal={}", names.join(",")));
    heeding.arg("--").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => heeding.env(name, value),
            None => heeding.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        heeding.current_dir(folder);
    }
    heeding
}

/// The set of ignored signals in the status of a process, a bit for each.
fn ignored(status: &str) -> u64 {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_set_of_ignored_signals_is_read() {
        let status = "Name:\tit\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001002\n";
        assert_eq!(super::ignored(status), 0x1002);
        assert_eq!(super::ignored(""), 0);
    }
}
