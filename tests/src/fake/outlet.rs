//! Where the messages of a behaviour go: stdout, the answer of a POST, or a session's stream.

use std::sync::{Arc, Mutex};

use super::net::reply::Reply;
use super::net::session::Sessions;
use super::net::stream::Stream;

/// One way out. A message is framed as its transport asks; raw bytes go as they are.
#[derive(Debug, Clone, Default)]
pub(super) enum Outlet {
    #[default]
    Nowhere,
    Stdout(Arc<Stdout>),
    /// The answer of one POST.
    Reply(Arc<Reply>),
    /// One stream of one session.
    Stream(Arc<Stream>),
    /// The stream of every session.
    Everyone(Arc<Sessions>),
}

impl Outlet {
    /// One message, given in parts.
    pub(super) fn message<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) {
        let mut parts: Vec<&[u8]> = parts.into_iter().collect();
        if let Self::Stdout(stdout) = self {
            parts.push(b"\n");
            return match parts.len() {
                0..64 => stdout.write_all([&parts.concat()[..]]),
                _ => stdout.write_all(parts),
            };
        }
        let whole = parts.concat();
        match self {
            Self::Nowhere | Self::Stdout(_) => {}
            Self::Reply(reply) => reply.message(&whole),
            Self::Stream(stream) => stream.message(&whole),
            Self::Everyone(sessions) => {
                for session in sessions.all() {
                    session.push.message(&whole);
                }
            }
        }
    }

    /// A message as its transport frames it, for behaviours that cut it themselves.
    pub(super) fn framed(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Stdout(_) | Self::Nowhere => [message, b"\n"].concat(),
            Self::Reply(_) | Self::Stream(_) | Self::Everyone(_) => super::net::event(message),
        }
    }

    /// Exactly these bytes, each piece in a write of its own and no other write between them.
    pub(super) fn bytes<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) {
        match self {
            Self::Nowhere | Self::Everyone(_) => {}
            Self::Stdout(stdout) => stdout.write_all(pieces),
            Self::Reply(reply) => reply.bytes(pieces),
            Self::Stream(stream) => stream.bytes(pieces),
        }
    }

    /// The answer of a POST, for what only HTTP can do.
    pub(super) fn reply(&self) -> Option<&Reply> {
        match self {
            Self::Reply(reply) => Some(reply),
            _ => None,
        }
    }
}

/// Writing to stdout without a buffer: one piece is one `write`, unless the pipe is full.
#[derive(Debug, Default)]
pub(super) struct Stdout(Mutex<()>);

impl Stdout {
    fn write_all<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) {
        let _turn = self.0.lock().expect("no holder panics");
        for piece in pieces {
            put(piece);
        }
    }
}

fn put(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            // Nobody reads us any more; stdin tells the same.
            Err(_) => return,
        }
    }
}
