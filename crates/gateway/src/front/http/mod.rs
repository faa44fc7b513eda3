//! Clients that come over HTTP, many at a time: `/mcp` (Streamable HTTP), `/sse` (the old transport),
//! and pages for operators.
//!
//! A connection lives on the pump like any other stream: its requests are read, handled and answered
//! on one thread, and a call passes from socket to pipe and back without a switch.
//!
//! Imports go one way: tls, access ◄ connection ◄ sessions, attached ◄ front ◄ request ◄ replicas ◄ handlers ◄ routes
//! ◄ inbound ◄ sweep, serve.

mod access;
mod attached;
mod connected_clients;
mod connection;
mod front;
mod handlers;
mod inbound;
mod replicas;
mod request;
mod routes;
mod serve;
mod sessions;
mod sweep;
mod tls;

pub use access::{PeerNetwork, WrongTokens, retry_after};
pub use attached::{
    Attachment, BodyRule, TooManyConnections, WebConnection, WebHeaders, WebReply, WebRequest,
    WebStream,
};
pub use connected_clients::{ClientTransport, ConnectedClient, ConnectedClients};
pub(crate) use serve::serve;
pub use serve::{FrontNetwork, HttpOptions, RedirectOptions};
pub use tls::{FrontTls, TlsFault, TlsFiles};
