//! The shared runtime: the gateway of `serve`, reached over a Unix socket by the fronts of one user.

mod attendance;
mod listener;
mod report;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use crate::environment::Environment;
use crate::shared::directory::{RuntimeDirectory, draining_id};
use crate::shared::identity::{RuntimeIdentity, digests};
pub(crate) use attendance::Attendance;
pub(crate) use listener::{ProgramFile, Reception};

/// What a runtime writes to its standard output once it listens,
pub(crate) const READY: &[u8] = b"ready";
/// or when another one owns its socket.
pub(crate) const TAKEN: &[u8] = b"taken";

/// What belongs to one runtime while it can be found.
#[derive(Debug)]
pub(crate) struct OwnSocket {
    directory: RuntimeDirectory,
    id: String,
    listener: UnixListener,
    /// The socket's file.
    file: Option<(u64, u64)>,
    /// Two runtimes never own one socket.
    _lock: File,
}

impl OwnSocket {
    /// Makes this process the runtime of this id. `None`: another runtime owns its socket.
    pub(crate) fn open(id: &str, environment: &Environment) -> Result<Option<Self>, String> {
        // Not the leader's to do where it was started by hand; nothing depends on it, nor on the name.
        let _ = rustix::process::setsid();
        // What `ps` and `top` show: a front starts it by another path.
        let _ = rustix::thread::set_name(c"trunkline");
        // Sockets and files of a runtime are for this user alone.
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
        let directory = RuntimeDirectory::open(environment)?;
        let told = |error: io::Error| format!("{}: {error}", directory.path().display());
        let Some(lock) = directory.lock(id).map_err(told)? else { return Ok(None) };
        let path = directory.socket(id);
        match std::fs::remove_file(&path) {
            // Left by a runtime that was killed: its lock is ours now.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(told(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(told)?;
        listener.set_nonblocking(true).map_err(told)?;
        let file = file_at(&path);
        Ok(Some(Self { directory, id: id.to_owned(), listener, file, _lock: lock }))
    }

    /// A keyed hash of each variable of this process.
    pub(crate) fn digests(
        &self,
        environment: &Environment,
    ) -> io::Result<BTreeMap<String, String>> {
        Ok(digests(environment, &self.directory.key()?))
    }

    /// What tells it from other runtimes.
    pub(crate) fn inputs(
        &self,
        identity: &RuntimeIdentity<'_>,
    ) -> io::Result<BTreeMap<String, String>> {
        Ok(identity.inputs(&self.directory.key()?))
    }

    /// Where its log is.
    pub(crate) fn logs(&self) -> PathBuf {
        self.directory.file(&self.id, "logs")
    }

    /// From now on the next runtime can be started, while this one still ends. Commands find it by another name.
    fn retire(self) -> RetiredSocket {
        let Self { directory, id, listener: _, file, _lock } = self;
        let (path, retired) = (directory.socket(&id), draining_id(&id, std::process::id()));
        // Files below /tmp are tidied away, and another runtime may have made its own since.
        if file_at(&path) == file && std::fs::rename(&path, directory.socket(&retired)).is_err() {
            drop(std::fs::remove_file(&path));
        }
        RetiredSocket { directory, id: retired }
    }
}

/// The socket of a runtime that ends, for commands; clients do not look for it. Its file goes with it.
#[derive(Debug)]
struct RetiredSocket {
    directory: RuntimeDirectory,
    id: String,
}

impl Drop for RetiredSocket {
    fn drop(&mut self) {
        // Not there: it could not be renamed.
        drop(std::fs::remove_file(self.directory.socket(&self.id)));
    }
}

/// Removes the log of a runtime that has ended, unless the next one writes there already.
pub(crate) fn forget_logs(id: &str, environment: &Environment) {
    let Ok(Some(directory)) = RuntimeDirectory::existing(environment) else { return };
    // Held meanwhile: a runtime that starts just now finds it taken, and its front tries again.
    if let Ok(Some(_lock)) = directory.lock(id) {
        drop(std::fs::remove_dir_all(directory.file(id, "logs")));
    }
}

/// Which file is at this path.
fn file_at(path: &Path) -> Option<(u64, u64)> {
    let about = std::fs::symlink_metadata(path).ok()?;
    Some((about.dev(), about.ino()))
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
