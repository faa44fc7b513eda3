//! The servers: how they are started, kept, asked, and matched with their answers.

mod broken;
mod connection;
mod declared;
mod given_up;
mod handshake;
mod incoming;
mod last_words;
mod launch;
mod life;
mod line;
mod pending;
mod ready;
mod remote;
mod server;
mod shown;
mod state;
mod subscriptions;
mod supervisor;

pub(crate) use connection::Connection;
pub use declared::Declared;
pub use launch::Inherited;
pub(crate) use server::{Live, Server};
pub use state::{Failure, Phase, State, Status};
pub use supervisor::Restart;
pub(crate) use supervisor::{Supervisor, supervise};
