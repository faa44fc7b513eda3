//! What clients send: connections, their requests, and the decision about each by its head.

mod address_counts;
mod admission;
mod entrance;
mod forwarded;
mod http2;
mod listener;
mod open_handshakes;
mod preceded;
mod reader;
mod redirect;

pub(crate) use entrance::Entrance;
pub(crate) use listener::{accept, notice_vanished};
pub(crate) use redirect::redirect;
