//! Why a server could not be started, and what to do about it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

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
    #[error(
        "command `{}` is to run in a sandbox that this kernel cannot hold (Landlock 3, seccomp notices: Linux 6.2 or later); `trunkline doctor` says what is missing",
        command.display()
    )]
    SandboxUnavailable { command: OsString },
    #[error("the sandbox of `{}` could not be made", command.display())]
    Sandbox { command: OsString, source: io::Error },
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
            | LaunchError::Sandbox { .. }
            | LaunchError::System { .. }
            | LaunchError::KeeperUnavailable { .. } => true,
            LaunchError::CommandNotFound { .. }
            | LaunchError::NotExecutable { .. }
            | LaunchError::BadFormat { .. }
            | LaunchError::InterpreterMissing { .. }
            | LaunchError::CwdMissing { .. }
            | LaunchError::CwdRefused { .. }
            | LaunchError::SandboxUnavailable { .. }
            | LaunchError::NulByte
            | LaunchError::TooLarge => false,
        }
    }
}
