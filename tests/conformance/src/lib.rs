//! What the conformance suite is run with: a fixture server, a shim that hides the prefix, and a
//! client that drives the gateway before the suite's own servers.

mod asking;
mod changes;
mod client;
mod era;
mod listing;
mod prompts;
mod questions;
mod resources;
mod rounds;
mod scripts;
mod serve;
mod server;
mod sessions;
mod shim;
mod tools;

pub use client::{Client, run as run_client};
pub use era::Era;
pub use serve::{Answers, over_http, over_stdio};
pub use shim::{Shim, run as run_shim};
