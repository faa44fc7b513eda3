//! The seccomp filter: which system calls go through, which are asked about. No library: those that
//! there are cannot ask (`SECCOMP_RET_USER_NOTIF`), and the filter is a list of comparisons.

use std::ffi::c_long;

use rustix::process::{getegid, geteuid};

use super::calls::{
    FORKS, GROUPS, MODES, NAMESPACES, NODES, OPENS, REFUSED, SCHEDULING, SHARED_IPC, SIGNALS, USERS,
};
use super::watch::WATCHED;
use crate::sandbox::rules::{Network, Sandbox};

/// The instructions, as the kernel reads them.
pub(super) type Program = Vec<libc::sock_filter>;

/// What becomes of a call that is not simply let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    /// The keeper is asked, counts and reports.
    Keeper,
    /// Nobody can be asked: it fails, and processes are not counted.
    Nobody,
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xC000_00F3;

/// The other numbering of the same calls on `x86_64`, which no program uses.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
#[cfg(target_arch = "x86_64")]
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const SOCKET_KIND: u32 = 0xf;

pub(super) fn program(sandbox: &Sandbox, asking: Asking) -> Program {
    let refuse = match asking {
        Asking::Keeper => libc::SECCOMP_RET_USER_NOTIF,
        Asking::Nobody => error(libc::EPERM),
    };
    let process = match asking {
        Asking::Keeper => libc::SECCOMP_RET_USER_NOTIF,
        Asking::Nobody => ALLOW,
    };
    let is_watched = sandbox.watched.is_some();
    let mut program = vec![
        load(4),
        // A program for another processor would have other numbers.
        jump(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        give(error(libc::ENOSYS)),
        load(0),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([jump(JUMP_AT_LEAST, X32, 0, 1), give(error(libc::ENOSYS))]);
    // First: it is the most frequent of those that are looked at.
    let is_read = if sandbox.reads_itself { process } else { ALLOW };
    for (call, at, _) in OPENS {
        let opening = if is_watched {
            opening(*at, refuse, process, process)
        } else {
            opening(*at, refuse, ALLOW, is_read)
        };
        when(&mut program, *call, opening);
    }
    if is_watched {
        for call in WATCHED {
            let is_exec = *call == libc::SYS_execve;
            when(
                &mut program,
                *call,
                if is_exec { executing(process) } else { vec![give(process)] },
            );
        }
    }
    for (call, _) in REFUSED {
        when(&mut program, *call, vec![give(refuse)]);
    }
    for (call, at, _) in MODES {
        when(&mut program, *call, without_bits(*at, SET_ID, refuse));
    }
    for (call, at, _) in NODES {
        when(&mut program, *call, node(*at, refuse));
    }
    // How it opens is in memory, where a filter cannot look; programs fall back to `openat`.
    when(&mut program, libc::SYS_openat2, vec![give(error(libc::ENOSYS))]);
    if sandbox.private_ipc {
        for (call, _) in SHARED_IPC {
            when(&mut program, *call, vec![give(refuse)]);
        }
    }
    if let Network::Proxy(_) = sandbox.network {
        proxied(&mut program, refuse);
    }
    // Its flags are in memory, where a filter cannot look; libraries fall back to `clone`.
    when(&mut program, libc::SYS_clone3, vec![give(error(libc::ENOSYS))]);
    let namespaces =
        |other| vec![argument(0), jump(JUMP_ANY_BIT, NAMESPACES, 0, 1), give(refuse), give(other)];
    for call in FORKS {
        let is_clone = *call == libc::SYS_clone;
        when(&mut program, *call, if is_clone { namespaces(process) } else { vec![give(process)] });
    }
    when(&mut program, libc::SYS_unshare, namespaces(ALLOW));
    when(&mut program, libc::SYS_socket, socket(sandbox, refuse));
    when(&mut program, libc::SYS_socketpair, socket_pair(sandbox, refuse));
    when(&mut program, libc::SYS_ioctl, terminal(refuse));
    itself_only(&mut program, refuse, process);
    // Linux, and the question what it is: the others switch address randomisation off.
    when(&mut program, libc::SYS_personality, only(0, &[0, u32::MAX], refuse));
    program.push(give(ALLOW));
    program
}

/// What concerns processes: of others it needs the same user only, and of itself some of it reaches too far.
fn itself_only(program: &mut Program, refuse: u32, looked_at: u32) {
    when(program, libc::SYS_prlimit64, limits_of_itself(refuse, looked_at));
    when(program, libc::SYS_setrlimit, core_dumps(0, looked_at));
    when(program, libc::SYS_capset, vec![give(looked_at)]);
    for (call, _) in SIGNALS {
        when(program, *call, vec![give(looked_at)]);
    }
    let ids = [(USERS, geteuid().as_raw()), (GROUPS, getegid().as_raw())];
    for (calls, own) in ids {
        for (call, count, _) in calls {
            when(program, *call, staying(*count, own, refuse));
        }
    }
    when(program, libc::SYS_setpriority, only(1, &[0], refuse));
    for call in SCHEDULING {
        when(program, *call, only(0, &[0], refuse));
    }
}

/// The bits that let a program run as the owner or the group of its file.
const SET_ID: u32 = 0o6000;

/// The flags with which a file may be made.
const MAKES: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)).cast_unsigned();

