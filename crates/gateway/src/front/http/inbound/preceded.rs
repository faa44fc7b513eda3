//! `Preceded`: a socket of which some bytes were read already, and whose handshake may not be longer than is usual.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::limits::HANDSHAKE_BYTES;

#[derive(Debug)]
pub(crate) struct Preceded {
    /// Comes before what is read from the socket.
    start: Vec<u8>,
    stream: TcpStream,
    /// How much may still be read.
    left: usize,
}

impl Preceded {
    pub(crate) fn new(start: Vec<u8>, stream: TcpStream) -> Self {
        Self { start, stream, left: HANDSHAKE_BYTES }
    }

    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }
}

impl AsyncRead for Preceded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            // A handshake without an end would fill our memory.
            return Poll::Ready(Err(io::Error::other("the handshake is too long")));
        }
        let before = room.filled().len();
        if self.start.is_empty() {
            ready!(Pin::new(&mut self.stream).poll_read(context, room))?;
        } else {
            let count = self.start.len().min(room.remaining());
            room.put_slice(self.start.get(..count).unwrap_or_default());
            self.start.drain(..count);
        }
        let count = room.filled().len() - before;
        self.left = self.left.saturating_sub(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Preceded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
