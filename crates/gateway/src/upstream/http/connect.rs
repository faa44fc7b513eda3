//! Opens connections: to the server or to its proxy, and agrees on encryption where the URL asks for it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use trunkline_http::proxy::{ChosenProxy, ProxyKind};
use trunkline_http::reach::Host;
use trunkline_http::{Scheme, Url};

use crate::limits::CONNECT;
use crate::pump::{AtGoodbye, Decrypting, Outbox, Reader, Sink};
use crate::stream::Input;
use crate::upstream::http::dial::{dial, resolve};
use crate::upstream::http::route::{Passage, ServerRoute};
use crate::upstream::http::tls::{agree, server_name, system_trust};
use crate::upstream::http::trouble::Trouble;
use crate::upstream::http::tunnel::{TunnelEnd, open_tunnel};

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
                let (input, sink, tls) = Sink::secured(fd, (*connection).into())?;
                let reader = Decrypting::new(tls, reader, outbox.clone(), AtGoodbye::Close);
                Ok((input, sink, Box::new(reader)))
            }
        }
    }
}

/// A connection, and what carries its bytes if that is not the kernel alone.
pub(super) struct Opened {
    pub(super) socket: Socket,
    pub(super) relay: Option<Relay>,
}

/// Carries bytes through the encryption of a proxy: the pump takes off one layer, not two.
pub(super) struct Relay {
    inner: UnixStream,
    outer: TlsStream<TcpStream>,
}

impl Relay {
    /// Until either side ends.
    pub(super) async fn run(mut self) {
        let carried = tokio::io::copy_bidirectional(&mut self.inner, &mut self.outer).await;
        if let Err(error) = carried {
            tracing::debug!(%error, "a connection through an encrypted proxy broke");
        }
    }
}

pub(super) async fn connect(url: Url, route: ServerRoute) -> Result<Opened, Trouble> {
    match route.way(&url) {
        Passage::Direct => {
            let stream = reach(&url, &route).await?;
            finish(stream, &url, &route).await
        }
        Passage::Forwarded(proxy) => {
            let stream = reach_proxy(proxy).await?;
            match proxy.proxy.kind() {
                ProxyKind::Https => secured_forward(stream, proxy).await,
                ProxyKind::Http | ProxyKind::Socks5 => plain(stream, &url),
            }
        }
        Passage::Tunnelled(proxy) => {
            let end = tunnel_end(&url, &route).await?;
            let mut stream = reach_proxy(proxy).await?;
            if proxy.proxy.kind() == ProxyKind::Https {
                return relayed(stream, &url, &route, proxy, &end).await;
            }
            let opened = open_tunnel(&mut stream, &proxy.proxy, &end).await;
            opened.map_err(|why| Trouble::no_tunnel(proxy, &end.authority(), &why))?;
            finish(stream, &url, &route).await
        }
    }
}

/// Agrees on encryption with the server, if the URL asks for it.
async fn finish(mut stream: TcpStream, url: &Url, route: &ServerRoute) -> Result<Opened, Trouble> {
    if url.scheme() == Scheme::Http {
        return plain(stream, url);
    }
    let connection = secure(&mut stream, url, route).await?;
    let stream = stream.into_std().map_err(|error| Trouble::unconnected(url, &error))?;
    Ok(Opened { socket: Socket::Secured(stream.into(), Box::new(connection)), relay: None })
}

fn plain(stream: TcpStream, url: &Url) -> Result<Opened, Trouble> {
    let stream = stream.into_std().map_err(|error| Trouble::unconnected(url, &error))?;
    Ok(Opened { socket: Socket::Plain(stream.into()), relay: None })
}

async fn secure<S>(
    stream: &mut S,
    url: &Url,
    route: &ServerRoute,
) -> Result<ClientConnection, Trouble>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send,
{
    let config = match &route.tls {
        Some(config) => Arc::clone(config),
        None => system_trust().await.map_err(|fault| Trouble::insecure(url, &fault))?,
    };
    agree(stream, url.host(), config).await.map_err(|fault| Trouble::insecure(url, &fault))
}

/// The proxy reads the requests, inside of its own encryption.
async fn secured_forward(mut stream: TcpStream, proxy: &ChosenProxy) -> Result<Opened, Trouble> {
    let config = proxy_trust(proxy).await?;
    let connection = agree(&mut stream, proxy.proxy.host(), config).await;
    let connection = connection.map_err(|fault| Trouble::insecure_proxy(proxy, &fault))?;
    let stream = stream.into_std().map_err(|error| Trouble::no_proxy(proxy, &error))?;
    Ok(Opened { socket: Socket::Secured(stream.into(), Box::new(connection)), relay: None })
}

/// A tunnel inside of the proxy's encryption.
async fn relayed(
    stream: TcpStream,
    url: &Url,
    route: &ServerRoute,
    proxy: &ChosenProxy,
    end: &TunnelEnd,
) -> Result<Opened, Trouble> {
    let config = proxy_trust(proxy).await?;
    let name = server_name(proxy.proxy.host());
    let name = name.map_err(|fault| Trouble::insecure_proxy(proxy, &fault))?;
    let connecting = TlsConnector::from(config).connect(name, stream);
    let outer = tokio::time::timeout(crate::limits::TLS_HANDSHAKE, connecting).await;
    let outer = outer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let mut outer = outer.map_err(|error| Trouble::insecure_proxy(proxy, &(&error).into()))?;
    let opened = open_tunnel(&mut outer, &proxy.proxy, end).await;
    opened.map_err(|why| Trouble::no_tunnel(proxy, &end.authority(), &why))?;
    let connection = match url.scheme() {
        Scheme::Http => None,
        Scheme::Https => Some(Box::new(secure(&mut outer, url, route).await?)),
    };
    let no_pair = |error: io::Error| Trouble::unconnected(url, &error);
    let (inner, pumped) = UnixStream::pair().map_err(no_pair)?;
    let pumped: OwnedFd = pumped.into_std().map_err(no_pair)?.into();
    let socket = match connection {
        None => Socket::Plain(pumped),
        Some(connection) => Socket::Secured(pumped, connection),
    };
    Ok(Opened { socket, relay: Some(Relay { inner, outer }) })
}

