//! One non-blocking connection: what was read from it and what is on its way to it.

use crate::floor::outbox::Outbox;
use crate::http::Inbox;
use std::io;
use std::net::TcpStream;

#[derive(Debug)]
pub(super) struct Socket {
    pub(super) inbox: Inbox,
    pub(super) outbox: Outbox,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { inbox: Inbox::default(), outbox: Outbox::new(stream.into()) })
    }
}
