//! `OwnSocket`: the socket by which a runtime is found, and what becomes of it when its files are removed.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Mode;
use tokio::time::sleep;
use trunkline_gateway::shortened;

use crate::environment::Environment;
use crate::shared::directory::{HeldLock, RuntimeDirectory, draining_id, is_draining_id, own_id};
use crate::shared::identity::{RuntimeIdentity, digests};

/// How often a runtime looks whether it can still be found: files below `/tmp` are tidied away, and a session's
/// directory is removed at logout. A new client that comes in between starts another runtime.
const LOOK: Duration = Duration::from_secs(5);

/// What belongs to one runtime while it can be found.
#[derive(Debug)]
pub(crate) struct OwnSocket {
    directory: RuntimeDirectory,
    /// What it is found by: as a runtime, or as one that ends.
    id: String,
    /// What its id was made with.
    key: [u8; 32],
    listener: UnixListener,
    /// The socket's file.
    file: Option<(u64, u64)>,
    /// Two runtimes never own one socket. `None`: another one has its place.
    lock: Option<HeldLock>,
}

/// What came of looking for another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewPlace {
    /// Clients find it again.
    Same,
    /// Another runtime has its place: it is there for those that it has, and for commands.
    Taken,
    /// There can be no socket now.
    Nowhere,
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
        let key = directory.key().map_err(told)?;
        lock.keep_key(&key).map_err(told)?;
        // A socket that is there was left by a runtime that was killed: its lock is ours now.
        let (listener, file) = bound(&directory, id).map_err(told)?;
        let id = id.to_owned();
        Ok(Some(Self { directory, id, key, listener, file, lock: Some(lock) }))
    }

    /// A keyed hash of each variable of this process.
    pub(crate) fn digests(&self, environment: &Environment) -> BTreeMap<String, String> {
        digests(environment, &self.key)
    }

    /// What tells it from other runtimes.
    pub(crate) fn inputs(&self, identity: &RuntimeIdentity<'_>) -> BTreeMap<String, String> {
        identity.inputs(&self.key)
    }

    /// Where its log is.
    pub(crate) fn logs(&self) -> PathBuf {
        self.directory.file(&self.id, "logs")
    }

    /// Another descriptor of what it listens on now.
    pub(super) fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        tokio::net::UnixListener::from_std(self.listener.try_clone()?)
    }

    /// Does another runtime have its place?
    pub(super) fn is_displaced(&self) -> bool {
        self.lock.is_none()
    }

    /// Resolves when clients do not find it any more: its file is not there, or the key is another one. A key that was
    /// removed is put back.
    pub(super) async fn lost(&self) {
        loop {
            sleep(shortened(LOOK)).await;
            if !self.is_displaced() && !self.has_own_key() {
                return;
            }
            // By its full path: the directory that is held open may be another one than that at its place.
            if self.file.is_none() || file_at(&self.directory.file(&self.id, "sock")) != self.file {
                return;
            }
        }
    }

    /// Is it found by its key? An error of the disk: nobody can tell, and fronts say what is wrong with it.
    fn has_own_key(&self) -> bool {
        let there = self.directory.key_or(&self.key);
        there.is_err() || there.is_ok_and(|key| key == self.key)
    }

    /// Its file was removed, perhaps with all others: it takes its place again, unless another runtime has it.
    pub(super) fn take_place(&mut self) -> NewPlace {
        match self.try_to_take_place() {
            Ok(place) => place,
            Err(why) => {
                tracing::debug!("the runtime cannot be found: {why}");
                self.file = None;
                NewPlace::Nowhere
            }
        }
    }

    fn try_to_take_place(&mut self) -> Result<NewPlace, String> {
        let directory = self.directory.reopened()?;
        let told = |error: io::Error| format!("{}: {error}", directory.path().display());
        let has_own_key = directory.key_or(&self.key).map_err(told)? == self.key;
        let is_held = self.lock.as_ref().is_some_and(HeldLock::keeps_others_out);
        let lock = match self.is_displaced() {
            // With another key, clients of this runtime look for another id.
            _ if !has_own_key => None,
            true => None,
            false if is_held => self.lock.take(),
            // What is held keeps nobody out any more.
            false => directory.lock(&self.id).map_err(told)?,
        };
        lock.iter().try_for_each(|lock| lock.keep_key(&self.key)).map_err(told)?;
        let (place, id) = match (&lock, self.is_retired()) {
            (Some(_), _) => (NewPlace::Same, self.id.clone()),
            (None, true) => (NewPlace::Taken, self.id.clone()),
            (None, false) => (NewPlace::Taken, draining_id(&self.id, std::process::id())),
        };
        // Its own, where only the key is another one: nobody listens there from now on.
        let path = self.directory.socket(&self.id);
        if id != self.id && self.file.is_some() && file_at(&path) == self.file {
            drop(std::fs::remove_file(&path));
        }
        // Noted first: if there is no socket now, the next look is for the same place.
        (self.lock, self.id) = (lock, id);
        let (listener, file) = bound(&directory, &self.id).map_err(told)?;
        (self.directory, self.listener, self.file) = (directory, listener, file);
        Ok(place)
    }

    fn is_retired(&self) -> bool {
        is_draining_id(&self.id)
    }

    /// From now on the next runtime can be started, while this one still ends. Commands find it by another name.
    pub(super) fn retire(self) -> RetiredSocket {
        if self.is_retired() {
            return RetiredSocket { directory: self.directory, id: self.id };
        }
        let Self { directory, id, listener: _, file, .. } = self;
        let (path, retired) = (directory.socket(&id), draining_id(&id, std::process::id()));
        // Files below /tmp are tidied away, and another runtime may have made its own since.
        if file_at(&path) == file && std::fs::rename(&path, directory.socket(&retired)).is_err() {
            drop(std::fs::remove_file(&path));
        }
        RetiredSocket { directory, id: retired }
    }
}

/// Listens under this id, which is this process's own; what another one has left there goes.
fn bound(directory: &RuntimeDirectory, id: &str) -> io::Result<(UnixListener, Option<(u64, u64)>)> {
    let path = directory.socket(id);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    listener.set_nonblocking(true)?;
    Ok((listener, file_at(&path)))
}

/// The socket of a runtime that ends, for commands; clients do not look for it. Its file goes with it.
#[derive(Debug)]
pub(super) struct RetiredSocket {
    directory: RuntimeDirectory,
    id: String,
}

impl Drop for RetiredSocket {
    fn drop(&mut self) {
        // Not there: it could not be renamed.
        drop(std::fs::remove_file(self.directory.socket(&self.id)));
        self.directory.forget_attached(own_id(&self.id));
    }
}

/// Which file is at this path.
fn file_at(path: &Path) -> Option<(u64, u64)> {
    let about = std::fs::symlink_metadata(path).ok()?;
    Some((about.dev(), about.ino()))
}
