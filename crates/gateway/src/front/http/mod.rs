//! Clients that come over HTTP, many at a time: `/mcp` (Streamable HTTP), `/sse` (the old way),
//! and pages for whoever looks after the process.
//!
//! A connection lives on the pump like any other stream: its requests are read, handled and answered
//! on one thread, and a call passes from socket to pipe and back without a switch.

mod alone;
mod attach;
mod budget;
mod caller;
mod clock;
mod conn;
mod contexts;
mod entry;
mod events;
mod exchange;
mod front;
mod guard;
mod guests;
mod health;
mod listener;
mod mcp;
mod mirror;
mod once;
mod parented;
mod posted;
mod reader;
mod refusal;
mod repeat;
mod reply;
mod revoke;
mod routes;
mod serve;
mod sessions;
mod sse;
mod stateless;
mod streams;
mod sweep;
mod web;

pub use attach::{Attachment, WebHeaders, WebVisit};
pub use guests::{Guest, Guests, Way};
pub use serve::HttpOptions;
pub(crate) use serve::serve;
pub use web::{WebReply, WebStream};
