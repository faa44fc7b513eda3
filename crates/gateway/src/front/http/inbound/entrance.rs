//! `Entrance`: the way from an accepted socket to a connection whose requests are read: the header of a load balancer,
//! the TLS handshake. Both wait for bytes, so they happen on the runtime, bounded in number, size and time.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use trunkline_http::reach::Cidr;
use trunkline_http::{BadProxyHeader, ProxyHeader, proxy_header};

use super::address_counts::{AddressCounts, REFUSED, RefusedConnections};
use super::admission::ClientConn;
use super::http2::{Http2Reader, StreamCounts};
use super::open_handshakes::{HandshakePlace, OpenHandshakes};
use super::preceded::Preceded;
use super::reader::{ConnectionPlace, HttpReader};
use crate::certificate::ClientCertificate;
use crate::front::http::access::{ClientPeer, PeerNetwork};
use crate::front::http::connection::Conn;
use crate::front::http::front::Front;
use crate::front::http::tls::{FrontTls, HTTP2};
use crate::limits::{LEAVING_SECONDS, TLS_HANDSHAKE, shortened};
use crate::lock::{Mutex, rank};
use crate::pump::{AtGoodbye, Decrypting, Reader, Sink};
use crate::stream::Input;

#[derive(Debug)]
pub(crate) struct Entrance {
    pub(crate) front: Arc<Front>,
    addresses: Arc<AddressCounts>,
    /// Open requests of HTTP/2.
    streams: StreamCounts,
    // Held to count one, and to log it once in a while.
    refused: Mutex<RefusedConnections, rank::RefusedConnections>,
    tls: Option<FrontTls>,
    /// Load balancers, which say whom they connect for.
    proxies: Vec<Cidr>,
    handshakes: Arc<OpenHandshakes>,
}

/// A connection that came to nothing. Told at the level of debugging: strangers cause it.
#[derive(Debug, thiserror::Error)]
enum NoConnection {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    ProxyHeader(#[from] BadProxyHeader),
    #[error("it does not speak TLS")]
    NoTls,
    #[error("its certificate names nobody")]
    Nameless,
    #[error("it was gone before it said anything")]
    Gone,
}

/// One spelling for one client: a socket for IPv4 and IPv6 shows 192.0.2.1 as `::ffff:192.0.2.1`, and logs, the audit log
/// and limits would know it under two names.
fn canonical(client: SocketAddr) -> SocketAddr {
    SocketAddr::new(client.ip().to_canonical(), client.port())
}

/// The first byte of a TLS handshake (RFC 8446, 5.1: the content type of the record).
const HANDSHAKE_RECORD: u8 = 22;

impl Entrance {
    pub(crate) fn new(
        front: Arc<Front>,
        per_address: Option<u32>,
        tls: Option<FrontTls>,
        proxies: Vec<Cidr>,
    ) -> Arc<Self> {
        Arc::new(Self {
            front,
            addresses: AddressCounts::new(per_address),
            streams: StreamCounts::new(per_address),
            refused: Mutex::default(),
            tls,
            proxies,
            handshakes: OpenHandshakes::new(),
        })
    }

    /// Takes a connection in: at once, or on the runtime if something has to come before its first request.
    pub(crate) fn take(
        self: &Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        permit: OwnedSemaphorePermit,
    ) -> io::Result<()> {
        let peer = canonical(peer);
        // Answers are small and written once: to wait for more to send would delay every one of them.
        stream.set_nodelay(true)?;
        if self.tls.is_none() && !self.is_proxy(peer.ip()) {
            return match self.place(peer.ip(), permit) {
                Some(place) => self.open_plain(stream, ClientPeer::plain(peer), place, Vec::new()),
                None => {
                    // Not waited for: what the kernel does not take at once is lost, and the connection ends.
                    let _ = stream.try_write(REFUSED);
                    Ok(())
                }
            };
        }
        // Whom a load balancer connects for is not known before its header is read.
        let from = (!self.is_proxy(peer.ip())).then(|| PeerNetwork::of(peer.ip()));
        let (entrance, turn) = (Arc::clone(self), self.handshakes.begin(from));
        let task = async move { entrance.greet(stream, peer, permit, turn).await };
        let context = &self.front.context;
        drop(context.tasks.spawn_on(task, &context.runtime));
        Ok(())
    }

