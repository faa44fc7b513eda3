//! What the conformance suite is run with: a fixture server, and a shim that hides the prefix.

mod listing;
mod prompts;
mod resources;
mod serve;
mod server;
mod sessions;
mod shim;
mod tools;

pub use serve::{over_http, over_stdio};
pub use shim::{Shim, run as run_shim};
