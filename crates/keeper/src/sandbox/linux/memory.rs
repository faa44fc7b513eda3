//! Reads what a walled-in process has handed to a system call: texts, addresses, the paths they mean.
#![expect(
    unsafe_code,
    reason = "descriptors of another process have no safe interface; see SAFETY"
)]

use std::ffi::{CStr, OsStr, c_long};
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A thread that waits for an answer. Its number may be another's once it has been killed: what is decided by
/// what is read here has to be checked behind that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker(pub(super) u32);

/// Where a socket is to lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SocketTarget {
    Net(SocketAddr),
    Local(PathBuf),
    Other,
}

impl Asker {
    /// A path that an argument points to, from the directory it is relative to.
    pub(super) fn path(self, directory: i32, pointer: u64) -> Option<PathBuf> {
        let text = self.text(pointer)?;
        let path = Path::new(OsStr::from_bytes(&text));
        if path.is_absolute() || text.is_empty() {
            return Some(path.to_path_buf()).filter(|_| !text.is_empty());
        }
        let base = match directory {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.0),
            other => format!("/proc/{}/fd/{other}", self.0),
        };
        Some(fs::read_link(base).ok()?.join(path))
    }

    /// What /proc has about the process itself, if that is what an argument points to. It is opened by a path of our
    /// own, and is a process's that lives as long as its question does.
    pub(super) fn own_file(self, pointer: u64) -> Option<File> {
        let text = self.bytes(pointer, LONGEST_OWN_PATH)?;
        let rest = CStr::from_bytes_until_nul(&text).ok()?.to_bytes().strip_prefix(b"/proc/")?;
        let process = self.process()?;
        let name = own_name(rest, process)?;
        File::open(format!("/proc/{process}/{name}")).ok()
    }

    fn text(self, pointer: u64) -> Option<Vec<u8>> {
        // The kernel takes no longer paths.
        let mut bytes = self.bytes(pointer, 4096)?;
        let length = CStr::from_bytes_until_nul(&bytes).ok()?.count_bytes();
        bytes.truncate(length);
        Some(bytes)
    }

    /// As many as there are up to the end of what is mapped.
    fn bytes(self, pointer: u64, most: usize) -> Option<Vec<u8>> {
        let memory = File::open(format!("/proc/{}/mem", self.0)).ok()?;
        let mut bytes = vec![0; most];
        let read = memory.read_at(&mut bytes, pointer).ok()?;
        bytes.truncate(read);
        Some(bytes)
    }

    /// Whether the sets of `capset` are empty. What cannot be read asks for nothing.
    pub(super) fn wants_no_capabilities(self, pointer: u64) -> bool {
        self.bytes(pointer, 24).is_none_or(|sets| sets.iter().all(|byte| *byte == 0))
    }

    /// Whether a limit of core dumps is no wider than the one that it has (`setrlimit`: soft and hard).
    pub(super) fn wants_no_core_dumps(self, pointer: u64) -> bool {
        let limits = (pointer != 0).then(|| self.bytes(pointer, 16)).flatten().unwrap_or_default();
        limits.chunks_exact(8).all(|limit| {
            limit.try_into().is_ok_and(|limit: [u8; 8]| u64::from_ne_bytes(limit) <= 1)
        })
    }

    /// The address that an argument points to.
    pub(super) fn target(self, pointer: u64, length: u64) -> Option<SocketTarget> {
        let length = usize::try_from(length).ok()?.min(128);
        let bytes = self.bytes(pointer, length).filter(|bytes| bytes.len() == length)?;
        target(&bytes)
    }

    /// A copy of one of its descriptors.
    pub(super) fn descriptor(self, number: u64) -> io::Result<OwnedFd> {
        let opened = |result: c_long| match i32::try_from(result) {
            // SAFETY: the kernel has just opened it for us (close-on-exec), and nobody else has it.
            Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
            _ => Err(io::Error::last_os_error()),
        };
        let process = self.process().ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
        // SAFETY: two numbers.
        let process = opened(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })?;
        // SAFETY: numbers; the first is a descriptor that lives.
        opened(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) })
    }

    /// The process that the thread belongs to.
    fn process(self) -> Option<i32> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?;
        status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
    }
}

