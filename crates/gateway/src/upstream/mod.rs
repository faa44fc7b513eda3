//! The servers: how they are started, kept, asked, and matched with their answers.

mod broken;
mod connection;
mod crossing;
mod declared;
mod given_up;
mod handshake;
mod incoming;
mod last_words;
mod launch;
mod life;
mod line;
mod listen;
mod open;
mod parking;
mod pending;
mod probe;
mod ready;
mod remote;
mod rounds;
mod server;
mod shown;
mod state;
mod subscriptions;
mod supervisor;
mod tasks;

pub(crate) use connection::Connection;
pub use declared::Declared;
pub(crate) use declared::passed_on;
pub use launch::Inherited;
pub(crate) use parking::Parking;
pub use remote::client_tls;
pub(crate) use server::{Live, Server};
pub use state::{Failure, Phase, State, Status};
pub use supervisor::Restart;
pub(crate) use supervisor::{Supervisor, supervise};
