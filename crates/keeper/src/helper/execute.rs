//! From fork to exec: what a child of the keeper does before it is the server. The one unsafe place
//! of the program.
#![expect(unsafe_code, reason = "between fork and exec there is no safe interface; see SAFETY")]

use std::collections::BTreeMap;
use std::ffi::{CString, NulError, OsStr, c_char};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::ptr;

use rustix::process::{Pid, fchdir, setpgid};

use crate::launch::Launch;
use crate::system;

/// Returns when the program is executed, or with the reason why it could not be.
#[expect(clippy::disallowed_methods, reason = "this is the place where processes are started")]
pub(super) fn spawn(
    program: &Path,
    launch: &Launch,
    cwd: Option<OwnedFd>,
    stdio: [OwnedFd; 3],
) -> io::Result<Pid> {
    let image = Image::new(program, launch)?;
    let become_server = move || {
        // A group of its own: Ctrl-C in the client's terminal is for the client, which then tells
        // us. Not a session of its own: where the scheduler groups processes by session (autogroup,
        // the default of most kernels), each server would be a group, which costs a call a quarter
        // more processor time and a third of the throughput.
        setpgid(None, None)?;
        // So the client's terminal, if it has one, can be reached. Ignoring these makes a server that
        // asks it for a password fail at once, instead of being stopped for it.
        ignore(libc::SIGTTIN);
        ignore(libc::SIGTTOU);
        // Survives exec: the server adopts what is orphaned below it.
        system::adopt_orphans()?;
        if let Some(cwd) = &cwd {
            fchdir(cwd)?;
        }
        Err(image.execute())
    };
    let [stdin, stdout, stderr] = stdio.map(Stdio::from);
    let mut command = Command::new(program);
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    // SAFETY: the closure runs in the forked child and makes system calls only; it allocates
    // nothing and takes no lock.
    unsafe { command.pre_exec(become_server) };
    // The handle may be dropped: the keeper waits for all of its children.
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("a process number that is none"))
}

/// Makes this process, and what it executes, ignore a signal.
fn ignore(signal: libc::c_int) {
    // SAFETY: a system call that takes two numbers; SIG_IGN installs no code to run.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// A program with its arguments and its environment, as the kernel wants them: made before the
/// fork, because afterwards nothing may be allocated.
///
/// std would build the same but execute it through `execvp`, which hands a file that is no program
/// for this machine to `sh`. That is to be an error.
struct Image {
    program: CString,
    arguments: Strings,
    environment: Strings,
}

impl Image {
    fn new(program: &Path, launch: &Launch) -> Result<Image, NulError> {
        let arguments = [&launch.command].into_iter().chain(&launch.args);
        // Of two values for one name the last counts.
        let environment: BTreeMap<&OsStr, &OsStr> =
            launch.env.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
        let environment = environment.into_iter();
        Ok(Image {
            program: CString::new(program.as_os_str().as_bytes())?,
            arguments: Strings::new(arguments.map(|argument| argument.as_bytes().to_vec()))?,
            environment: Strings::new(
                environment.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat()),
            )?,
        })
    }

    /// Returns only if it fails.
    fn execute(&self) -> io::Error {
        let (arguments, environment) = (&self.arguments.pointers, &self.environment.pointers);
        // SAFETY: all three point to what `self` owns: a string that ends with NUL, and two lists of
        // such strings that end with a null pointer.
        unsafe {
            libc::execve(self.program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
        }
        io::Error::last_os_error()
    }
}

/// A list of strings that ends with a null pointer.
struct Strings {
    pointers: Vec<*const c_char>,
    /// What they point to. Moving a `CString` does not move its bytes.
    _owned: Vec<CString>,
}

impl Strings {
    fn new(strings: impl Iterator<Item = Vec<u8>>) -> Result<Strings, NulError> {
        let owned = strings.map(CString::new).collect::<Result<Vec<_>, _>>()?;
        let pointers = owned.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Ok(Strings { pointers, _owned: owned })
    }
}

// SAFETY: the pointers are read only, and what they point to is owned by the same value.
unsafe impl Send for Strings {}
// SAFETY: as above; there is no interior mutability.
unsafe impl Sync for Strings {}
