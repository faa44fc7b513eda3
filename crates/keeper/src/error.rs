//! Why a server could not be started, and what to do about it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::launch::Launch;
use crate::message::LaunchStep;

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("command `{}` was not found; is it installed and on PATH?", command.display())]
    CommandNotFound { command: OsString },
    #[error("command `{}` may not be executed; is it a program, and is its x permission set?", command.display())]
    NotExecutable { command: OsString },
    #[error(
        "command `{}` is not a program for this machine; a script needs a first line such as `#!/bin/sh`",
        command.display()
    )]
    BadFormat { command: OsString },
    #[error(
        "command `{}` exists, but the interpreter that it asks for does not; what does its first line say?",
        command.display()
    )]
    InterpreterMissing { command: OsString },
    #[error("working directory `{}` does not exist; create it or correct `cwd`", cwd.display())]
    CwdMissing { cwd: PathBuf },
    #[error("working directory `{}` cannot be entered", cwd.display())]
    CwdRefused { cwd: PathBuf, source: io::Error },
    #[error("command, arguments or environment contain a NUL byte, which no program can be given")]
    NulByte,
    #[error("arguments and environment are too large together")]
    TooLarge,
    #[error("command `{}` did not start within {} s", command.display(), seconds)]
    TimedOut { command: OsString, seconds: u64 },
    #[error("command `{}` was lost: the process that watched it was killed", command.display())]
    Lost { command: OsString },
    /// This machine lacks processes, descriptors or memory.
    #[error("command `{}` could not be started", command.display())]
    System { command: OsString, source: io::Error },
    #[error("the helper process that starts servers is not available")]
    KeeperUnavailable { source: io::Error },
}

impl LaunchError {
    /// Whether the same launch may succeed later without anybody changing anything.
    pub fn may_retry(&self) -> bool {
        match self {
            LaunchError::TimedOut { .. }
            | LaunchError::Lost { .. }
            | LaunchError::System { .. }
            | LaunchError::KeeperUnavailable { .. } => true,
            LaunchError::CommandNotFound { .. }
            | LaunchError::NotExecutable { .. }
            | LaunchError::BadFormat { .. }
            | LaunchError::InterpreterMissing { .. }
            | LaunchError::CwdMissing { .. }
            | LaunchError::CwdRefused { .. }
            | LaunchError::NulByte
            | LaunchError::TooLarge => false,
        }
    }

    /// What the keeper saw, in terms of the launch that was asked for.
    pub(crate) fn told_by_keeper(launch: &Launch, step: LaunchStep, errno: i32) -> LaunchError {
        let command = launch.command.clone();
        let cwd = launch.cwd.clone().unwrap_or_default();
        let source = io::Error::from_raw_os_error(errno);
        match (step, Errno::from_raw_os_error(errno)) {
            (LaunchStep::EnterDirectory, Errno::NOENT) => LaunchError::CwdMissing { cwd },
            (LaunchStep::EnterDirectory, _) => LaunchError::CwdRefused { cwd, source },
            (LaunchStep::FindCommand, Errno::NOENT | Errno::NOTDIR) => {
                LaunchError::CommandNotFound { command }
            }
            (LaunchStep::FindCommand | LaunchStep::Execute, Errno::ACCESS | Errno::PERM) => {
                LaunchError::NotExecutable { command }
            }
            (LaunchStep::Execute, Errno::NOENT) => LaunchError::InterpreterMissing { command },
            (LaunchStep::Execute, Errno::NOEXEC) => LaunchError::BadFormat { command },
            (LaunchStep::Execute, Errno::TOOBIG) => LaunchError::TooLarge,
            (
                LaunchStep::Watch
                | LaunchStep::Receive
                | LaunchStep::FindCommand
                | LaunchStep::Execute,
                _,
            ) => LaunchError::System { command, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LaunchError;
    use crate::launch::Launch;
    use crate::message::LaunchStep;

    #[test]
    fn the_same_errno_is_explained_by_where_it_happened() {
        let launch =
            Launch { command: "npxx".into(), cwd: Some("/nowhere".into()), ..Launch::default() };
        let cases = [
            (LaunchStep::FindCommand, libc::ENOENT, "`npxx` was not found; is it installed", false),
            (LaunchStep::FindCommand, libc::EACCES, "`npxx` may not be executed", false),
            (LaunchStep::Execute, libc::ENOENT, "the interpreter that it asks for does not", false),
            (LaunchStep::Execute, libc::ENOEXEC, "not a program for this machine", false),
            (LaunchStep::EnterDirectory, libc::ENOENT, "`/nowhere` does not exist", false),
            (LaunchStep::EnterDirectory, libc::EACCES, "`/nowhere` cannot be entered", false),
            (LaunchStep::Execute, libc::E2BIG, "too large together", false),
            (LaunchStep::Watch, libc::EAGAIN, "`npxx` could not be started", true),
        ];
        for (step, errno, words, may_retry) in cases {
            let error = LaunchError::told_by_keeper(&launch, step, errno);
            assert!(error.to_string().contains(words), "{step:?}: {error}");
            assert_eq!(error.may_retry(), may_retry, "{error}");
        }
    }
}
