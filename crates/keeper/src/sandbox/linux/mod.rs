//! Linux: Landlock for files, seccomp for system calls, no capabilities, limits.

mod calls;
mod filter;
mod landlock;
mod listener;
mod memory;
mod support;
mod walls;
mod watch;

pub use listener::LOCAL_SOCKET;
pub use support::{Support, support};

pub(crate) use filter::OUR_EXEC;
pub(crate) use listener::{Listener, Refusal};
pub(crate) use walls::Walls;
