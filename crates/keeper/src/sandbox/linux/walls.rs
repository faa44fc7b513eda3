//! `Walls`: everything that holds a server, made before the fork and raised before its exec.
#![expect(unsafe_code, reason = "between fork and exec there is no safe interface; see SAFETY")]

use std::ffi::{c_int, c_ulong};
use std::fs;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

use super::filter::{self, Asking, Program};
use super::landlock::Ruleset;
use super::listener::{Duties, Listener};
use super::support::{Support, support};
use super::watch::Watch;
use crate::sandbox::carve::carve;
use crate::sandbox::real_paths::RealPaths;
use crate::sandbox::rules::{Access, AllowedPath, Network, Sandbox};
use crate::{descriptors, limits};

#[derive(Debug)]
pub(crate) struct Walls {
    /// `None`: this kernel cannot guard files.
    ruleset: Option<Ruleset>,
    program: Filter,
    /// Through which the child hands over the listener of its filter; its end and the keeper's.
    handover: Option<(UnixStream, UnixStream)>,
    /// What the keeper does for the tree.
    duties: Duties,
}

struct Filter(Program);

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} instructions", self.0.len())
    }
}

impl Walls {
    /// `private` is written by the server as well. A path that does not exist is left out.
    pub(crate) fn prepare(sandbox: &Sandbox, private: &Path) -> io::Result<Walls> {
        let support = support();
        if sandbox.required && !support.is_full() {
            return Err(io::Error::from_raw_os_error(libc::ENOTSUP));
        }
        // Who is watched is to use what it likes.
        let guarded = support.landlock.filter(|_| sandbox.watched.is_none());
        let ruleset = guarded.map(|version| ruleset(version, sandbox, private));
        let duties = Duties {
            proxy: match sandbox.network {
                Network::Proxy(port) => Some(port),
                Network::Open | Network::None => None,
            },
            reads_itself: sandbox.reads_itself,
            watch: sandbox.watched.as_deref().map(Watch::open).transpose()?,
        };
        let (asking, handover) = match support {
            Support { notices: true, .. } => (Asking::Keeper, Some(UnixStream::pair()?)),
            Support { notices: false, .. } => (Asking::Nobody, None),
        };
        let program = Filter(filter::program(sandbox, asking));
        Ok(Walls { ruleset: ruleset.transpose()?, program, handover, duties })
    }

    /// Holds the calling process and all it starts. In the child, before exec: system calls only.
    pub(crate) fn raise(&self) -> Result<(), Errno> {
        // What it makes is for its user only.
        umask(Mode::from_raw_mode(0o077));
        bound()?;
        // Without this neither of the other two is allowed, and programs could raise their rights.
        control(libc::PR_SET_NO_NEW_PRIVS, 1)?;
        drop_capabilities()?;
        if let Some(ruleset) = &self.ruleset {
            ruleset.allow_own_process()?;
            ruleset.restrict()?;
        }
        self.filter()
    }

    /// In the keeper, behind the exec: where the tree asks.
    pub(crate) fn listener(self) -> Option<Listener> {
        let (_, keepers) = self.handover?;
        let (_, mut passed) = descriptors::receive(&keepers, &mut [0]).ok()?;
        passed.pop().map(|fd| Listener::new(fd, self.duties))
    }

    fn filter(&self) -> Result<(), Errno> {
        let length = u16::try_from(self.program.0.len()).map_err(|_| Errno::TOOBIG)?;
        let program = libc::sock_fprog { len: length, filter: self.program.0.as_ptr().cast_mut() };
        let Some((childs, _)) = &self.handover else {
            return seccomp(0, &program).map(|_| ());
        };
        let listening = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // A question that was heard is not taken back by a signal: runtimes that interrupt
        // themselves would ask for ever. Kernels before 5.19 do not know it.
        let fd = seccomp(listening | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program)
            .or_else(|_| seccomp(listening, &program))?;
        // SAFETY: the kernel has just opened it for this process.
        let listener = unsafe { OwnedFd::from_raw_fd(fd) };
        descriptors::send(childs, &[0], &[listener.as_fd()]).map(|_| ())
    }
}