/// What a process may read about itself, as it could without walls: nothing that leads elsewhere.
const OWN_FILES: &[&str] = &[
    "auxv",
    "cgroup",
    "cmdline",
    "comm",
    "environ",
    "io",
    "limits",
    "maps",
    "mountinfo",
    "mounts",
    "oom_score",
    "oom_score_adj",
    "sched",
    "schedstat",
    "smaps",
    "smaps_rollup",
    "stat",
    "statm",
    "status",
];

/// `/proc/`, a number, a name of these and the zero behind it, and more than that.
const LONGEST_OWN_PATH: usize = 48;

/// The name behind `/proc/self/`, or behind the process's own number.
fn own_name(rest: &[u8], process: i32) -> Option<&'static str> {
    let mut parts = rest.split(|byte| *byte == b'/');
    let whose = parts.next().filter(|whose| {
        *whose == b"self" || str::from_utf8(whose).is_ok_and(|it| it.parse() == Ok(process))
    });
    let (name, None) = (whose.and(parts.next())?, parts.next()) else { return None };
    OWN_FILES.iter().find(|known| known.as_bytes() == name).copied()
}

/// The lower half: these arguments are 32 bits wide.
pub(super) fn number(argument: u64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "the upper half means nothing")]
    let lower = argument as u32;
    lower.cast_signed()
}

fn target(bytes: &[u8]) -> Option<SocketTarget> {
    let (family, rest) = bytes.split_first_chunk::<2>()?;
    let port = |rest: &[u8]| Some(u16::from_be_bytes(*rest.first_chunk()?));
    Some(match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET => {
            let address: [u8; 4] = *rest.get(2..)?.first_chunk()?;
            SocketTarget::Net((Ipv4Addr::from(address), port(rest)?).into())
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = *rest.get(6..)?.first_chunk()?;
            SocketTarget::Net((Ipv6Addr::from(address), port(rest)?).into())
        }
        libc::AF_UNIX => {
            let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
            SocketTarget::Local(PathBuf::from(OsStr::from_bytes(name)))
        }
        _ => SocketTarget::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let family = |family: i32| u16::try_from(family).unwrap().to_ne_bytes();
        let of = |kind: i32, rest: &[u8]| target(&[&family(kind)[..], rest].concat());
        let four = of(libc::AF_INET, &[0x1f, 0x90, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(four, Some(SocketTarget::Net("127.0.0.1:8080".parse().unwrap())));
        let mut six = vec![0, 80, 0, 0, 0, 0];
        six.extend(Ipv6Addr::LOCALHOST.octets());
        assert_eq!(of(libc::AF_INET6, &six), Some(SocketTarget::Net("[::1]:80".parse().unwrap())));
        assert_eq!(of(libc::AF_UNIX, b"/run/x\0y"), Some(SocketTarget::Local("/run/x".into())));
        assert_eq!(of(libc::AF_NETLINK, &[0; 10]), Some(SocketTarget::Other));
        assert_eq!(of(libc::AF_INET, &[1]), None);
        assert_eq!(target(&[1]), None);
    }

    #[test]
    fn only_a_process_itself_is_meant_and_only_what_says_something_about_it() {
        for (rest, expected) in [
            ("self/stat", Some("stat")),
            ("41/status", Some("status")),
            ("42/status", None),
            ("self/mem", None),
            ("self/fd", None),
            ("self/", None),
            ("self", None),
            ("", None),
            ("self/../42/cmdline", None),
            ("self/root/etc/shadow", None),
            ("self/stat/", None),
            ("/self/stat", None),
            ("meminfo", None),
        ] {
            assert_eq!(own_name(rest.as_bytes(), 41), expected, "{rest}");
        }
    }

    #[test]
    fn a_process_reads_itself() {
        let own = Asker(std::process::id());
        let name = c"/etc/hosts";
        let pointer = u64::try_from(name.as_ptr().addr()).unwrap();
        assert_eq!(own.path(libc::AT_FDCWD, pointer), Some("/etc/hosts".into()));
        let relative = c"x/y";
        let pointer = u64::try_from(relative.as_ptr().addr()).unwrap();
        let expected = std::env::current_dir().unwrap().join("x/y");
        assert_eq!(own.path(libc::AT_FDCWD, pointer), Some(expected));
        assert_eq!(own.path(libc::AT_FDCWD, 8), None);
    }
}
