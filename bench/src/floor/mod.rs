//! The floor: the least an aggregator must do, done as fast as we can. It is the yardstick, not a product.
//!
//! One thread, one epoll loop. A line from the client is scanned for its id and tool name, gets a new id and the
//! child's own tool name spliced in and is appended to that child's outbox; a line from a child gets its old id back
//! and is appended to the client's outbox. Every outbox is written at most once per wake-up. There is no validation,
//! no limit, no timeout and no supervision, but also nothing a real gateway could not do: a line is forwarded only
//! when it is whole, and a child is asked for its tools only after it answered `initialize`. This is so over stdio;
//! `http` is the same behind HTTP. Calls of the modern era pass in the same way; `_meta` is not looked at, and client
//! and children must be of one era.

mod catalog;
mod children;
mod config;
mod events;
mod exchange;
mod http;
mod modern;
mod outbox;
mod pending;
mod routes;
mod splice;

pub use http::run as run_http;
use std::error::Error;
use std::path::Path;

/// Serves stdin/stdout with the servers of the file `config` until stdin ends.
pub fn run(config: &Path) -> Result<(), Box<dyn Error>> {
    let servers = config::read(config)?;
    let mut children = children::start(&servers)?;
    events::Loop::new(&servers, &mut children)?.run()?;
    for child in &mut children {
        child.wait()?;
    }
    Ok(())
}
