//! Linux: Landlock for files, seccomp for system calls, no capabilities, limits.

mod calls;
mod filter;
mod landlock;
mod listener;
mod support;
mod walls;

pub use support::{Support, support};

pub(crate) use listener::{Listener, Refusal};
pub(crate) use walls::Walls;
