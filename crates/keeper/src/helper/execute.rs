//! From the keeper to the server: what a new process does before its exec. The one unsafe place of
//! the program.
#![expect(unsafe_code, reason = "between fork and exec there is no safe interface; see SAFETY")]

use std::collections::BTreeMap;
use std::ffi::{CString, NulError, OsStr, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, fchdir, setpgid, waitpid};

use crate::launch::Launch;
use crate::sandbox::{OUR_EXEC, Walls};
use crate::{open_files, system};

/// Returns when the program is executed, or with the reason why it could not be.
///
/// The child borrows the keeper's memory until it executes the program, while the keeper stands
/// still (as in `posix_spawn`, which cannot make a process adopt orphans). A fork, which copies
/// what exec throws away, would cost three times as much.
pub(super) fn spawn(
    program: &Path,
    launch: &Launch,
    cwd: Option<&OwnedFd>,
    stdio: &[OwnedFd; 3],
    walls: Option<&Walls>,
) -> Result<Pid, SpawnError> {
    let image = Image::new(program, launch).map_err(|error| SpawnError::Program(error.into()))?;
    let plan = ExecPlan {
        image: &image,
        cwd,
        stdio: stdio.each_ref().map(AsRawFd::as_raw_fd),
        walls,
        failure: AtomicI32::new(0),
        is_walled: AtomicBool::new(walls.is_none()),
    };
    let mut room = Vec::<u128>::with_capacity(STACK_WORDS);
    // The stack grows downwards, so that its end is passed to `clone`.
    let stack = room.spare_capacity_mut().as_mut_ptr_range();
    // CLONE_VM without CLONE_VFORK would let both run on one memory; SIGCHLD makes the child one
    // that `wait` reaps.
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let argument: *const ExecPlan<'_> = &raw const plan;
    // A handler must not run in the child while it borrows our memory.
    let unblocked = block_signals();
    // SAFETY: the stack is ours, large enough for the few calls of `child` and aligned; the keeper
    // does not go on before the child has executed a program or ended (CLONE_VFORK), so that the
    // stack, the plan and what it borrows outlive their use. The keeper has no other threads. The
    // child changes nothing in our memory but `failure`, `is_walled` and `errno`.
    let pid = unsafe { libc::clone(child, stack.end.cast(), flags, argument.cast_mut().cast()) };
    // Read at once: restoring the mask may change `errno`.
    let refused = io::Error::last_os_error();
    set_signal_mask(&unblocked);
    let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 0) else {
        return Err(SpawnError::Program(refused));
    };
    // Relaxed: the child has executed or ended (CLONE_VFORK), so nothing runs beside this.
    match plan.failure.load(Ordering::Relaxed) {
        0 => Ok(pid),
        failure => {
            // It has ended; nobody else is to hear of it.
            let _ = waitpid(Some(pid), WaitOptions::empty());
            let error = io::Error::from_raw_os_error(failure);
            // Relaxed: as above.
            Err(match plan.is_walled.load(Ordering::Relaxed) {
                true => SpawnError::Program(error),
                false => SpawnError::Walls(error),
            })
        }
    }
}

/// What failed.
#[derive(Debug)]
pub(super) enum SpawnError {
    /// Its walls could not be raised.
    Walls(io::Error),
    Program(io::Error),
}

/// 64 KiB, in words that are aligned as a stack must be.
const STACK_WORDS: usize = 4096;

/// What the child is to become.
struct ExecPlan<'a> {
    image: &'a Image,
    cwd: Option<&'a OwnedFd>,
    stdio: [RawFd; 3],
    walls: Option<&'a Walls>,
    /// Why it did not, for the keeper.
    failure: AtomicI32,
    /// Whether its walls stand, or there are none.
    is_walled: AtomicBool,
}