/// With any other flag of these it is more, or less, than a file that is read.
const NOT_READ: u32 = (libc::O_ACCMODE | libc::O_DIRECTORY | libc::O_PATH).cast_unsigned();

/// Whether a call with these flags opens what is there, to read it.
pub(super) const fn is_read(flags: u32) -> bool {
    flags & (MAKES | NOT_READ) == 0
}

/// Where a file may be made, its mode has no such bits. `read`: what becomes of what is only read.
fn opening(flags: u32, refuse: u32, other: u32, read: u32) -> Program {
    vec![
        argument(flags),
        // Without these flags the mode is whatever the register held.
        jump(JUMP_ANY_BIT, MAKES, 0, 4),
        argument(flags + 1),
        jump(JUMP_ANY_BIT, SET_ID, 0, 1),
        give(refuse),
        give(other),
        jump(JUMP_ANY_BIT, NOT_READ, 0, 1),
        give(other),
        give(read),
    ]
}

/// In the last argument of the exec that the keeper itself waits for, where the kernel looks for nothing.
pub(crate) const OUR_EXEC: usize = 0x7472_756e;

/// The keeper stands still until a server is executed: it cannot be asked about that. All later ones it can.
fn executing(other: u32) -> Program {
    let ours = u32::try_from(OUR_EXEC).unwrap_or_default();
    vec![argument(5), jump(JUMP_EQUAL, ours, 0, 1), give(ALLOW), give(other)]
}

fn without_bits(index: u32, bits: u32, refuse: u32) -> Program {
    vec![argument(index), jump(JUMP_ANY_BIT, bits, 0, 1), give(refuse), give(ALLOW)]
}

/// Files, pipes and sockets, but no devices.
fn node(mode: u32, refuse: u32) -> Program {
    vec![
        argument(mode),
        jump(JUMP_ANY_BIT, SET_ID, 3, 0),
        and(libc::S_IFMT),
        jump(JUMP_EQUAL, libc::S_IFCHR, 1, 0),
        jump(JUMP_EQUAL, libc::S_IFBLK, 0, 1),
        give(refuse),
        give(ALLOW),
    ]
}

/// The keeper makes each connection itself, and to one port only. Nothing else leads out: neither
/// waiting for others to connect, nor connecting by sending.
fn proxied(program: &mut Program, refuse: u32) {
    for call in [libc::SYS_connect, libc::SYS_listen] {
        when(program, call, vec![give(refuse)]);
    }
    let fast_open = number(libc::MSG_FASTOPEN);
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        when(program, call, without_bits(flags, fast_open, refuse));
    }
}

