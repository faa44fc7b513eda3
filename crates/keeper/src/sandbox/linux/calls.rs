//! The system calls that no server needs: those that reach into other processes or into the kernel.

use std::ffi::c_long;

use super::filter::is_read;

/// Refused whatever their arguments are, with their names for the log.
pub(super) const REFUSED: &[(c_long, &str)] = &[
    // Other processes. Landlock refuses most of it as well; here it is refused by name.
    (libc::SYS_ptrace, "ptrace"),
    (libc::SYS_process_vm_readv, "process_vm_readv"),
    (libc::SYS_process_vm_writev, "process_vm_writev"),
    (libc::SYS_pidfd_getfd, "pidfd_getfd"),
    (libc::SYS_process_madvise, "process_madvise"),
    (libc::SYS_kcmp, "kcmp"),
    // What the file tree looks like, which would lead around rules about paths.
    (libc::SYS_mount, "mount"),
    (libc::SYS_umount2, "umount"),
    (libc::SYS_pivot_root, "pivot_root"),
    (libc::SYS_chroot, "chroot"),
    (libc::SYS_fsopen, "fsopen"),
    (libc::SYS_fsmount, "fsmount"),
    (libc::SYS_fsconfig, "fsconfig"),
    (libc::SYS_fspick, "fspick"),
    (libc::SYS_open_tree, "open_tree"),
    (libc::SYS_move_mount, "move_mount"),
    (libc::SYS_mount_setattr, "mount_setattr"),
    (libc::SYS_open_by_handle_at, "open_by_handle_at"),
    (libc::SYS_setns, "setns"),
    (libc::SYS_quotactl, "quotactl"),
    (libc::SYS_fanotify_init, "fanotify_init"),
    // The kernel itself: large interfaces with a long history of holes.
    (libc::SYS_bpf, "bpf"),
    (libc::SYS_perf_event_open, "perf_event_open"),
    (libc::SYS_userfaultfd, "userfaultfd"),
    (libc::SYS_io_uring_setup, "io_uring_setup"),
    (libc::SYS_io_uring_enter, "io_uring_enter"),
    (libc::SYS_io_uring_register, "io_uring_register"),
    (libc::SYS_keyctl, "keyctl"),
    (libc::SYS_add_key, "add_key"),
    (libc::SYS_request_key, "request_key"),
    (libc::SYS_kexec_load, "kexec_load"),
    (libc::SYS_kexec_file_load, "kexec_file_load"),
    (libc::SYS_init_module, "init_module"),
    (libc::SYS_finit_module, "finit_module"),
    (libc::SYS_delete_module, "delete_module"),
    (libc::SYS_syslog, "syslog"),
    (libc::SYS_lookup_dcookie, "lookup_dcookie"),
    // The machine.
    (libc::SYS_reboot, "reboot"),
    (libc::SYS_swapon, "swapon"),
    (libc::SYS_swapoff, "swapoff"),
    (libc::SYS_acct, "acct"),
    (libc::SYS_sethostname, "sethostname"),
    (libc::SYS_setdomainname, "setdomainname"),
    (libc::SYS_settimeofday, "settimeofday"),
    (libc::SYS_clock_settime, "clock_settime"),
    (libc::SYS_clock_adjtime, "clock_adjtime"),
    (libc::SYS_vhangup, "vhangup"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_iopl, "iopl"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_ioperm, "ioperm"),
];

/// Memory, semaphores and queues that processes of the machine have in common.
pub(super) const SHARED_IPC: &[(c_long, &str)] = &[
    (libc::SYS_shmget, "shmget"),
    (libc::SYS_shmat, "shmat"),
    (libc::SYS_semget, "semget"),
    (libc::SYS_msgget, "msgget"),
    (libc::SYS_mq_open, "mq_open"),
    (libc::SYS_mq_unlink, "mq_unlink"),
];

/// Signals, with whom they are for in the first argument. Those inside of the tree are let through. `tgkill` is not
/// among them, with which runtimes interrupt their own threads all the time: Landlock guards it, and all of these.
pub(super) const SIGNALS: &[(c_long, &str)] = &[
    (libc::SYS_kill, "a signal to another process"),
    (libc::SYS_tkill, "a signal to another process"),
    (libc::SYS_rt_sigqueueinfo, "a signal to another process"),
];

/// Becoming somebody else, with how many arguments say whom. Without capabilities the kernel refuses it as well; here it
/// is told.
pub(super) const USERS: &[(c_long, u32, &str)] = &[
    (libc::SYS_setuid, 1, "setuid"),
    (libc::SYS_setreuid, 2, "setreuid"),
    (libc::SYS_setresuid, 3, "setresuid"),
];
pub(super) const GROUPS: &[(c_long, u32, &str)] = &[
    (libc::SYS_setgid, 1, "setgid"),
    (libc::SYS_setregid, 2, "setregid"),
    (libc::SYS_setresgid, 3, "setresgid"),
];

