//! `NetStream`: a connection, encrypted or not, that knows whether a proxy reads its requests.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(super) struct NetStream {
    stream: Box<dyn Stream>,
    /// RFC 9112, 3.2.2: a proxy is told the whole URL, a server only the path.
    is_to_proxy: bool,
}

impl NetStream {
    pub(super) fn direct(stream: impl Stream + 'static) -> Self {
        Self { stream: Box::new(stream), is_to_proxy: false }
    }

    pub(super) fn through_proxy(self) -> Self {
        Self { is_to_proxy: true, ..self }
    }
}

impl Connection for NetStream {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.is_to_proxy)
    }
}

impl AsyncRead for NetStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, room)
    }
}

impl AsyncWrite for NetStream {
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