/// Returns the descriptor, if one is asked for.
fn seccomp(flags: c_ulong, program: &libc::sock_fprog) -> Result<c_int, Errno> {
    // SAFETY: the program lives, and is as long as it says.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            std::ptr::from_ref(program),
        )
    };
    c_int::try_from(result).ok().filter(|result| *result >= 0).ok_or_else(last_errno)
}

fn control(option: c_int, value: c_ulong) -> Result<(), Errno> {
    let none: c_ulong = 0;
    // SAFETY: numbers only.
    let result = unsafe { libc::prctl(option, value, none, none, none) };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Root without capabilities is a user like any other, who owns much.
fn drop_capabilities() -> Result<(), Errno> {
    const VERSION_3: u32 = 0x2008_0522;
    // Root has its capabilities by being root unless this is off, and locked.
    const NO_ROOT: c_ulong = 0b1111;
    // Where these are refused there are no capabilities to lose; `capset` decides.
    let _ = control(libc::PR_SET_SECUREBITS, NO_ROOT);
    for capability in 0..64 {
        if control(libc::PR_CAPBSET_DROP, capability).is_err() {
            break;
        }
    }
    let header: [u32; 2] = [VERSION_3, 0];
    let none = [0u32; 6];
    // SAFETY: a header and two sets of three, as this version has them.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    let refused = if result == 0 { return Ok(()) } else { last_errno() };
    // A service manager may refuse the call to those who have nothing to lose.
    let mut held = [u32::MAX; 6];
    // SAFETY: as above; the sets are written to.
    let result = unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), held.as_mut_ptr()) };
    if result == 0 && held == none { Ok(()) } else { Err(refused) }
}

/// What one process may take.
fn bound() -> Result<(), Errno> {
    let most = |resource, most: u64| {
        let Rlimit { current, maximum } = getrlimit(resource);
        let within = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
        setrlimit(resource, Rlimit { current: within(current), maximum: within(maximum) })
    };
    // One byte and not none: only that keeps the kernel from passing the dump to a program.
    most(Resource::Core, 1)?;
    most(Resource::Data, limits::SANDBOX_MEMORY)?;
    most(Resource::Fsize, limits::SANDBOX_FILE)?;
    most(Resource::Nofile, limits::SANDBOX_OPEN_FILES)
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::NOTRECOVERABLE)
}

fn ruleset(version: u32, sandbox: &Sandbox, private: &Path) -> io::Result<Ruleset> {
    let ruleset = Ruleset::new(version, sandbox.network != Network::Open)?;
    let mut real = RealPaths::default();
    let mut resolved =
        |paths: &[PathBuf]| -> Vec<PathBuf> { paths.iter().map(|it| real.resolve(it)).collect() };
    let (hidden, never) = (resolved(&sandbox.hidden), resolved(&sandbox.never));
    for AllowedPath { path, access, named } in &sandbox.allowed {
        let Some(root) = real.existing(path) else { continue };
        // What a person has named is not hidden for being below something that is.
        let hides = |it: &&PathBuf| !(*named && root.starts_with(it));
        let excepted = never.iter().chain(hidden.iter().filter(hides));
        let excepted: Vec<&Path> = excepted.map(PathBuf::as_path).collect();
        for carved in carve(&root, *access, &excepted, &entries) {
            // Gone meanwhile, or not to be opened by us either.
            let _ = ruleset.allow(&carved.path, carved.access);
        }
    }
    for own in &sandbox.own {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(own)?;
        ruleset.allow(&own.canonicalize()?, Access::Write)?;
    }
    ruleset.allow(&private.canonicalize()?, Access::Write)?;
    Ok(ruleset)
}

/// Links are left out: what they lead to is allowed where it is, or not at all.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|it| it.is_symlink());
    entries.filter(|entry| !is_link(entry)).map(|entry| entry.path()).collect()
}
