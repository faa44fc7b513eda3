//! The floor behind HTTP: the least an aggregator must do for clients over Streamable HTTP, as fast as we can.
//!
//! As over stdio: one thread, one epoll loop, id and tool name spliced, every socket and pipe written at most once per
//! wake-up, and a message is forwarded only when it is whole. A client must name a session that exists, and a
//! request with an `origin` is refused: both are the protocol's. Servers over HTTP get a pool of connections that
//! stay open; one carries one call at a time. Servers must answer with JSON and a length. All are opened before the
//! first client is accepted. In the modern era there is no session: instead the headers must say what the body says,
//! and a server over HTTP gets its own tool's name in the head as well.

mod events;
mod exchange;
mod key;
mod open;
mod server;
mod socket;

use super::config;
use std::error::Error;
use std::net::TcpListener;
use std::path::Path;

/// What stands between server and tool in a tool's name.
const SEPARATOR: u8 = b'.';
const PROTOCOL: &str = "2025-06-18";

/// Serves at `listen` with the servers of the file `config` until stdin ends.
pub fn run(config: &Path, listen: &str) -> Result<(), Box<dyn Error>> {
    let opened = open::all(&config::read(config)?)?;
    let listener = TcpListener::bind(listen)?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    let mut processes = opened.processes;
    events::Loop::new(opened.exchange, listener)?.run()?;
    for process in &mut processes {
        process.wait()?;
    }
    Ok(())
}
