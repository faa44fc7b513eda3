//! What a walled-in tree asks: each refused system call and each new process, answered by the keeper.
#![expect(unsafe_code, reason = "ioctls that have no safe interface; see SAFETY")]

use std::ffi::{c_long, c_ulong};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_timeout};

use super::calls::{self, Wish};
use super::memory::{Asker, SocketTarget, number};
use super::watch::Watch;

/// Where a tree asks. Its questions wait until they are answered; without a keeper all of them fail.
#[derive(Debug)]
pub(crate) struct Listener {
    fd: OwnedFd,
    /// So many more may be made without counting.
    allowed: usize,
    /// Nothing is made or counted before.
    full_until: Option<Instant>,
    /// What was reported: once each.
    reported: Vec<Refusal>,
    duties: Duties,
}

/// What the keeper does for a tree beyond refusing.
#[derive(Debug, Default)]
pub(super) struct Duties {
    /// It connects the tree's sockets to this port of the loopback address.
    pub(super) proxy: Option<u16>,
    /// It opens for each process what /proc has about that one.
    pub(super) reads_itself: bool,
    /// It writes down what the tree uses.
    pub(super) watch: Option<Watch>,
}

/// What was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A system call, by its number.
    Call(u32),
    /// One more process or thread.
    Process,
    /// A socket of the machine. Looking up a name tries that, too, for a service that few machines have.
    Local,
}

impl Refusal {
    /// Its number on the way to the owner; no system call has the one that stands for a process.
    pub(crate) fn pack(self) -> u32 {
        match self {
            Refusal::Call(number) => number,
            Refusal::Process => u32::MAX,
            Refusal::Local => u32::MAX - 1,
        }
    }

    pub(crate) fn unpack(number: u32) -> Refusal {
        match number {
            u32::MAX => Refusal::Process,
            number if number == u32::MAX - 1 => Refusal::Local,
            number => Refusal::Call(number),
        }
    }

    /// What was refused, after "refused".
    pub(crate) fn words(self) -> &'static str {
        match self {
            Refusal::Call(number) => calls::name(c_long::from(number)),
            Refusal::Process => "one more process: it has as many as a sandbox allows",
            Refusal::Local => LOCAL_SOCKET,
        }
    }
}

/// How a refused socket of the machine is told.
pub const LOCAL_SOCKET: &str = "a socket of this machine";

/// The keeper serves others: nobody waits longer for a proxy that is on this machine.
const CONNECTING: Duration = Duration::from_millis(200);

/// While a tree is at its limit its processes are not counted for each that it tries to make: a bomb
/// would keep the keeper busy.
const FULL_FOR: Duration = Duration::from_millis(50);

pub(super) fn is_available() -> bool {
    let action = libc::SECCOMP_RET_USER_NOTIF;
    // SAFETY: asks whether the kernel knows an action; it reads one number of ours.
    let known = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action)
    };
    known == 0
}

impl Listener {
    pub(super) fn new(fd: OwnedFd, duties: Duties) -> Listener {
        Listener { fd, allowed: 0, full_until: None, reported: Vec::new(), duties }
    }

    /// Readable when something is asked.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Answers one question, where `count` tells how many processes and threads the tree has and
    /// `most` how many it may have, and `is_outside` whether a process is one of another tree. Returns what was
    /// refused for the first time.
    pub(crate) fn answer(
        &mut self,
        most: usize,
        count: impl FnOnce() -> usize,
        is_outside: impl FnOnce(i32) -> bool,
    ) -> Option<Refusal> {
        let asked = self.receive()?;
        let call = c_long::from(asked.data.nr);
        let is_fork = calls::FORKS.contains(&call)
            && (call != libc::SYS_clone || asked.data.args[0] & u64::from(calls::NAMESPACES) == 0);
        if is_fork && self.may_grow(most, count) {
            self.send(asked.id, 0, CONTINUE);
            return None;
        }
        if let Some(watch) = self.duties.watch.as_mut().filter(|_| Watch::is_about(call)) {
            watch.note(Asker(asked.pid), call, &asked.data.args);
            self.send(asked.id, 0, CONTINUE);
            return None;
        }
        if self.is_harmless(&asked, call, is_outside) {
            self.send(asked.id, 0, CONTINUE);
            return None;
        }
        if self.duties.reads_itself
            && let Some((path, flags)) = calls::read(call, &asked.data.args)
        {
            self.open_own(&asked, path, flags);
            return None;
        }
        if let Some(port) = self.duties.proxy.filter(|_| call == libc::SYS_connect)
            && let Some(connected) = self.connect(&asked, port)
        {
            self.send(asked.id, connected.err().map_or(0, |errno| -errno.raw_os_error()), 0);
            return None;
        }
        let is_local = call == libc::SYS_socket
            && asked.data.args[0] & u64::from(u32::MAX) == u64::from(libc::AF_UNIX.cast_unsigned());
        let refusal = match (is_fork, u32::try_from(call)) {
            _ if is_local => Refusal::Local,
            (false, Ok(number)) => Refusal::Call(number),
            _ => Refusal::Process,
        };
        let error = match call {
            _ if is_fork => libc::EAGAIN,
            libc::SYS_socket | libc::SYS_socketpair | libc::SYS_connect => libc::EACCES,
            _ => libc::EPERM,
        };
        self.send(asked.id, -error, 0);
        let is_new = !self.reported.contains(&refusal);
        self.reported.extend(is_new.then_some(refusal));
        is_new.then_some(refusal)
    }