/// TCP and UDP if there is a network; the interfaces' addresses, which every resolver asks for;
/// sockets of the machine if they are allowed. Nothing raw, no others.
fn socket(sandbox: &Sandbox, refuse: u32) -> Program {
    let unix = if sandbox.unix_sockets { ALLOW } else { refuse };
    let inet = match sandbox.network {
        Network::Open => vec![
            argument(1),
            and(SOCKET_KIND),
            jump(JUMP_EQUAL, number(libc::SOCK_RAW), 0, 1),
            give(refuse),
            give(ALLOW),
        ],
        // TCP and nothing that is like it: other protocols lead around the rules about TCP.
        Network::Proxy(_) => vec![
            argument(1),
            and(SOCKET_KIND),
            jump(JUMP_EQUAL, number(libc::SOCK_STREAM), 0, 3),
            argument(2),
            jump(JUMP_EQUAL, 0, 2, 0),
            jump(JUMP_EQUAL, number(libc::IPPROTO_TCP), 1, 0),
            give(refuse),
            give(ALLOW),
        ],
        Network::None => vec![give(refuse)],
    };
    let length = u8::try_from(inet.len()).unwrap_or(u8::MAX);
    let mut body = vec![
        argument(0),
        jump(JUMP_EQUAL, number(libc::AF_UNIX), 0, 1),
        give(unix),
        jump(JUMP_EQUAL, number(libc::AF_NETLINK), 0, 4),
        argument(2),
        jump(JUMP_EQUAL, number(libc::NETLINK_ROUTE), 0, 1),
        give(ALLOW),
        give(refuse),
        jump(JUMP_EQUAL, number(libc::AF_INET), 1, 0),
        jump(JUMP_EQUAL, number(libc::AF_INET6), 0, length),
    ];
    body.extend(inet);
    body.push(give(refuse));
    body
}

/// Both ends are the caller's own. One for datagrams can be sent elsewhere, to a path.
fn socket_pair(sandbox: &Sandbox, refuse: u32) -> Program {
    let datagrams = if sandbox.unix_sockets { ALLOW } else { refuse };
    vec![
        argument(0),
        jump(JUMP_EQUAL, number(libc::AF_UNIX), 0, 5),
        argument(1),
        and(SOCKET_KIND),
        jump(JUMP_EQUAL, number(libc::SOCK_DGRAM), 0, 1),
        give(datagrams),
        give(ALLOW),
        give(refuse),
    ]
}

/// Limits of the process itself; those of its core dumps are looked at.
fn limits_of_itself(refuse: u32, core: u32) -> Program {
    let mut body = vec![argument(0), jump(JUMP_EQUAL, 0, 1, 0), give(refuse)];
    body.extend(core_dumps(1, core));
    body
}

/// `resource`: which argument says what is limited.
fn core_dumps(resource: u32, core: u32) -> Program {
    let of_core = RLIMIT_CORE;
    vec![argument(resource), jump(JUMP_EQUAL, of_core, 0, 1), give(core), give(ALLOW)]
}

/// A number that is the same on every processor; its type differs between C libraries.
const RLIMIT_CORE: u32 = 4;

/// Each of the first arguments is who it is already, or that nothing changes.
fn staying(count: u32, own: u32, refuse: u32) -> Program {
    let mut body = Vec::new();
    for index in 0..count {
        body.extend([
            argument(index),
            jump(JUMP_EQUAL, own, 2, 0),
            jump(JUMP_EQUAL, u32::MAX, 1, 0),
            give(refuse),
        ]);
    }
    body.push(give(ALLOW));
    body
}

/// Typing into somebody's terminal.
fn terminal(refuse: u32) -> Program {
    const TIOCSTI: u32 = 0x5412;
    const TIOCLINUX: u32 = 0x541C;
    vec![
        argument(1),
        jump(JUMP_EQUAL, TIOCSTI, 1, 0),
        jump(JUMP_EQUAL, TIOCLINUX, 0, 1),
        give(refuse),
        give(ALLOW),
    ]
}

/// Lets through what has one of these values in an argument.
fn only(index: u32, values: &[u32], refuse: u32) -> Program {
    let mut body = vec![argument(index)];
    for value in values {
        body.extend([jump(JUMP_EQUAL, *value, 0, 1), give(ALLOW)]);
    }
    body.push(give(refuse));
    body
}

/// `body`, which returns in every case, decides about this call.
fn when(program: &mut Program, call: c_long, body: Program) {
    let (Ok(call), Ok(length)) = (u32::try_from(call), u8::try_from(body.len())) else { return };
    program.push(jump(JUMP_EQUAL, call, 0, length));
    program.extend(body);
}

/// The lower half of an argument: all of those looked at are 32 bits wide.
fn argument(index: u32) -> libc::sock_filter {
    load(16 + 8 * index)
}