/// What makes files or changes their rights, with the argument that holds the mode: a file that runs
/// as its owner would be a way out for whoever starts it. Those of `open` stand behind its flags.
pub(super) const MODES: &[(c_long, u32, &str)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1, "chmod to set-user-id"),
    (libc::SYS_fchmod, 1, "fchmod to set-user-id"),
    (libc::SYS_fchmodat, 2, "fchmodat to set-user-id"),
    (SYS_FCHMODAT2, 2, "fchmodat2 to set-user-id"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1, "creat of a set-user-id file"),
];

/// As `MODES`, where the mode says also whether it is to be a device.
pub(super) const NODES: &[(c_long, u32, &str)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1, "mknod of a device"),
    (libc::SYS_mknodat, 2, "mknodat of a device"),
];

/// Calls with flags and a mode: the place of the flags; the mode follows.
pub(super) const OPENS: &[(c_long, u32, &str)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, "open of a set-user-id file"),
    (libc::SYS_openat, 2, "openat of a set-user-id file"),
];

/// Where the path is, and the flags, of a call that opens something to read it.
pub(super) fn read(call: c_long, arguments: &[u64; 6]) -> Option<(u64, u32)> {
    let (_, at, _) = OPENS.iter().find(|(known, _, _)| *known == call)?;
    let at = usize::try_from(*at).ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "flags are 32 bits wide")]
    let flags = *arguments.get(at)? as u32;
    Some((*arguments.get(at.checked_sub(1)?)?, flags)).filter(|_| is_read(flags))
}

/// Its number, on every processor; not every C library has it.
const SYS_FCHMODAT2: c_long = 452;

/// Refused for some arguments; the filter says which.
pub(super) const BY_ARGUMENT: &[(c_long, &str)] = &[
    (libc::SYS_connect, "connect to anything but the proxy"),
    (libc::SYS_listen, "listen"),
    (libc::SYS_sendto, "sendto that connects"),
    (libc::SYS_sendmsg, "sendmsg that connects"),
    (libc::SYS_sendmmsg, "sendmmsg that connects"),
    (libc::SYS_socket, "socket"),
    (libc::SYS_socketpair, "socketpair"),
    (libc::SYS_unshare, "unshare"),
    (libc::SYS_clone, "clone"),
    (libc::SYS_ioctl, "ioctl on a terminal"),
    (libc::SYS_prlimit64, "prlimit of another process or of core dumps"),
    (libc::SYS_setrlimit, "setrlimit of core dumps"),
    (libc::SYS_capset, "capset"),
    (libc::SYS_setpriority, "setpriority of another process"),
    (libc::SYS_sched_setaffinity, "sched_setaffinity of another process"),
    (libc::SYS_sched_setscheduler, "sched_setscheduler of another process"),
    (libc::SYS_sched_setparam, "sched_setparam of another process"),
    (libc::SYS_sched_setattr, "sched_setattr of another process"),
    (libc::SYS_personality, "personality"),
];

/// Those that make a process slower; the first argument is whose.
pub(super) const SCHEDULING: &[c_long] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// Those that make a process or a thread, and are counted.
pub(super) const FORKS: &[c_long] = &[
    libc::SYS_clone,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// New namespaces: in one of its own user namespace a process has all capabilities.
pub(super) const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .cast_unsigned();

/// What a call would be given, and the kernel refuses it in any case: it is looked at to be told.
pub(super) fn wish(call: c_long, arguments: &[u64; 6]) -> Option<Wish> {
    let [first, second, third, ..] = *arguments;
    let is_own = first & u64::from(u32::MAX) == 0;
    match call {
        libc::SYS_capset => Some(Wish::Capabilities(second)),
        libc::SYS_setrlimit => Some(Wish::CoreDumps(second)),
        libc::SYS_prlimit64 if is_own => Some(Wish::CoreDumps(third)),
        _ => None,
    }
}

/// Where in the memory of who asks it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Capabilities(u64),
    CoreDumps(u64),
}

/// What a refused call is called.
pub(super) fn name(call: c_long) -> &'static str {
    let plain = REFUSED.iter().chain(BY_ARGUMENT).chain(SHARED_IPC).chain(SIGNALS).copied();
    let modes = MODES
        .iter()
        .chain(NODES)
        .chain(OPENS)
        .chain(USERS)
        .chain(GROUPS)
        .map(|(call, _, name)| (*call, *name));
    let known = plain.chain(modes).find(|(number, _)| *number == call);
    known.map_or("a system call", |(_, name)| name)
}
