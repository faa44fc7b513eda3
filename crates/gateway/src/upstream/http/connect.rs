//! Opens connections: finds the host, connects, and agrees on encryption where the URL asks for it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt;
use rustls::ClientConnection;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use trunkline_http::reach::Policy;
use trunkline_http::{Scheme, Url};

use crate::limits::CONNECT;
use crate::pump::{Outbox, Reader, Sink};
use crate::stream::Input;
use crate::upstream::http::tls::{Decrypting, secure};
use crate::upstream::http::trouble::Trouble;

/// A connection that is ready for requests.
#[derive(Debug)]
pub(super) enum Socket {
    Plain(OwnedFd),
    Secured(OwnedFd, Box<ClientConnection>),
}

impl Socket {
    /// Its two sides; what is read goes to `reader`, what is in `outbox` is written.
    pub(super) fn split(
        self,
        reader: Box<dyn Reader>,
        outbox: &Outbox,
    ) -> io::Result<(Input, Sink, Box<dyn Reader>)> {
        match self {
            Self::Plain(fd) => {
                let (input, sink) = Sink::socket(fd)?;
                Ok((input, sink, reader))
            }
            Self::Secured(fd, connection) => {
                let (input, sink, tls) = Sink::secured(fd, *connection)?;
                let reader = Decrypting::new(tls, reader, outbox.clone());
                Ok((input, sink, Box::new(reader)))
            }
        }
    }
}

/// `guard`: which addresses may be reached; none: all.
pub(super) async fn connect(url: Url, guard: Option<Arc<Policy>>) -> Result<Socket, Trouble> {
    let stream = reach(&url, guard.as_deref()).await?;
    prepare(&stream).map_err(|error| Trouble::unconnected(&url, &error))?;
    let connection = match url.scheme() {
        Scheme::Http => None,
        Scheme::Https => Some(Box::new(secure(&stream, &url).await?)),
    };
    let stream = stream.into_std().map_err(|error| Trouble::unconnected(&url, &error))?;
    Ok(match connection {
        None => Socket::Plain(stream.into()),
        Some(connection) => Socket::Secured(stream.into(), connection),
    })
}

/// Tries each address of the host in turn. What is connected to is what was judged.
async fn reach(url: &Url, guard: Option<&Policy>) -> Result<TcpStream, Trouble> {
    let mut last = None;
    for address in resolve(url).await? {
        // The address, not the name: a name may resolve to another address a moment later (DNS
        // rebinding).
        if let Some(Err(refused)) = guard.map(|guard| guard.judge(address.ip())) {
            last = Some(Trouble::unconnected(url, &io::Error::other(refused.to_string())));
            continue;
        }
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = Some(Trouble::unconnected(url, &error)),
            Err(_) => last = Some(Trouble::no_connection_within(url, CONNECT)),
        }
    }
    Err(last.unwrap_or_else(|| Trouble::unresolved(url, &io::ErrorKind::NotFound.into())))
}

async fn resolve(url: &Url) -> Result<Vec<SocketAddr>, Trouble> {
    match timeout(CONNECT, lookup_host((url.host(), url.port()))).await {
        Ok(Ok(addresses)) => Ok(addresses.collect()),
        Ok(Err(error)) => Err(Trouble::unresolved(url, &error)),
        Err(_) => Err(Trouble::unresolved(url, &io::ErrorKind::TimedOut.into())),
    }
}

/// A request leaves at once; a peer that has vanished without a word is noticed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    // A minute in all: a firewall that drops a connection silently is noticed before a user gives
    // up.
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(30))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(10))?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    Ok(())
}