fn load(offset: u32) -> libc::sock_filter {
    libc::sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

fn and(mask: u32) -> libc::sock_filter {
    libc::sock_filter { code: AND, jt: 0, jf: 0, k: mask }
}

/// Leaves so many instructions out.
fn jump(code: u16, value: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: if_true, jf: if_false, k: value }
}

fn give(action: u32) -> libc::sock_filter {
    libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: action }
}

fn error(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}

fn number(constant: i32) -> u32 {
    constant.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do: the few instructions that are used here.
    fn run(program: &Program, call: c_long, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend_from_slice(&u32::try_from(call).unwrap().to_le_bytes());
        data.extend_from_slice(&ARCHITECTURE.to_le_bytes());
        data.extend_from_slice(&[0; 8]);
        arguments.iter().for_each(|argument| data.extend_from_slice(&argument.to_le_bytes()));
        let (mut at, mut value) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            let goes = match step.code {
                LOAD => {
                    let offset = usize::try_from(step.k).unwrap();
                    value = u32::from_le_bytes(data[offset..offset + 4].try_into().unwrap());
                    continue;
                }
                AND => {
                    value &= step.k;
                    continue;
                }
                RETURN => return step.k,
                JUMP_EQUAL => value == step.k,
                JUMP_ANY_BIT => value & step.k != 0,
                0x35 => value >= step.k,
                other => panic!("{other}"),
            };
            at += usize::from(if goes { step.jt } else { step.jf });
        }
    }

    const fn of(arguments: &[i32]) -> [u64; 6] {
        let mut all = [0; 6];
        let mut at = 0;
        while at < arguments.len() {
            all[at] = arguments[at].cast_unsigned() as u64;
            at += 1;
        }
        all
    }

    #[test]
    fn a_watched_server_is_asked_about_what_it_opens() {
        let watched = Sandbox { watched: Some("/w".into()), ..Sandbox::default() };
        let program = program(&watched, Asking::Keeper);
        let ask = libc::SECCOMP_RET_USER_NOTIF;
        for call in [libc::SYS_openat, libc::SYS_execve, libc::SYS_connect, libc::SYS_renameat2] {
            assert_eq!(run(&program, call, of(&[])), ask, "call {call}");
        }
        assert_eq!(run(&program, libc::SYS_read, of(&[])), ALLOW);
        let ours = i32::try_from(OUR_EXEC).unwrap();
        assert_eq!(run(&program, libc::SYS_execve, of(&[1, 2, 3, 0, 0, ours])), ALLOW);
    }

    #[test]
    fn what_is_only_read_is_asked_about_where_that_is_wanted() {
        let itself = Sandbox { reads_itself: true, ..Sandbox::default() };
        let ask = libc::SECCOMP_RET_USER_NOTIF;
        let (here, program) = (libc::AT_FDCWD, program(&itself, Asking::Keeper));
        for (flags, mode, expected) in [
            (libc::O_RDONLY | libc::O_CLOEXEC, 0, ask),
            (libc::O_RDONLY | libc::O_NOFOLLOW, 0o4755, ask),
            (libc::O_WRONLY, 0, ALLOW),
            (libc::O_RDWR, 0, ALLOW),
            (libc::O_RDONLY | libc::O_DIRECTORY, 0, ALLOW),
            (libc::O_PATH, 0, ALLOW),
            (libc::O_RDONLY | libc::O_CREAT, 0o600, ALLOW),
            (libc::O_RDONLY | libc::O_CREAT, 0o4755, ask),
        ] {
            let came = run(&program, libc::SYS_openat, of(&[here, 0, flags, mode]));
            assert_eq!(came, expected, "{flags:o} {mode:o}");
            let is_refused = flags & libc::O_CREAT != 0;
            assert_eq!(is_read(flags.cast_unsigned()), expected == ask && !is_refused, "{flags:o}");
        }
    }

    #[test]
    fn who_it_is_and_whom_it_signals_is_looked_at() {
        let program = program(&Sandbox::default(), Asking::Keeper);
        let ask = libc::SECCOMP_RET_USER_NOTIF;
        let own = geteuid().as_raw().cast_signed();
        for (call, arguments, expected) in [
            (libc::SYS_kill, of(&[1, 15]), ask),
            (libc::SYS_tgkill, of(&[1, 1, 15]), ALLOW),
            (libc::SYS_setuid, of(&[own]), ALLOW),
            (libc::SYS_setuid, of(&[own + 1]), ask),
            (libc::SYS_setresuid, of(&[-1, own, -1]), ALLOW),
            (libc::SYS_setresuid, of(&[-1, own, own + 1]), ask),
            (libc::SYS_setreuid, of(&[own + 1, own]), ask),
            (libc::SYS_capset, of(&[]), ask),
            (libc::SYS_prlimit64, of(&[0, 4]), ask),
            (libc::SYS_setrlimit, of(&[4]), ask),
            (libc::SYS_setrlimit, of(&[7]), ALLOW),
        ] {
            assert_eq!(run(&program, call, arguments), expected, "call {call} {arguments:?}");
        }
    }

    #[test]
    fn each_call_meets_its_rule() {
        let open = Sandbox { network: Network::Open, ..Sandbox::default() };
        let closed = Sandbox::default();
        let local = Sandbox { unix_sockets: true, ..Sandbox::default() };
        let ask = libc::SECCOMP_RET_USER_NOTIF;
        let gone = error(libc::ENOSYS);
        let (unix, inet, inet6) = (libc::AF_UNIX, libc::AF_INET, libc::AF_INET6);
        let (stream, datagrams, raw) = (libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW);
        let cloexec = libc::SOCK_CLOEXEC;
        let cases = [
            (&open, libc::SYS_read, of(&[]), ALLOW),
            (&open, libc::SYS_execve, of(&[]), ALLOW),
            (&open, libc::SYS_ptrace, of(&[]), ask),
            (&open, libc::SYS_clone3, of(&[]), gone),
            (&open, libc::SYS_clone, of(&[libc::CLONE_VM]), ask),
            (&open, libc::SYS_unshare, of(&[libc::CLONE_NEWUSER]), ask),
            (&open, libc::SYS_unshare, of(&[libc::CLONE_FILES]), ALLOW),
            (&open, libc::SYS_socket, of(&[inet, stream | cloexec]), ALLOW),
            (&open, libc::SYS_socket, of(&[inet6, datagrams]), ALLOW),
            (&open, libc::SYS_socket, of(&[inet, raw | cloexec, 1]), ask),
            (&open, libc::SYS_socket, of(&[libc::AF_PACKET, raw]), ask),
            (&open, libc::SYS_socket, of(&[libc::AF_NETLINK, raw, 0]), ALLOW),
            (&open, libc::SYS_socket, of(&[libc::AF_NETLINK, raw, 9]), ask),
            (&open, libc::SYS_socket, of(&[unix, stream]), ask),
            (&local, libc::SYS_socket, of(&[unix, stream]), ALLOW),
            (&closed, libc::SYS_socket, of(&[inet, stream]), ask),
            (&closed, libc::SYS_socket, of(&[inet6, datagrams]), ask),
            (&open, libc::SYS_socketpair, of(&[unix, stream | cloexec]), ALLOW),
            (&open, libc::SYS_socketpair, of(&[unix, datagrams]), ask),
            (&local, libc::SYS_socketpair, of(&[unix, datagrams]), ALLOW),
            (&open, libc::SYS_ioctl, of(&[0, 0x5412]), ask),
            (&open, libc::SYS_ioctl, of(&[0, 0x541C]), ask),
            (&open, libc::SYS_ioctl, of(&[0, 0x5401]), ALLOW),
            (&open, libc::SYS_prlimit64, of(&[0, 7]), ALLOW),
            (&open, libc::SYS_prlimit64, of(&[1, 7]), ask),
            (&open, libc::SYS_setpriority, of(&[0, 1, 19]), ask),
            (&open, libc::SYS_sched_setaffinity, of(&[0, 8]), ALLOW),
            (&open, libc::SYS_sched_setaffinity, of(&[1, 8]), ask),
            (&open, libc::SYS_sched_setscheduler, of(&[1, 5]), ask),
            (&open, libc::SYS_personality, of(&[-1]), ALLOW),
            (&open, libc::SYS_personality, of(&[0x0004_0000]), ask),
        ];
        meet(&cases);
    }

    #[test]
    fn files_run_as_nobody_else_and_hosts_are_the_proxys() {
        let open = Sandbox { network: Network::Open, ..Sandbox::default() };
        let proxied =
            Sandbox { network: Network::Proxy(9), private_ipc: true, ..Sandbox::default() };
        let (ask, gone) = (libc::SECCOMP_RET_USER_NOTIF, error(libc::ENOSYS));
        let (inet, inet6) = (libc::AF_INET, libc::AF_INET6);
        let (stream, datagrams, raw) = (libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW);
        let (cloexec, create) = (libc::SOCK_CLOEXEC, libc::O_CREAT | libc::O_WRONLY);
        meet(&[
            (&open, libc::SYS_fchmod, of(&[3, 0o755]), ALLOW),
            (&open, libc::SYS_fchmod, of(&[3, 0o4755]), ask),
            (&open, libc::SYS_fchmodat, of(&[3, 0, 0o2755]), ask),
            (&open, 452, of(&[3, 0, 0o4755]), ask),
            (&open, libc::SYS_openat, of(&[3, 0, create, 0o644]), ALLOW),
            (&open, libc::SYS_openat, of(&[3, 0, create, 0o4755]), ask),
            (&open, libc::SYS_openat, of(&[3, 0, libc::O_TMPFILE | libc::O_RDWR, 0o2755]), ask),
            // Not made: the mode means nothing.
            (&open, libc::SYS_openat, of(&[3, 0, libc::O_DIRECTORY, 0o4755]), ALLOW),
            (&open, libc::SYS_openat2, of(&[3]), gone),
            (&open, libc::SYS_mknodat, of(&[3, 0, 0o10_0644]), ALLOW),
            (&open, libc::SYS_mknodat, of(&[3, 0, 0o01_0600]), ALLOW),
            (&open, libc::SYS_mknodat, of(&[3, 0, 0o02_0600]), ask),
            (&open, libc::SYS_mknodat, of(&[3, 0, 0o06_0600]), ask),
            (&open, libc::SYS_mknodat, of(&[3, 0, 0o10_4755]), ask),
            (&open, libc::SYS_shmget, of(&[]), ALLOW),
            (&proxied, libc::SYS_shmget, of(&[]), ask),
            (&proxied, libc::SYS_semget, of(&[]), ask),
            (&open, libc::SYS_connect, of(&[3]), ALLOW),
            (&proxied, libc::SYS_connect, of(&[3]), ask),
            (&proxied, libc::SYS_listen, of(&[3]), ask),
            (&proxied, libc::SYS_sendto, of(&[3, 0, 9, 0]), ALLOW),
            (&proxied, libc::SYS_sendto, of(&[3, 0, 9, libc::MSG_FASTOPEN]), ask),
            (&proxied, libc::SYS_sendmsg, of(&[3, 0, libc::MSG_FASTOPEN]), ask),
            (&proxied, libc::SYS_socket, of(&[inet, stream | cloexec, 0]), ALLOW),
            (&proxied, libc::SYS_socket, of(&[inet6, stream, libc::IPPROTO_TCP]), ALLOW),
            (&proxied, libc::SYS_socket, of(&[inet, stream, libc::IPPROTO_MPTCP]), ask),
            (&proxied, libc::SYS_socket, of(&[inet, datagrams]), ask),
            (&proxied, libc::SYS_socket, of(&[inet, raw, 1]), ask),
        ]);
    }

    type FilterCase<'s> = (&'s Sandbox, c_long, [u64; 6], u32);

    fn meet(cases: &[FilterCase<'_>]) {
        let ask = libc::SECCOMP_RET_USER_NOTIF;
        for &(sandbox, call, arguments, expected) in cases {
            let asked = run(&program(sandbox, Asking::Keeper), call, arguments);
            assert_eq!(asked, expected, "call {call} {arguments:?}");
            let alone = run(&program(sandbox, Asking::Nobody), call, arguments);
            let is_process = call == libc::SYS_clone;
            let expected = match expected {
                _ if expected == ask && is_process => ALLOW,
                _ if expected == ask => error(libc::EPERM),
                other => other,
            };
            assert_eq!(alone, expected, "call {call} {arguments:?} where nobody is asked");
        }
    }
}
