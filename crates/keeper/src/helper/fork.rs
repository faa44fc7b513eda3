//! The one unsafe call of the program: fork without exec.
#![expect(unsafe_code, reason = "no safe interface to fork exists; see the SAFETY comment")]

use std::io;

use rustix::process::Pid;

use crate::system;

pub(super) enum Fork {
    Parent(Pid),
    Child,
}

pub(super) fn fork() -> io::Result<Fork> {
    if system::thread_count()? != 1 {
        return Err(io::Error::other("this process has threads and cannot be forked"));
    }
    // SAFETY: a forked child may do anything that its parent could, if the parent has one thread:
    // then no lock can be held by a thread that does not exist in the child. That was just checked,
    // and this thread is the only one that could have started another since.
    let pid = unsafe { libc::fork() };
    match Pid::from_raw(pid) {
        None => Ok(Fork::Child),
        Some(_) if pid < 0 => Err(io::Error::last_os_error()),
        Some(child) => Ok(Fork::Parent(child)),
    }
}