/// The child's whole life before exec. It makes system calls only: it allocates nothing, takes no
/// lock and does not unwind.
extern "C" fn child(plan: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes its plan, which lives until we are gone.
    let plan = unsafe { &*plan.cast::<ExecPlan<'_>>() };
    let failure = plan.carry_out();
    // Relaxed: the keeper reads it only after this process has ended or executed.
    plan.failure.store(failure.raw_os_error(), Ordering::Relaxed);
    // SAFETY: ends this process without running anything of the keeper's.
    unsafe { libc::_exit(127) }
}

impl ExecPlan<'_> {
    /// Returns only if it fails.
    fn carry_out(&self) -> Errno {
        match self.prepare() {
            Ok(()) => self.image.execute(),
            Err(failure) => failure,
        }
    }

    fn prepare(&self) -> Result<(), Errno> {
        // `dup2` clears close-on-exec on the copies, so that exactly these three survive the exec.
        for (fd, standard) in self.stdio.into_iter().zip(0..) {
            // SAFETY: two numbers; both descriptors are this process's own copies.
            if unsafe { libc::dup2(fd, standard) } < 0 {
                return Err(last_errno());
            }
        }
        // A group of its own: Ctrl-C in the client's terminal is for the client, which then tells
        // us. Not a session of its own: where the scheduler groups processes by session (autogroup,
        // the default of most kernels), each server would be a group, which costs a call a quarter
        // more processor time and a third of the throughput.
        setpgid(None, None)?;
        // So the client's terminal, if it has one, can be reached. Ignoring these makes a server
        // that asks it for a password fail at once, instead of being stopped for it.
        for signal in [libc::SIGTTIN, libc::SIGTTOU] {
            set_signal(signal, libc::SIG_IGN);
        }
        // What the keeper handles and every Rust program ignores.
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGPIPE] {
            set_signal(signal, libc::SIG_DFL);
        }
        // A mask survives exec: the server must not inherit the one that protected the keeper's
        // memory.
        set_signal_mask(&no_signals());
        // The keeper has raised the limit for itself; programs that use `select` break above 1024.
        open_files::restore()?;
        // Survives exec: the server adopts what is orphaned below it.
        system::adopt_orphans()?;
        if let Some(cwd) = self.cwd {
            // Through the descriptor that was checked: a path could lead elsewhere by now.
            fchdir(cwd)?;
        }
        keep_descriptors();
        // Last: from here on it may do nothing more than the server.
        if let Some(walls) = self.walls {
            walls.raise()?;
            // Relaxed: the keeper reads it only after this process has ended or executed.
            self.is_walled.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Nothing above standard error is inherited, whatever our own starter has left open: an open file is used
/// without asking any wall, and a pipe that is held open never ends.
fn keep_descriptors() {
    // SAFETY: sets a flag that matters at the next exec only. A kernel that does not know the call (before 5.11)
    // has no walls, either.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::NOTRECOVERABLE)
}

/// For this process and what it executes. Each process has its own settings, also while it borrows
/// another's memory.
fn set_signal(signal: c_int, action: libc::sighandler_t) {
    // SAFETY: a system call; neither SIG_IGN nor SIG_DFL installs code to run.
    unsafe { libc::signal(signal, action) };
}

fn no_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: fills the set in, all of it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// Returns what was blocked before.
fn block_signals() -> libc::sigset_t {
    let (mut all, mut before) = (no_signals(), no_signals());
    // SAFETY: both sets are initialised and ours.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
    }
    before
}

fn set_signal_mask(mask: &libc::sigset_t) {
    // SAFETY: the set is initialised; no old one is asked for.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
}

/// A program with its arguments and its environment, as the kernel wants them: made beforehand,
/// because the child may not allocate.
///
/// std would build the same but execute it through `execvp`, which hands a file that is no program
/// for this machine to `sh`. That is to be an error.
struct Image {
    program: CString,
    arguments: Strings,
    environment: Strings,
}

impl Image {
    fn new(program: &Path, launch: &Launch) -> Result<Image, NulError> {
        // By convention argv[0] is the command as it was written and not the path that was found.
        let arguments = [&launch.command].into_iter().chain(&launch.args);
        // Of two values for one name the last counts.
        let environment: BTreeMap<&OsStr, &OsStr> =
            launch.env.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
        let environment = environment.into_iter();
        Ok(Image {
            program: CString::new(program.as_os_str().as_bytes())?,
            arguments: Strings::new(arguments.map(|argument| argument.as_bytes().to_vec()))?,
            environment: Strings::new(
                environment.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat()),
            )?,
        })
    }

    /// Returns only if it fails.
    fn execute(&self) -> Errno {
        let (arguments, environment) = (&self.arguments.pointers, &self.environment.pointers);
        // SAFETY: all three point to what `self` owns: a string that ends with NUL, and two lists of
        // such strings that end with a null pointer. The kernel reads three arguments; the last is for a filter.
        unsafe {
            libc::syscall(
                libc::SYS_execve,
                self.program.as_ptr(),
                arguments.as_ptr(),
                environment.as_ptr(),
                0usize,
                0usize,
                OUR_EXEC,
            );
        }
        last_errno()
    }
}

/// A list of strings that ends with a null pointer.
struct Strings {
    pointers: Vec<*const c_char>,
    /// What they point to. Moving a `CString` does not move its bytes.
    _owned: Vec<CString>,
}

impl Strings {
    fn new(strings: impl Iterator<Item = Vec<u8>>) -> Result<Strings, NulError> {
        let owned = strings.map(CString::new).collect::<Result<Vec<_>, _>>()?;
        let pointers = owned.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Ok(Strings { pointers, _owned: owned })
    }
}
