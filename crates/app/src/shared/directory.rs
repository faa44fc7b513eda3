//! `RuntimeDirectory`: where the sockets of this user's runtimes are. Nobody else can enter it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::geteuid;

use crate::environment::{Environment, runtime_place};

/// What the kernel takes as the path of a socket, with its final zero.
const SOCKET_PATH: usize = 108;
/// What the lock of a front that starts a runtime is called, behind the name of the runtime.
const STARTING: &str = "-start";
/// What the lock of fronts that start a lost runtime again is called, behind the name of the runtime.
const ATTACHED: &str = "-attached";
/// A lock that commands look at is taken after a few.
const ATTEMPTS: u32 = 100;
/// Bytes of the key.
const KEY: usize = 32;

#[derive(Debug)]
pub(crate) struct RuntimeDirectory {
    path: PathBuf,
    /// Held open: a socket whose path is too long is reached through it.
    opened: OwnedFd,
}

impl RuntimeDirectory {
    /// Makes the directory if it is not there. The error says what is wrong, and where.
    pub(crate) fn open(environment: &Environment) -> Result<Self, String> {
        Self::at(runtime_place(environment))
    }

    fn at(path: PathBuf) -> Result<Self, String> {
        no_link(&path)?;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
        Self::entered(path)
    }

    /// The directory that is at this place now, if it is not the same any more. It is made again if need be.
    pub(crate) fn reopened(&self) -> Result<Self, String> {
        Self::at(self.path.clone())
    }

    /// `None`: there has been no runtime.
    pub(crate) fn existing(environment: &Environment) -> Result<Option<Self>, String> {
        let path = runtime_place(environment);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => no_link(&path).and_then(|()| Self::entered(path)).map(Some),
        }
    }

    fn entered(path: PathBuf) -> Result<Self, String> {
        let shown = path.display();
        // NOFOLLOW: a link may have been put there since it was looked for.
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&path, flags, Mode::empty())
            .map_err(|error| format!("{shown} cannot be opened: {error}"))?;
        let about = rustix::fs::fstat(&opened)
            .map_err(|error| format!("{shown} cannot be looked at: {error}"))?;
        if about.st_uid != geteuid().as_raw() {
            return Err(format!("{shown} belongs to another user (uid {})", about.st_uid));
        }
        let mode = about.st_mode & 0o777;
        if mode & 0o077 != 0 {
            return Err(format!("{shown} is open to others (mode {mode:04o}); `chmod 700` it"));
        }
        Ok(Self { path, opened })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A path that a socket can be bound and connected to.
    pub(crate) fn socket(&self, id: &str) -> PathBuf {
        let path = self.file(id, "sock");
        if path.as_os_str().len() < SOCKET_PATH {
            return path;
        }
        PathBuf::from(format!("/proc/self/fd/{}/{id}.sock", self.opened.as_raw_fd()))
    }

    /// Connects to a runtime; never waits for one that does not accept.
    pub(crate) fn connect(&self, id: &str) -> io::Result<UnixStream> {
        let address = SocketAddrUnix::new(self.socket(id))?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::connect(&socket, &address)?;
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(false)?;
        Ok(stream)
    }

    pub(crate) fn file(&self, id: &str, ending: &str) -> PathBuf {
        self.path.join(format!("{id}.{ending}"))
    }

    /// The runtimes that there are, or were.
    pub(crate) fn ids(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> =
            names.filter_map(|name| name.strip_suffix(".sock").map(str::to_owned)).collect();
        ids.sort();
        ids
    }

    /// Is a front about to start a runtime?
    pub(crate) fn is_starting(&self) -> bool {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut locks = names.filter_map(|name| name.strip_suffix(".lock").map(str::to_owned));
        // Held for a moment if it is free; a front that finds it taken tries again. One that nobody holds goes.
        locks.any(|id| id.ends_with(STARTING) && matches!(self.lock(&id), Ok(None)))
    }

    /// Held by the front that starts this runtime, which is named with this key. `None`: another one does.
    pub(crate) fn lock_start(&self, id: &str, key: &[u8; KEY]) -> io::Result<Option<HeldLock>> {
        let held = self.lock(&format!("{id}{STARTING}"))?;
        held.iter().try_for_each(|held| held.keep_key(key))?;
        Ok(held)
    }

    /// Held, with others, by a front that starts this runtime again if it is lost. `None`: it cannot be, and commands
    /// do not learn of this front.
    pub(crate) fn lock_attached(&self, id: &str) -> Option<AttachedLock> {
        let path = self.file(&format!("{id}{ATTACHED}"), "lock");
        for _ in 0..ATTEMPTS {
            let mut options = OpenOptions::new();
            let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path);
            let file = file.ok()?;
            // A command that looks holds it alone, for a moment.
            let is_held = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
            if is_held && is_at(&file, &path) {
                return Some(AttachedLock { file, path });
            }
            std::thread::yield_now();
        }
        None
    }

    /// Takes away the lock of fronts that were killed, unless one that lives holds it.
    pub(crate) fn forget_attached(&self, id: &str) {
        drop(self.lock(&format!("{id}{ATTACHED}")));
    }

    /// Is there a front that starts a lost runtime again, of one that `is_there` does not know?
    pub(crate) fn is_awaited(&self, is_there: impl Fn(&str) -> bool) -> bool {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut locks = names.filter_map(|name| name.strip_suffix(".lock").map(str::to_owned));
        locks.any(|lock| {
            lock.strip_suffix(ATTACHED).is_some_and(|id| !is_there(id))
                // One that nobody holds was left by a front that was killed, and goes.
                && matches!(self.lock(&lock), Ok(None))
        })
    }

    /// Takes away the socket of a draining runtime that was killed: nobody else will.
    pub(crate) fn forget_draining(&self, id: &str) {
        if is_draining_id(id) {
            drop(fs::remove_file(self.socket(id)));
        }
    }

    /// Owns the socket of this runtime as long as the lock is held. `None`: another process owns it.
    pub(crate) fn lock(&self, id: &str) -> io::Result<Option<HeldLock>> {
        let path = self.file(id, "lock");
        loop {
            let mut options = OpenOptions::new();
            let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path)?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            // It may have been removed since it was opened; then a lock on it keeps nobody out.
            let held = HeldLock { file, path: path.clone() };
            if held.keeps_others_out() {
                return Ok(Some(held));
            }
        }
    }

    /// A random key of this user: without it nobody can tell from the name of a socket which values the
    /// variables had.
    pub(crate) fn key(&self) -> io::Result<[u8; KEY]> {
        match read_key(&self.path.join("key")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => return read,
        }
        let key = match self.key_in_use() {
            Some(key) => key,
            None => {
                let mut key = [0; KEY];
                rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())?;
                key
            }
        };
        self.key_or(&key)
    }

    /// The key that a runtime which is there was named with. The file may have been removed while it runs: with another
    /// key no client would find it any more.
    fn key_in_use(&self) -> Option<[u8; KEY]> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let mut locks = paths.filter(|path| path.extension().is_some_and(|it| it == "lock"));
        locks.find_map(|path| {
            let file = File::open(&path).ok()?;
            // Shared, for a moment. One that nobody holds was left by a process that was killed.
            let held = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
            match held {
                Err(rustix::io::Errno::WOULDBLOCK) => read_key(&path).ok(),
                _ => None,
            }
        })
    }

    /// The key that counts here; this one, if there was none.
    pub(crate) fn key_or(&self, key: &[u8; KEY]) -> io::Result<[u8; KEY]> {
        let path = self.path.join("key");
        match read_key(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => return read,
        }
        let new = self.path.join(format!("key.{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).write(true).mode(0o600);
        let written = options.open(&new).and_then(|mut file| file.write_all(key));
        // A link fails if the name is taken: of two fronts that start together one key counts.
        let linked = written.and_then(|()| fs::hard_link(&new, &path));
        // Also after a failure; what failed is told below.
        drop(fs::remove_file(&new));
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => read_key(&path),
        }
    }
}

