//! The shared runtime: the gateway of `serve`, reached over a Unix socket by the fronts of one user.

mod attendance;
mod listener;
mod notice_board;
mod report;
mod socket;

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::environment::Environment;
use crate::shared::directory::RuntimeDirectory;
pub(crate) use attendance::Attendance;
pub(crate) use listener::{NextConfig, ProgramFile, Reception};
pub(crate) use notice_board::NoticeBoard;
pub(crate) use socket::OwnSocket;

/// What a runtime writes to its standard output once it listens,
pub(crate) const READY: &[u8] = b"ready";
/// or when another one owns its socket.
pub(crate) const TAKEN: &[u8] = b"taken";

/// Removes the log of a runtime that has ended, unless the next one writes there already.
pub(crate) fn forget_logs(id: &str, environment: &Environment) {
    let Ok(Some(directory)) = RuntimeDirectory::existing(environment) else { return };
    // Held meanwhile: a runtime that starts just now finds it taken, and its front tries again.
    if let Ok(Some(_lock)) = directory.lock(id) {
        drop(std::fs::remove_dir_all(directory.file(id, "logs")));
    }
}

/// Tells the front that started us that we listen, and lets go of its streams.
pub(crate) fn detach(logs: &Path) -> io::Result<()> {
    // A front that has gone does not matter: others may come.
    drop(io::stdout().write_all(READY).and_then(|()| io::stdout().flush()));
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    // What is not logged, a panic above all, would be lost otherwise. A full disk must not matter.
    let stderr = logs.join("stderr");
    let kept = OpenOptions::new().create(true).append(true).mode(0o600).open(stderr);
    rustix::stdio::dup2_stderr(kept.as_ref().unwrap_or(&nowhere))?;
    Ok(())
}
