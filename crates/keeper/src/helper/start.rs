//! Starts a server: its directory and its command are found, then the command is executed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Mode, accessat, open};
use rustix::io::Errno;
use rustix::process::Pid;

use super::execute::SpawnError;
use super::{execute, search};
use crate::launch::Launch;
use crate::message::LaunchStep;
use crate::sandbox::{Listener, PrivateDir, Walls};
use crate::{limits, system};

/// What failed, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) step: LaunchStep,
    pub(super) errno: i32,
}

/// A server that runs, and what goes with its walls.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) server: Pid,
    pub(super) walled: Option<Walled>,
}

/// What a walled-in server leaves to its keeper.
#[derive(Debug)]
pub(super) struct Walled {
    /// Where it asks; `None`: this kernel lets nobody ask.
    pub(super) listener: Option<Listener>,
    pub(super) private: PrivateDir,
}

/// Calls `starting` when the command was found, just before it is executed. `number` is one that no
/// other tree of this keeper has.
pub(super) fn start(
    mut launch: Launch,
    stdio: &[OwnedFd; 3],
    number: u64,
    starting: impl FnOnce(),
) -> Result<Running, Failure> {
    let wall_fails = |error| Failure::at(LaunchStep::Wall, &error);
    if launch.sandbox.is_none() {
        let (server, _) = execute(&launch, stdio, None, starting)?;
        return Ok(Running { server, walled: None });
    }
    let private = PrivateDir::create(&temporary(&launch), number).map_err(wall_fails)?;
    let started = prepare(&mut launch, &private)
        .map_err(wall_fails)
        .and_then(|walls| execute(&launch, stdio, walls, starting));
    match started {
        Ok((server, listener)) => {
            Ok(Running { server, walled: Some(Walled { listener, private }) })
        }
        Err(failure) => {
            // Nothing has run: it is as empty as it was made.
            private.removal().go_on(limits::REMOVED_AT_ONCE);
            Err(failure)
        }
    }
}

fn execute(
    launch: &Launch,
    stdio: &[OwnedFd; 3],
    walls: Option<Walls>,
    starting: impl FnOnce(),
) -> Result<(Pid, Option<Listener>), Failure> {
    // The keeper itself goes nowhere: the next server may want to start where Trunkline was started.
    let cwd = launch.cwd.as_deref().map(directory).transpose();
    let cwd = cwd.map_err(|errno| Failure::at(LaunchStep::EnterDirectory, &errno.into()))?;
    let program = search::find(cwd.as_ref().map_or(CWD, AsFd::as_fd), &launch.command, &launch.env)
        .map_err(|errno| Failure::at(LaunchStep::FindCommand, &errno.into()))?;
    starting();
    match execute::spawn(&program, launch, cwd.as_ref(), stdio, walls.as_ref()) {
        Ok(server) => Ok((server, walls.and_then(Walls::listener))),
        Err(SpawnError::Walls(error)) => Err(Failure::at(LaunchStep::Wall, &error)),
        Err(SpawnError::Program(error)) => Err(Failure::at(LaunchStep::Execute, &error)),
    }
}

/// Makes the walls, and lets the launch use what is behind them.
fn prepare(launch: &mut Launch, private: &PrivateDir) -> io::Result<Option<Walls>> {
    let Some(sandbox) = &launch.sandbox else { return Ok(None) };
    let walls = Walls::prepare(sandbox, private.path())?;
    let has_private_home = sandbox.private_home;
    let home = has_private_home.then_some("HOME");
    for name in ["TMPDIR", "TMP", "TEMP"].into_iter().chain(home) {
        // Of two values for one name the last counts.
        launch.env.push((name.into(), private.path().into()));
    }
    if has_private_home {
        launch.cwd.get_or_insert_with(|| private.path().to_path_buf());
    }
    Ok(Some(walls))
}

/// Where this server's temporary files would go without a sandbox.
fn temporary(launch: &Launch) -> PathBuf {
    let named = launch.env.iter().rfind(|(name, _)| name == "TMPDIR");
    named.map_or_else(|| PathBuf::from("/tmp"), |(_, path)| PathBuf::from(path))
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
