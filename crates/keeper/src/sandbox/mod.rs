//! Walls around a server: which files, network and system calls it has, and what bounds it.
//!
//! ```text
//! Sandbox (data) ──► Walls::prepare, in the keeper ──► Walls::raise, in the child ──► exec
//!                    opens paths, makes ruleset          system calls only
//!                    and filter: may allocate
//! ```
//!
//! Everything is allow-listed for files (Landlock knows no denials), refused one by one for system
//! calls (seccomp). What the filter refuses is asked of the keeper, which answers with an error and
//! reports it, so that a log can say what was refused; so is every new process and thread, which it
//! counts: `RLIMIT_NPROC` counts all processes of a user, and none of root's.

mod carve;
mod linux;
mod private;
mod real_paths;
mod rules;

pub use linux::{LOCAL_SOCKET, Support, support};
pub use rules::{Access, AllowedPath, Network, Sandbox};

pub(crate) use linux::{Listener, OUR_EXEC, Refusal, Walls};
pub(crate) use private::{PrivateDir, Removal, remove_abandoned};
