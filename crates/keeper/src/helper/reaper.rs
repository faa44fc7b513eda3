//! The shim's second thread: waits for every child, its own and adopted, until there is none.

use std::io::{PipeWriter, Write};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

use crate::exit::Exit;
use crate::message::Report;

/// Tells the owner when the server ends, and the shim's first thread through `news`: a byte means
/// that the server has ended and others are left, the end of the pipe that nobody is.
///
/// A shim adopts all orphans below it, so when it has no children it has no descendants.
pub(super) fn run(server: Pid, mut control: &UnixStream, mut news: PipeWriter) {
    let mut options = WaitOptions::empty();
    loop {
        match wait(options) {
            Ok(Some((pid, status))) if pid == server => {
                // If the owner is dead, the first thread learns it from the same socket.
                let _ = control.write_all(&Report::Exited(exit(status)).pack());
                // Most servers leave nobody behind: look before calling for the killing.
                options = WaitOptions::NOHANG;
            }
            Ok(None) => {
                let _ = news.write_all(&[0]);
                options = WaitOptions::empty();
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn exit(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Lost,
    }
}
