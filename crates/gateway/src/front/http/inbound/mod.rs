//! What clients send: connections, their requests, and the decision about each by its head.

mod address_counts;
mod admission;
mod listener;
mod reader;

pub(crate) use listener::accept;