/// A lock that this process holds. Its file goes with it.
#[derive(Debug)]
pub(crate) struct HeldLock {
    file: File,
    path: PathBuf,
}

impl HeldLock {
    /// Is it the one that others of this name find? Its file may have been removed, and another one made.
    pub(crate) fn keeps_others_out(&self) -> bool {
        is_at(&self.file, &self.path)
    }

    /// Keeps the key that its holder was named with, in case that the file of the key is removed.
    pub(crate) fn keep_key(&self, key: &[u8; KEY]) -> io::Result<()> {
        self.file.write_all_at(key, 0)
    }
}

/// A lock that fronts hold together. Its file goes with the last one.
#[derive(Debug)]
pub(crate) struct AttachedLock {
    file: File,
    path: PathBuf,
}

impl Drop for AttachedLock {
    fn drop(&mut self) {
        let is_last = rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive);
        if is_last.is_ok() && is_at(&self.file, &self.path) {
            drop(fs::remove_file(&self.path));
        }
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        // While it is held nobody else removes it. Whoever has opened it meanwhile finds that it is not there any
        // more, and opens another one.
        if self.keeps_others_out() {
            drop(fs::remove_file(&self.path));
        }
    }
}

/// Is this file the one that others find at this path?
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(own), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

/// A link may have been put there by somebody else.
fn no_link(path: &Path) -> Result<(), String> {
    match fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink()) {
        true => Err(format!(
            "{} is a link, and where it leads is not trusted: remove it, or set XDG_RUNTIME_DIR to a directory of \
             your own",
            path.display()
        )),
        false => Ok(()),
    }
}

/// The name of a runtime that has given its socket up to the next one and still ends.
pub(crate) fn draining_id(id: &str, pid: u32) -> String {
    format!("{id}-{pid}")
}