    fn is_proxy(&self, peer: IpAddr) -> bool {
        self.proxies.iter().any(|network| network.contains(peer))
    }

    /// A place among the connections of this address; `None`: it has as many as it may.
    fn place(&self, peer: IpAddr, permit: OwnedSemaphorePermit) -> Option<ConnectionPlace> {
        // Another replica is no client: it passes on what many clients ask.
        if self.front.replicas.as_ref().is_some_and(|known| known.others.is_replica(peer)) {
            return Some(ConnectionPlace { _permit: permit, _address: None });
        }
        let Some(address) = self.addresses.enter(peer) else {
            self.refused.lock().count(peer);
            return None;
        };
        Some(ConnectionPlace { _permit: permit, _address: Some(address) })
    }

    /// What comes before the first request, within its time and while no other needs the place.
    async fn greet(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        permit: OwnedSemaphorePermit,
        turn: HandshakePlace,
    ) {
        let welcome = timeout(shortened(TLS_HANDSHAKE), self.welcome(stream, peer, permit, &turn));
        tokio::select! {
            done = welcome => match done {
                Ok(Ok(())) => {}
                Ok(Err(why)) => tracing::debug!(%peer, "a connection came to nothing: {why}"),
                Err(_) => tracing::debug!(%peer, "a connection was closed: its handshake took too long"),
            },
            () = turn.evicted() => {
                tracing::debug!(%peer, "a connection was closed: too many handshakes are open");
            }
            () = self.front.shutdown.ending() => {}
        }
    }

    async fn welcome(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
        permit: OwnedSemaphorePermit,
        turn: &HandshakePlace,
    ) -> Result<(), NoConnection> {
        let (mut client, mut start) = (peer, Vec::new());
        if self.is_proxy(peer.ip()) {
            match read_proxy_header(&mut stream, &mut start).await {
                Ok(ProxyHeader::Client(address)) => client = canonical(address),
                Ok(ProxyHeader::Unnamed) => {}
                Err(why) => {
                    if matches!(why, NoConnection::ProxyHeader(_)) {
                        answer_plainly(stream, NO_PROXY_HEADER).await;
                    }
                    return Err(why);
                }
            }
            turn.belongs_to(PeerNetwork::of(client.ip()));
        }
        let Some(place) = self.place(client.ip(), permit) else {
            if self.tls.is_none() {
                answer_plainly(stream, REFUSED).await;
            }
            return Ok(());
        };
        let Some(tls) = &self.tls else {
            return Ok(self.open_plain(stream, ClientPeer::plain(client), place, start)?);
        };
        let first = match start.first() {
            Some(first) => *first,
            None => first_byte(&stream).await?,
        };
        if first != HANDSHAKE_RECORD {
            answer_plainly(stream, NOT_ENCRYPTED).await;
            return Err(NoConnection::NoTls);
        }
        let acceptor = TlsAcceptor::from(tls.current());
        let stream = acceptor.accept(Preceded::new(start, stream)).await?;
        self.open_secured(stream, client, place)
    }

    fn open_secured(
        &self,
        stream: TlsStream<Preceded>,
        address: SocketAddr,
        place: ConnectionPlace,
    ) -> Result<(), NoConnection> {
        let (stream, connection) = stream.into_inner();
        let shown = connection.peer_certificates().and_then(<[_]>::first);
        let certificate = match shown {
            None => None,
            Some(shown) => Some(ClientCertificate::read(shown).ok_or(NoConnection::Nameless)?),
        };
        let certificate = certificate.map(Arc::new);
        let peer = ClientPeer { address, certificate, is_secure: true, is_forwarded: false };
        let is_http2 = connection.alpn_protocol() == Some(HTTP2);
        let fd = OwnedFd::from(stream.into_stream().into_std()?);
        let (input, sink, tls) = Sink::secured(fd, connection.into())?;
        let conn = self.conn(&peer);
        let outbox = conn.outbox.clone();
        let reader = match is_http2 {
            true => {
                let client =
                    ClientConn { front: Arc::clone(&self.front), conn: Arc::clone(&conn), peer };
                let reader = Http2Reader::new(client, self.streams.clone(), place);
                // Its client says goodbye in frames; behind those of TLS nothing is left to be answered.
                Decrypting::new(tls, Box::new(reader), outbox, AtGoodbye::Close)
            }
            false => {
                let reader = HttpReader::new(&self.front, &conn, peer, place, Vec::new());
                Decrypting::new(tls, Box::new(reader), outbox, AtGoodbye::FinishWriting)
            }
        };
        self.attend(&conn, (input, sink), Box::new(reader), true);
        Ok(())
    }