async fn proxy_trust(proxy: &ChosenProxy) -> Result<Arc<ClientConfig>, Trouble> {
    system_trust().await.map_err(|fault| Trouble::insecure_proxy(proxy, &fault))
}

/// Whoever has named the proxy is the operator: it may be anywhere.
async fn reach_proxy(proxy: &ChosenProxy) -> Result<TcpStream, Trouble> {
    let (host, port) = (proxy.proxy.host(), proxy.proxy.port());
    let connected = match resolve(host, port).await {
        Ok(addresses) => dial(addresses).await,
        Err(error) => Err(error),
    };
    connected.map_err(|error| Trouble::no_proxy(proxy, &error))
}

/// What is connected to is what was judged.
async fn reach(url: &Url, route: &ServerRoute) -> Result<TcpStream, Trouble> {
    let addresses = judged(url, route).await?;
    dial(addresses).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Trouble::unresolved(url, &error),
        io::ErrorKind::TimedOut => Trouble::no_connection_within(url, CONNECT),
        _ => Trouble::unconnected(url, &error),
    })
}

/// The addresses of the server that may be connected to.
async fn judged(url: &Url, route: &ServerRoute) -> Result<Vec<SocketAddr>, Trouble> {
    let found = resolve(url.host(), url.port()).await;
    let mut addresses = found.map_err(|error| Trouble::unresolved(url, &error))?;
    let Some(guard) = &route.guard else { return Ok(addresses) };
    let mut refused = None;
    // The address, not the name: a name may resolve to another address a moment later (DNS
    // rebinding).
    addresses.retain(|address| match guard.reach.judge(address.ip()) {
        Ok(()) => true,
        Err(why) => {
            refused = Some(Trouble::unconnected(url, &io::Error::other(why.to_string())));
            false
        }
    });
    match refused {
        Some(refused) if addresses.is_empty() => Err(refused),
        _ => Ok(addresses),
    }
}

/// Whom the proxy is told to connect to: a name, which it resolves; or, of a server that somebody
/// else has named, an address that was judged here. Else a name that leads into our network would
/// get there by way of the proxy.
async fn tunnel_end(url: &Url, route: &ServerRoute) -> Result<TunnelEnd, Trouble> {
    let port = url.port();
    if route.guard.is_none() {
        // A name longer than the DNS allows would not fit into a request of SOCKS.
        Host::read(url.host()).map_err(|bad| Trouble::bad_url(&bad.to_string()))?;
        return Ok(TunnelEnd { host: url.host().to_owned(), port });
    }
    let addresses = judged(url, route).await.map_err(Trouble::guarded_through_proxy)?;
    // Many proxies have no IPv6.
    let chosen = addresses.iter().find(|it| it.is_ipv4()).or(addresses.first());
    let chosen = chosen.ok_or_else(|| Trouble::unresolved(url, &io::ErrorKind::NotFound.into()))?;
    Ok(TunnelEnd { host: chosen.ip().to_string(), port })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::time::timeout;
    use trunkline_catalog::config::NetworkRules;
    use trunkline_http::proxy::{Proxy, ProxySetting};
    use trunkline_http::reach::Policy;

    use super::*;
    use crate::network::Network;

    async fn route(proxy: SocketAddr, allowed: &[&str], url: &Url) -> ServerRoute {
        let proxy = Proxy::parse(&format!("http://{proxy}")).unwrap();
        let proxy = ProxySetting::Through(proxy);
        let rules = NetworkRules { proxy, ..NetworkRules::default() };
        let allowed = allowed.iter().map(|net| net.parse().unwrap()).collect();
        let network = Network { reach: Policy { allowed }, ..Network::default() };
        ServerRoute::new(&Arc::new(network), url, &rules, true).await.unwrap()
    }

    #[tokio::test]
    async fn a_proxy_is_told_the_judged_address_of_a_guarded_server_and_never_its_name() {
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = proxy.local_addr().unwrap();
        let url = Url::parse("http://localhost:9/mcp").unwrap();
        let refused = connect(url.clone(), route(address, &[], &url).await).await;
        let trouble = refused.err().expect("it may not be reached");
        assert!(trouble.what.contains("--allow-net"), "{trouble:?}");
        let route = route(address, &["127.0.0.0/8", "::1"], &url).await;
        let heard = async {
            let (mut stream, _) = proxy.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            String::from_utf8(head).unwrap()
        };
        let both = async { tokio::join!(connect(url, route), heard) };
        let (opened, head) = timeout(CONNECT * 2, both).await.expect("the proxy is asked");
        assert!(opened.is_ok(), "{:?}", opened.err());
        assert!(head.starts_with("CONNECT 127.0.0.1:9 HTTP/1.1\r\n"), "{head}");
    }
}