    /// Connects a socket of the tree to the proxy, if that is where it is to lead; else `None`. It is the keeper
    /// that connects, to an address of its own: one in the server's memory could be changed after it was looked at.
    fn connect(&self, asked: &libc::seccomp_notif, port: u16) -> Option<Result<(), Errno>> {
        let asker = Asker(asked.pid);
        let [socket, address, length, ..] = asked.data.args;
        let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let target = asker.target(address, length)?;
        if target != SocketTarget::Net(proxy) {
            return None;
        }
        let socket = match asker.descriptor(socket) {
            Ok(socket) if self.is_waiting(asked.id) => socket,
            Ok(_) => return Some(Err(Errno::INTR)),
            Err(error) => return Some(Err(Errno::from_io_error(&error).unwrap_or(Errno::BADF))),
        };
        let usual = socket_timeout(&socket, Timeout::Send).ok().flatten();
        let bounded = set_socket_timeout(&socket, Timeout::Send, Some(CONNECTING));
        let connected = bounded.and_then(|()| rustix::net::connect(&socket, &proxy));
        // Whether that fails or not: the socket is the server's.
        let _ = set_socket_timeout(&socket, Timeout::Send, usual);
        Some(connected)
    }

    /// Whether it is one of the calls that many programs make, and of which only some reach too far. The kernel refuses
    /// those as well, whatever is changed in memory meanwhile, but nobody would hear of it.
    fn is_harmless(
        &self,
        asked: &libc::seccomp_notif,
        call: c_long,
        is_outside: impl FnOnce(i32) -> bool,
    ) -> bool {
        let asker = Asker(asked.pid);
        if calls::SIGNALS.iter().any(|(signal, _)| *signal == call) {
            let [whom, ..] = asked.data.args;
            return !is_outside(number(whom));
        }
        match calls::wish(call, &asked.data.args) {
            Some(Wish::Capabilities(at)) => asker.wants_no_capabilities(at),
            Some(Wish::CoreDumps(at)) => asker.wants_no_core_dumps(at),
            None => false,
        }
    }

    /// Hands a process what /proc has about itself, or lets it open whatever else it has named: then Landlock decides.
    fn open_own(&self, asked: &libc::seccomp_notif, path: u64, flags: u32) {
        let own = Asker(asked.pid).own_file(path);
        if own.is_none_or(|own| self.give(asked.id, &own, flags).is_err()) {
            self.send(asked.id, 0, CONTINUE);
        }
    }

    /// Answers with a descriptor. It fails if who asked is gone, so nobody gets what is about another.
    fn give(&self, id: u64, file: &File, flags: u32) -> io::Result<()> {
        let number = |number: c_ulong| u32::try_from(number).unwrap_or_default();
        let given = libc::seccomp_notif_addfd {
            id,
            flags: number(libc::SECCOMP_ADDFD_FLAG_SEND),
            srcfd: file.as_raw_fd().cast_unsigned(),
            newfd: 0,
            newfd_flags: flags & libc::O_CLOEXEC.cast_unsigned(),
        };
        // SAFETY: the structure is the one this request is for, and lives.
        let result = unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const given)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Whether who asked still waits, and its number is still its own.
    fn is_waiting(&self, id: u64) -> bool {
        // SAFETY: the number is what this request is for, and lives.
        let result = unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id)
        };
        result == 0
    }

    fn may_grow(&mut self, most: usize, count: impl FnOnce() -> usize) -> bool {
        if self.full_until.is_some_and(|until| Instant::now() < until) {
            return false;
        }
        if self.allowed == 0 {
            // Half of what is free: those that are made meanwhile are few, and the next count is
            // far.
            self.allowed = most.saturating_sub(count()).div_ceil(2);
        }
        match self.allowed.checked_sub(1) {
            Some(left) => {
                self.allowed = left;
                self.full_until = None;
                true
            }
            None => {
                self.full_until = Some(Instant::now() + FULL_FOR);
                false
            }
        }
    }

    /// `None`: who asked was killed meanwhile.
    fn receive(&self) -> Option<libc::seccomp_notif> {
        // SAFETY: all of its fields are numbers, for which zero is a value; the kernel wants it empty.
        let mut asked: libc::seccomp_notif = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: the structure is the one this request is for, and lives.
        let result = unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked)
        };
        (result == 0).then_some(asked)
    }

    /// An error means that who asked is gone.
    fn send(&self, id: u64, error: i32, flags: u32) {
        let answer = libc::seccomp_notif_resp { id, val: 0, error, flags };
        // SAFETY: the structure is the one this request is for, and lives.
        unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer)
        };
    }
}

/// The call is made after all. It is decided by registers only, which nobody else can change, or Landlock decides again.
const CONTINUE: u32 = 1;

#[cfg(test)]
mod tests {
    use std::io::pipe;

    use super::*;

    #[test]
    fn a_tree_grows_to_its_limit_and_is_not_counted_each_time() {
        let mut listener = Listener::new(pipe().unwrap().0.into(), Duties::default());
        let (mut made, mut counts) = (0, 0);
        while listener.may_grow(64, || {
            counts += 1;
            made
        }) {
            made += 1;
        }
        assert_eq!(made, 64);
        assert!(counts < 10, "{counts}");
        let must_not = || -> usize { panic!("counted while it is full") };
        assert!(!listener.may_grow(64, must_not));
        listener.full_until = None;
        assert!(listener.may_grow(64, || 63), "some have ended");
    }
}
