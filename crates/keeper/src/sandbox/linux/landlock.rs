//! Landlock: a list of the files a process and all it starts may use. No library: three system calls, of
//! which the last is made between fork and exec, where nothing may be allocated.
#![expect(unsafe_code, reason = "system calls that have no safe interface; see SAFETY")]

use std::ffi::{CStr, c_int, c_long};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;

use crate::sandbox::rules::Access;

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// All of the first version.
const FIRST: u64 = (1 << 13) - 1;
/// What a rule about something that is no directory may say.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
const NET_BIND: u64 = 1 << 0;
const NET_CONNECT: u64 = 1 << 1;
const SCOPE_ABSTRACT: u64 = 1 << 0;
const SCOPE_SIGNAL: u64 = 1 << 1;

const CREATE_VERSION: c_long = 1;
const RULE_PATH_BENEATH: c_int = 1;

/// As the kernel has it; older ones take a longer structure whose rest is zero.
#[repr(C)]
struct RulesetAttributes {
    handled_fs: u64,
    handled_net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// `None`: not there, or switched off.
pub(super) fn version() -> Option<u32> {
    // SAFETY: asks for a number; the kernel reads nothing of ours.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0usize, CREATE_VERSION)
    };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// The rules, made before the fork.
#[derive(Debug)]
pub(super) struct Ruleset {
    fd: OwnedFd,
    handled: u64,
}

impl Ruleset {
    /// Everything this version can guard is refused at first. `closed`: TCP, too.
    pub(super) fn new(version: u32, closed: bool) -> io::Result<Ruleset> {
        let later = [(2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)];
        let later = later.iter().filter(|(since, _)| version >= *since).map(|(_, right)| right);
        let handled = later.fold(FIRST, |handled, right| handled | right);
        let net = if closed && version >= 4 { NET_BIND | NET_CONNECT } else { 0 };
        let scoped = if version >= 6 { SCOPE_ABSTRACT | SCOPE_SIGNAL } else { 0 };
        let attributes = RulesetAttributes { handled_fs: handled, handled_net: net, scoped };
        let size = match version {
            ..4 => size_of::<u64>(),
            4..6 => 2 * size_of::<u64>(),
            _ => size_of::<RulesetAttributes>(),
        };
        // SAFETY: the structure is as long as the size says, and lives.
        let fd = unsafe {
            libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size, 0u32)
        };
        let fd = c_int::try_from(fd).ok().filter(|fd| *fd >= 0);
        let fd = fd.ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the kernel has just opened it for us (close-on-exec), and nobody else has it.
        Ok(Ruleset { fd: unsafe { OwnedFd::from_raw_fd(fd) }, handled })
    }

    /// Allows a path and all below it. A link stands for nothing: what it leads to is not meant.
    pub(super) fn allow(&self, path: &Path, access: Access) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::empty())?;
        let kind = FileType::from_raw_mode(fstat(&file)?.st_mode);
        let of_kind = if kind == FileType::Directory { u64::MAX } else { OF_FILES };
        self.add(rights(access) & of_kind & self.handled, &file)
    }

    /// Allows the calling process to read about itself. Makes system calls only.
    pub(super) fn allow_own_process(&self) -> Result<(), Errno> {
        const SELF: &CStr = c"/proc/self/";
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, SELF, flags, Mode::empty()) {
            Ok(own) => self.add((READ_FILE | READ_DIR) & self.handled, &own),
            // No /proc: then there is nothing to read.
            Err(_) => Ok(()),
        }
    }

    fn add(&self, allowed: u64, file: &OwnedFd) -> Result<(), Errno> {
        if allowed == 0 {
            return Ok(());
        }
        let rule = PathBeneath { allowed, parent: file.as_raw_fd() };
        // SAFETY: the rule is as the kernel wants it and lives; both descriptors are open.
        let result = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.fd.as_raw_fd(),
                RULE_PATH_BENEATH,
                &raw const rule,
                0u32,
            )
        };
        if result == 0 { Ok(()) } else { Err(last_errno()) }
    }

    /// Holds the calling process and all it starts, for ever. Makes a system call only.
    pub(super) fn restrict(&self) -> Result<(), Errno> {
        // SAFETY: two numbers.
        let result =
            unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.fd.as_raw_fd(), 0u32) };
        if result == 0 { Ok(()) } else { Err(last_errno()) }
    }
}

fn rights(access: Access) -> u64 {
    match access {
        Access::List => READ_DIR,
        Access::Read => EXECUTE | READ_FILE | READ_DIR,
        // Nobody makes devices.
        Access::Write => (FIRST | REFER | TRUNCATE | IOCTL_DEV) & !(MAKE_CHAR | MAKE_BLOCK),
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::NOTRECOVERABLE)
}
