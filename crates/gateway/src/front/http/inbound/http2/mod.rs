//! HTTP/2: the streams of one connection, each of which carries one request to the handlers of HTTP/1.1 and
//! its answer back.
//!
//! A connection is read by its pump like any other. What it says is taken apart by the crate `h2`, which is
//! polled there and never waits; a stream has a `Conn` of its own, so that limits, sweeper and handlers treat
//! its request like one on a connection of HTTP/1.1.

mod bounds;
mod frames;
mod heads;
mod ready;
mod resets;
mod streams;
mod watch;

pub(crate) use frames::{Http2Reader, StreamCounts};
