//! Starts a command so that none of its descendants outlives us.
//!
//! ```text
//! trunkline ──► keeper ─────────────► one shim per server ──► the server ──► whatever it starts
//! owner/        helper/keeper.rs      helper/shim.rs
//! ```
//!
//! The shim adopts every orphan below it and holds one end of a control socket; when the other end
//! closes, for whatever reason, it kills all that is below it. The keeper exists because a fork of
//! a small single-threaded process costs a tenth of an exec, and because a fork of Trunkline
//! itself, which has threads, would be unsound.
//!
//! Invariants:
//! - Trunkline has no direct children but the keeper and shims whose keeper died. Any other is a
//!   descendant of a lost shim and is killed (`owner/strays.rs`). So nothing else in the program
//!   may start or wait for processes.
//! - No helper holds our stdin, stdout or stderr, nor any descriptor of a server's; no server holds
//!   one of another's.
//! - Each shim founds a session: nobody but its tree is in it.
//! - No helper runs while nothing happens: they block in `poll` and `wait`, without a timeout.
//! - The names and the command lines of helpers do not contain "trunkline": `pkill -9 trunkline`
//!   must leave the shims alive, for they clean up.

mod descriptors;
mod error;
mod exit;
mod family;
mod helper;
mod launch;
mod limits;
mod message;
mod owner;
mod system;

pub use error::LaunchError;
pub use exit::Exit;
pub use helper::run_if_asked;
pub use launch::Launch;
pub use owner::{Custody, Keeper, Tree};
