//! Starts a command so that none of its descendants outlives us.
//!
//! ```text
//! trunkline ──► keeper ──────────────► each server ──► whatever it starts
//! owner/        helper/, one process   a subreaper by our doing, before its exec
//! ```
//!
//! Three levels adopt orphans. A living server adopts those below it, so that its tree is what
//! descends from it, daemons included. What a server leaves when it ends falls to the keeper, which
//! kills it. If the keeper is killed, all servers fall to Trunkline, which kills them. For each
//! server the keeper holds one end of a control socket; when the other end closes, for whatever
//! reason, it kills that tree.
//!
//! The keeper is a process of its own because it must outlive a Trunkline that is killed, and because
//! a fork of Trunkline, which has threads and much memory, is dear. It is one for all servers because
//! a process for each took twice the time of the server's own start.
//!
//! Invariants:
//! - Trunkline has no direct children but keepers. Any other is what a lost keeper has left and is
//!   killed (`owner/strays.rs`). So nothing else in the program may start or wait for processes.
//! - The keeper has no direct children but living servers. Any other is what an ended server has left
//!   and is killed (`helper/strays.rs`).
//! - No server survives its keeper. The loss of a keeper, by SIGKILL only, is the loss of all of its
//!   trees ([`ProcessExit::Lost`]); the next launch starts a new one.
//! - The keeper holds neither our stdin, stdout or stderr, nor those of a server that runs; no server
//!   holds a descriptor of another's.
//! - Each server founds a process group: nobody but its tree is in it.
//! - The keeper has one thread, waits in `poll` only, and has no timeout there while all servers
//!   serve: it does not run while nothing happens.
//! - What a server may do is fixed before its exec (`sandbox`): nobody can widen it later. The keeper answers
//!   what a walled-in server asks; without a keeper the answer is no.
//! - The name and the command line of the keeper do not contain "trunkline": `pkill -9 trunkline`
//!   must leave it alive, for it cleans up.
//!
//! The price: a server that does not wait for the orphans it has adopted keeps those that end as
//! zombies until it ends itself, as the first process of a container does. And while the keeper
//! executes a command on a network disk that does not answer, it does nothing else.
//!
//! By hand: no library makes a subreaper, without which descendants outlive a process that is
//! killed.

mod descriptors;
mod error;
mod exit;
mod family;
mod helper;
mod inheritance;
mod launch;
mod limits;
mod message;
mod open_files;
mod owner;
mod sandbox;
mod system;

pub use error::LaunchError;
pub use exit::ProcessExit;
pub use helper::{find_program, run_if_asked};
pub use inheritance::keep_descriptors_from_programs;
pub use launch::Launch;
pub use open_files::raise_open_files;
pub use owner::{Custody, Keeper, Tree};
pub use sandbox::{Access, AllowedPath, LOCAL_SOCKET, Network, Sandbox, Support, support};