/// Is this the name of one that ends?
pub(crate) fn is_draining_id(id: &str) -> bool {
    id.contains('-')
}

/// The name under which it was found before.
pub(crate) fn own_id(id: &str) -> &str {
    id.split_once('-').map_or(id, |(own, _)| own)
}

fn read_key(path: &Path) -> io::Result<[u8; KEY]> {
    let mut key = [0; KEY];
    match File::open(path)?.read_exact(&mut key) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            // Not replaced by us: runtimes that were found by it could not be found any more.
            Err(io::Error::other("the key is damaged; remove it"))
        }
        read => read.map(|()| key),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("trunkline-dir-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_directory_that_others_can_enter_is_refused() {
        let root = scratch("mode");
        let environment = Environment::of(&[("XDG_RUNTIME_DIR", root.to_str().unwrap())]);
        let made = RuntimeDirectory::open(&environment).unwrap();
        let mode = fs::metadata(made.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::set_permissions(made.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let why = RuntimeDirectory::open(&environment).unwrap_err();
        assert!(why.contains("mode 0755") && why.contains("chmod 700"), "{why}");
        fs::remove_dir_all(&root).unwrap();
        fs::write(&root, "").unwrap();
        assert!(RuntimeDirectory::open(&environment).unwrap_err().contains("cannot be made"));
        fs::remove_file(&root).unwrap();
    }

    #[test]
    fn one_key_one_owner_and_paths_that_fit() {
        let root = scratch("key");
        let deep = root.join("d".repeat(120));
        fs::create_dir(&deep).unwrap();
        let environment = Environment::of(&[("XDG_RUNTIME_DIR", deep.to_str().unwrap())]);
        let directory = RuntimeDirectory::open(&environment).unwrap();
        assert_eq!(directory.key().unwrap(), directory.key().unwrap());
        let held = directory.lock("a").unwrap();
        assert!(held.is_some());
        assert!(directory.lock("a").unwrap().is_none(), "two own one socket");
        // A file that was tidied away keeps nobody out: whoever holds it can tell.
        let held = held.unwrap();
        assert!(held.keeps_others_out());
        fs::remove_file(directory.file("a", "lock")).unwrap();
        assert!(!held.keeps_others_out());
        let again = directory.lock("a").unwrap();
        assert!(again.is_some() && directory.lock("a").unwrap().is_none());
        drop(held);
        assert!(directory.lock("a").unwrap().is_none(), "a lock that is none takes nothing away");
        drop(again);
        assert!(!directory.file("a", "lock").exists());
        assert!(directory.lock("a").unwrap().is_some());
        assert!(!directory.is_starting());
        let starting = directory.lock_start("a", &[7; KEY]).unwrap();
        assert!(starting.is_some() && directory.is_starting());
        fs::remove_file(directory.path().join("key")).unwrap();
        assert_eq!(directory.key().unwrap(), [7; KEY], "what is there was named with it");
        drop(starting);
        fs::remove_file(directory.path().join("key")).unwrap();
        assert_ne!(directory.key().unwrap(), [7; KEY]);
        assert!(!directory.is_starting());
        let listener = std::os::unix::net::UnixListener::bind(directory.socket("a")).unwrap();
        directory.connect("a").unwrap();
        drop(listener);
        assert_eq!(directory.ids(), ["a"]);
        let draining = draining_id("a", 7);
        fs::rename(directory.socket("a"), directory.socket(&draining)).unwrap();
        assert_eq!(directory.ids(), [draining.as_str()]);
        assert!(is_draining_id(&draining) && own_id(&draining) == "a" && own_id("a") == "a");
        directory.forget_draining("a");
        directory.forget_draining(&draining);
        assert!(directory.ids().is_empty());
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_lost_runtime_is_awaited_as_long_as_a_front_lives() {
        let root = scratch("attached");
        let environment = Environment::of(&[("XDG_RUNTIME_DIR", root.to_str().unwrap())]);
        let directory = RuntimeDirectory::open(&environment).unwrap();
        let attached = [(); 2].map(|()| directory.lock_attached("a").unwrap());
        assert!(directory.is_awaited(|_| false) && !directory.is_awaited(|id| id == "a"));
        let [first, last] = attached;
        drop(first);
        assert!(directory.is_awaited(|_| false));
        drop(last);
        assert!(!directory.is_awaited(|_| false));
        assert!(!directory.file("a-attached", "lock").exists());
        let left = directory.file("a-attached", "lock");
        fs::write(&left, "").unwrap();
        assert!(!directory.is_awaited(|_| false), "a killed front starts nothing");
        assert!(!left.exists());
        fs::write(&left, "").unwrap();
        directory.forget_attached("a");
        assert!(!left.exists());
        let attached = directory.lock_attached("a");
        directory.forget_attached("a");
        assert!(attached.is_some() && left.exists());
        drop(attached);
        fs::remove_dir_all(&root).unwrap();
    }
}
