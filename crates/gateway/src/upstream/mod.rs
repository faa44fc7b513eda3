//! The servers: how they are started, kept, asked, and matched with their answers.

mod broken;
mod connection;
mod handshake;
mod last_words;
mod launch;
mod life;
mod pending;
mod server;
mod shown;
mod state;
mod supervisor;

pub(crate) use connection::Connection;
pub use launch::Inherited;
pub(crate) use server::Server;
pub use state::{Failure, Phase, State, Status};
pub(crate) use supervisor::{Supervisor, supervise};
