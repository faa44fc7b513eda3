//! Starts a server: its directory and its command are found, then the command is executed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, Mode, accessat, open};
use rustix::io::Errno;
use rustix::process::Pid;

use super::{execute, search};
use crate::launch::Launch;
use crate::message::LaunchStep;
use crate::system;

/// What failed, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) step: LaunchStep,
    pub(super) errno: i32,
}

/// Calls `starting` when the command was found, just before it is executed.
pub(super) fn start(
    launch: &Launch,
    stdio: &[OwnedFd; 3],
    starting: impl FnOnce(),
) -> Result<Pid, Failure> {
    // The keeper itself goes nowhere: the next server may want to start where Trunkline was started.
    let cwd = launch.cwd.as_deref().map(directory).transpose();
    let cwd = cwd.map_err(|errno| Failure::at(LaunchStep::EnterDirectory, &errno.into()))?;
    let program = search::find(cwd.as_ref().map_or(CWD, AsFd::as_fd), &launch.command, &launch.env)
        .map_err(|errno| Failure::at(LaunchStep::FindCommand, &errno.into()))?;
    starting();
    execute::spawn(&program, launch, cwd.as_ref(), stdio)
        .map_err(|error| Failure::at(LaunchStep::Execute, &error))
}

fn directory(path: &Path) -> Result<OwnedFd, Errno> {
    let directory = open(path, system::DIRECTORY, Mode::empty())?;
    // Opening needs r, entering needs x: `fchdir` in the child would fail without saying which
    // directory.
    accessat(&directory, ".", Access::EXEC_OK, AtFlags::empty())?;
    Ok(directory)
}

impl Failure {
    pub(super) fn at(step: LaunchStep, error: &io::Error) -> Failure {
        // An error without a number is one of our own making, such as a NUL byte.
        Failure { step, errno: error.raw_os_error().unwrap_or(libc::EINVAL) }
    }
}
