//! How a runtime becomes nobody's child: clients and people that end all processes below one end a front, and not the
//! runtime that others share.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Pid;

use super::runtime::{READY, TAKEN};
use crate::{FAILED, console};

/// This program as it runs: its file may be replaced at any moment, and the runtime of a front is of the same build.
pub(crate) const OWN_PROGRAM: &str = "/proc/self/exe";

/// The first word of a process that starts a runtime and ends.
const LAUNCH: &str = "launch-runtime";

/// The command that starts a runtime with these arguments.
pub(super) fn launcher(arguments: &[OsString]) -> Command {
    let mut command = Command::new(OWN_PROGRAM);
    command.arg0(shown_name()).arg(LAUNCH).args(arguments);
    command
}

/// If this process is to start a runtime, it does, and says which process that is. Its parent is then whoever takes
/// orphans here.
pub(crate) fn launch_if_asked() -> Option<u8> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == LAUNCH).then(|| match launch(words) {
        Ok(pid) => console::out(&format!("{pid}\n")),
        Err(error) => console::problem(&format!("error: it cannot be started: {error}\n"), FAILED),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a runtime is no server: it outlives this process, which has no keeper"
)]
fn launch(arguments: impl Iterator<Item = OsString>) -> io::Result<u32> {
    let mut command = Command::new(OWN_PROGRAM);
    Ok(command.arg0(shown_name()).arg("runtime").args(arguments).spawn()?.id())
}

/// What the runtime's command line begins with, for people who list processes.
pub(super) fn shown_name() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("trunkline"))
}

/// What a runtime that was started has said, and its launcher: one of them first.
#[derive(Debug, Default)]
pub(super) struct LaunchReport {
    said: Vec<u8>,
}

impl LaunchReport {
    pub(super) fn add(&mut self, piece: &[u8]) {
        self.said.extend_from_slice(piece);
    }

    pub(super) fn is_ready(&self) -> bool {
        self.said.trim_ascii_end().ends_with(READY) || self.said.starts_with(READY)
    }

    pub(super) fn is_taken(&self) -> bool {
        self.said.trim_ascii_end().ends_with(TAKEN) || self.said.starts_with(TAKEN)
    }

    /// The process that was started.
    pub(super) fn pid(&self) -> Option<Pid> {
        let digits = self.said.iter().filter(|byte| byte.is_ascii_digit());
        let digits: String = digits.map(|byte| char::from(*byte)).collect();
        Pid::from_raw(digits.parse().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_of_the_two_may_speak_first() {
        for (said, is_ready, is_taken, pid) in [
            (&["71\n", "ready"][..], true, false, Some(71)),
            (&["ready", "71\n"], true, false, Some(71)),
            (&["71\n", "taken"], false, true, Some(71)),
            (&["taken", "7", "1\n"], false, true, Some(71)),
            (&["71\n"], false, false, Some(71)),
            (&[], false, false, None),
        ] {
            let mut report = LaunchReport::default();
            said.iter().for_each(|piece| report.add(piece.as_bytes()));
            assert_eq!((report.is_ready(), report.is_taken()), (is_ready, is_taken), "{said:?}");
            assert_eq!(report.pid(), pid.and_then(Pid::from_raw), "{said:?}");
        }
    }
}
