//! Every number of this crate, with its reason.

use std::time::Duration;

/// What is left of a tree whose server or whose owner has ended gets this long between SIGTERM and
/// SIGKILL. The promise is "nothing left after 2 s" on a busy machine; this leaves 1.7 s for it.
pub(crate) const LEFTOVER_GRACE: Duration = Duration::from_millis(300);

/// Between two rounds of SIGKILL. Short at first, because a process that forked while being killed
/// is caught by the second round; long in the end, because what survives several rounds hangs in
/// the kernel or belongs to another user, and is waited for, not hunted.
pub(crate) const FIRST_KILL_PAUSE: Duration = Duration::from_millis(2);
pub(crate) const LAST_KILL_PAUSE: Duration = Duration::from_millis(250);

/// From the request to the server's exec. It takes 2 ms, 20 ms on a busy machine; a command on a
/// network disk may need seconds.
pub(crate) const LAUNCH: Duration = Duration::from_secs(15);

/// How often a launch is tried when the keeper vanishes before answering. Each time a new keeper is
/// started, so more than two means that helpers are being killed systematically.
pub(crate) const LAUNCH_ATTEMPTS: usize = 3;

/// Command, arguments and environment together. The kernel refuses more than 6 MiB (a quarter of
/// the stack limit, at most) with an error of its own; this only bounds what the keeper would
/// allocate.
pub(crate) const PARCEL_BYTES: usize = 8 << 20;

/// Read from a control socket at a time. Most parcels fit; the largest take 500 turns of the keeper.
pub(crate) const PIECE_BYTES: usize = 16 << 10;

/// From the closing of a dying keeper's sockets to its end. Microseconds, unless the machine swaps.
pub(crate) const DYING: Duration = Duration::from_secs(1);

/// Processes and threads of a walled-in server. One that drives a browser has two hundred.
pub(crate) const SANDBOX_TASKS: usize = 512;

/// Memory that one process of it may write to, and reserve for that. Node gives up at about 4 GiB by itself.
pub(crate) const SANDBOX_MEMORY: u64 = 4 << 30;

/// One file that it writes. The largest packages there are have about 3 GiB.
pub(crate) const SANDBOX_FILE: u64 = 4 << 30;

/// Files that one process of it may have open; most programs are content with 1,024.
pub(crate) const SANDBOX_OPEN_FILES: u64 = 8_192;

/// Files and addresses that are written down of a watched server. Those of a large one are some thousands.
pub(crate) const WATCHED_USES: usize = 50_000;

/// For what is run when a server is over: an engine that ends a container. It takes a second, or ten if what is in
/// the container does not listen.
pub(crate) const AFTERWARDS: Duration = Duration::from_secs(30);

/// What is removed of a private directory in one turn of the keeper: a few milliseconds.
pub(crate) const REMOVED_AT_ONCE: usize = 200;

/// Open files of one process: more are not asked of the system. A thousand servers take some five
/// thousand, ten thousand clients twenty thousand.
pub(crate) const MOST_OPEN_FILES: u64 = 65_536;
