//! Descendants that stay: what real servers leave behind, in the ways they leave it.
//!
//! A lingering process is this program again, so its arguments carry the marker. It is told to
//! ignore signals by a shell (`trap ''` survives `exec`), which needs no unsafe code here.

use std::process::{Command, Stdio};

use serde_json::Value;

/// Starts one descendant and returns when it exists (a double-forked one: when its parent is gone).
#[expect(clippy::zombie_processes, reason = "a descendant that stays is never waited for")]
pub(super) fn start(script: &Value, what: &Value) {
    let exe = std::env::current_exe().expect("a running program has a path");
    let mut command = if what["ignore_term"] == true {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", r#"trap '' TERM HUP INT; exec "$0" "$@""#]).arg(exe);
        shell
    } else {
        Command::new(exe)
    };
    command.args(["--linger", script["ledger"].as_str().unwrap_or("linger")]);
    for option in ["setsid", "double_fork"] {
        if what[option] == true {
            command.arg(format!("--{option}"));
        }
    }
    command.stdin(Stdio::null()).stderr(Stdio::null());
    if what["keep_stdout"] != true {
        command.stdout(Stdio::null());
    }
    let mut child = command.spawn().expect("a descendant can be started");
    if what["double_fork"] == true {
        drop(child.wait());
    }
}

/// The descendant itself.
pub(super) fn main(args: &[&str]) {
    if args.contains(&"--double_fork") {
        let again = args[1..].iter().filter(|arg| **arg != "--double_fork");
        let mut command = Command::new(args[0]);
        drop(command.args(again).spawn().expect("a descendant can be started"));
        return;
    }
    if args.contains(&"--setsid") {
        rustix::process::setsid().expect("a started process leads no group");
    }
    loop {
        std::thread::park();
    }
}
