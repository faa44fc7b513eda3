//! Clients that come over HTTP, many at a time: `/mcp` (Streamable HTTP), `/sse` (the old way),
//! and pages for whoever looks after the process.
//!
//! A connection lives on the pump like any other stream: its requests are read, handled and answered
//! on one thread, and a call passes from socket to pipe and back without a switch.

mod attach;
mod budget;
mod caller;
mod clock;
mod conn;
mod connected_clients;
mod contexts;
mod entry;
mod events;
mod exchange;
mod front;
mod guard;
mod head_cache;
mod health;
mod listener;
mod mcp;
mod mirror;
mod posted;
mod reader;
mod refusal;
mod reply;
mod revoke;
mod routes;
mod serve;
mod sessions;
mod sse;
mod stateless;
mod stateless_fast_path;
mod stateless_reply;
mod streams;
mod sweep;
mod traced_sink;
mod web;

pub use attach::{Attachment, WebHeaders, WebVisit};
pub use connected_clients::{ConnectedClient, ConnectedClients, Way};
pub use serve::HttpOptions;
pub(crate) use serve::serve;
pub use web::{WebReply, WebStream};