    /// Reads requests from a socket as they are; `start` came already.
    fn open_plain(
        &self,
        stream: TcpStream,
        peer: ClientPeer,
        place: ConnectionPlace,
        start: Vec<u8>,
    ) -> io::Result<()> {
        let sides = Sink::socket(OwnedFd::from(stream.into_std()?))?;
        let (conn, has_started) = (self.conn(&peer), !start.is_empty());
        let reader = HttpReader::new(&self.front, &conn, peer, place, start);
        self.attend(&conn, sides, Box::new(reader), has_started);
        Ok(())
    }

    fn conn(&self, peer: &ClientPeer) -> Arc<Conn> {
        let front = &self.front;
        // The sweeper may be asleep while nothing is connected: its clock stands.
        front.clock.advance();
        let ip = peer.address.ip();
        let address = front.context.limiter.address(PeerNetwork::of(ip).0);
        let conn = Arc::new(Conn::new(Arc::clone(&front.clock)).at(address, ip));
        front.add(&conn);
        conn
    }

    /// `has_started`: bytes have come already, and nothing else would make the reader look at them.
    fn attend(
        &self,
        conn: &Conn,
        (input, sink): (Input, Sink),
        reader: Box<dyn Reader>,
        has_started: bool,
    ) {
        let pump = self.front.pumps.for_client();
        conn.outbox.connect(sink, pump);
        let source = pump.read(input, reader);
        if has_started {
            source.poke();
        }
    }
}

/// Reads what a load balancer says first. `start` keeps what follows it.
async fn read_proxy_header(
    stream: &mut TcpStream,
    start: &mut Vec<u8>,
) -> Result<ProxyHeader, NoConnection> {
    loop {
        // Bounded: the header is refused when it is too long.
        if stream.read_buf(start).await? == 0 {
            return Err(NoConnection::Gone);
        }
        if let Some((header, length)) = proxy_header(start)? {
            start.drain(..length);
            return Ok(header);
        }
    }
}

async fn first_byte(stream: &TcpStream) -> Result<u8, NoConnection> {
    let mut first = [0];
    let count = stream.peek(&mut first).await?;
    let [first] = first;
    if count == 0 { Err(NoConnection::Gone) } else { Ok(first) }
}

/// Says why to whoever does not speak TLS, and waits a little until it has read it: the kernel resets a connection
/// that is closed with unread bytes, and the answer would be lost.
async fn answer_plainly(mut stream: TcpStream, answer: &[u8]) {
    let answering = async {
        stream.write_all(answer).await?;
        stream.shutdown().await?;
        let mut unread = [0; 4096];
        while stream.read(&mut unread).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    let limit = std::time::Duration::from_secs(LEAVING_SECONDS.into());
    // An error, or too late: it has gone, or does not want to.
    drop(timeout(limit, answering).await);
}

const NOT_ENCRYPTED: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\
    Content-Length: 68\r\nConnection: close\r\n\r\n\
    this port speaks TLS: ask for https://, not http:// (see --tls-cert)";

const NO_PROXY_HEADER: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\
    Content-Length: 98\r\nConnection: close\r\n\r\n\
    connections from this address must begin with a valid PROXY protocol header (see --proxy-protocol)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_name_their_lengths() {
        for answer in [NOT_ENCRYPTED, NO_PROXY_HEADER] {
            let text = std::str::from_utf8(answer).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(
                head.contains(&format!("Content-Length: {}\r\n", body.len())),
                "{}",
                body.len()
            );
        }
    }
}
