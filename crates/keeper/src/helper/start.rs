//! Starts the server from within its shim: the parcel is read, the command is found and executed.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Pid, getpid};

use super::search;
use crate::launch::{LENGTH_BYTES, Launch};
use crate::message::{Report, Step};
use crate::{descriptors, limits};

/// What failed, and why.
pub(super) struct Failure {
    pub(super) step: Step,
    pub(super) errno: i32,
}

/// Starts what the owner sends, with the three descriptors that come with it.
pub(super) fn start(mut control: &UnixStream) -> Result<Pid, Failure> {
    let (launch, stdio) = receive(control).map_err(at(Step::Receive))?;
    if let Some(cwd) = &launch.cwd {
        std::env::set_current_dir(cwd).map_err(at(Step::EnterDirectory))?;
    }
    let program = search::find(&launch.command, &launch.env);
    let program = program.map_err(|errno| at(Step::FindCommand)(errno.into()))?;
    let [stdin, stdout, stderr] = stdio.map(Stdio::from);
    let mut command = Command::new(program);
    command
        .arg0(&launch.command)
        .args(&launch.args)
        .env_clear()
        .envs(launch.env)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        // Ctrl-C in the client's terminal is for the client, which then tells us.
        .process_group(0);
    // If the owner is dead, the shim notices when the server runs.
    let _ = control.write_all(&Report::Starting { shim: getpid() }.pack());
    let server = spawn(&mut command).map_err(at(Step::Execute))?;
    // A shim should not keep a file system from being unmounted; no reason to fail, though.
    let _ = std::env::set_current_dir("/");
    Ok(server)
}

#[expect(clippy::disallowed_methods, reason = "this is the place where processes are started")]
fn spawn(command: &mut Command) -> io::Result<Pid> {
    // The handle may be dropped: the reaper waits for all children.
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("a process number that is none"))
}

fn receive(mut control: &UnixStream) -> io::Result<(Launch, [OwnedFd; 3])> {
    let mut length = [0; LENGTH_BYTES];
    let (mut filled, stdio) = descriptors::receive(control, &mut length)?;
    while let Some(rest) = length.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        control.read_exact(rest)?;
        filled = LENGTH_BYTES;
    }
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
    if length > limits::PARCEL_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    control.read_exact(&mut body)?;
    let launch = Launch::unpack(&body).ok_or(io::ErrorKind::InvalidData)?;
    Ok((launch, stdio.try_into().map_err(|_| io::ErrorKind::InvalidData)?))
}

fn at(step: Step) -> impl Fn(io::Error) -> Failure {
    move |error| Failure { step, errno: error.raw_os_error().unwrap_or(libc::EINVAL) }
}
