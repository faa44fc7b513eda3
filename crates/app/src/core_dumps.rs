//! Keeps secrets out of core dumps: the memory of a platform holds its key and the secrets of its servers.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// From now on a crash of this process, or of a server that it starts, leaves no file behind.
pub(crate) fn forbid() {
    // Only the soft limit: whoever wants a dump of one server can raise it there (`ulimit -c unlimited`).
    let limit = Rlimit { current: Some(0), ..getrlimit(Resource::Core) };
    if let Err(error) = setrlimit(Resource::Core, limit) {
        tracing::warn!(%error, "core dumps cannot be turned off; one would hold secrets");
    }
    undumpable();
}

/// The limit does not count where the kernel hands dumps to a program (systemd-coredump). The price: debuggers
/// of the same user cannot be attached, so that debug builds go without.
#[cfg(all(target_os = "linux", not(debug_assertions)))]
fn undumpable() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "core dumps cannot be turned off; one would hold secrets");
    }
}

#[cfg(not(all(target_os = "linux", not(debug_assertions))))]
fn undumpable() {}
