//! The proxy through which a walled-in server reaches the hosts it may: CONNECT, and plain requests with a whole
//! address. Names are resolved here; where one leads to is judged here.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use trunkline_catalog::config::HostRule;
use trunkline_http::reach::{Host, Policy};

use super::proxy_head::{ProxyHead, ProxyWay};
use crate::limits::{PROXY_CONNECT, PROXY_CONNECTIONS, PROXY_HEAD, PROXY_HEAD_BYTES};

/// A proxy that listens, for one run of a server.
#[derive(Debug)]
pub(in crate::upstream) struct HostProxy {
    listener: TcpListener,
    port: u16,
}

/// Which hosts are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AllowedHosts {
    /// A server is watched: every one.
    Every,
    Only(Vec<HostRule>),
}

/// What became of a request, for whoever keeps the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProxyEvent {
    Allowed(String),
    /// The host with its port, and why where the host itself is allowed.
    Refused(String, Option<String>),
}

impl HostProxy {
    pub(in crate::upstream) async fn bind() -> io::Result<HostProxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        Ok(HostProxy { listener, port })
    }

    pub(in crate::upstream) fn port(&self) -> u16 {
        self.port
    }

    /// Serves until it is dropped.
    pub(super) async fn serve(
        self,
        hosts: AllowedHosts,
        tell: impl Fn(ProxyEvent) + Send + Sync + 'static,
    ) {
        let served = Arc::new((hosts, tell));
        let room = Arc::new(Semaphore::new(PROXY_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // Out of descriptors: others end theirs.
                tokio::time::sleep(PROXY_CONNECT / 100).await;
                continue;
            };
            while connections.try_join_next().is_some() {}
            // Closed at once where there are too many: it is the server's own doing.
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else { continue };
            let served = Arc::clone(&served);
            connections.spawn(async move {
                // A connection that breaks concerns its two ends only.
                let _ = pass(stream, &served.0, &served.1).await;
                drop(place);
            });
        }
    }
}

/// One connection of the server, from its first request to its end.
async fn pass(
    mut stream: TcpStream,
    hosts: &AllowedHosts,
    tell: &(impl Fn(ProxyEvent) + Send + Sync),
) -> io::Result<()> {
    let Ok(read) = timeout(PROXY_HEAD, read_head(&mut stream)).await else { return Ok(()) };
    let Some(ProxyHead { host, port, way, rest }) = read? else {
        return answer(&mut stream, "400 Bad Request", "this is no request to a proxy").await;
    };
    let place =
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let addresses = match addresses(hosts, &host, port).await {
        Ok(addresses) => addresses,
        Err(refusal) => {
            let text = match &refusal {
                HostRefusal::Unreachable(why) => {
                    return answer(&mut stream, "502 Bad Gateway", why).await;
                }
                HostRefusal::Host => format!("the sandbox refused {place}"),
                HostRefusal::Address(why) => format!("the sandbox refused {place}: {why}"),
            };
            let why = match refusal {
                HostRefusal::Address(why) => Some(why),
                HostRefusal::Host | HostRefusal::Unreachable(_) => None,
            };
            tell(ProxyEvent::Refused(place, why));
            return answer(&mut stream, "403 Forbidden", &text).await;
        }
    };
    tell(ProxyEvent::Allowed(place.clone()));
    let connected = timeout(PROXY_CONNECT, TcpStream::connect(addresses.as_slice())).await;
    let Ok(Ok(mut other)) = connected else {
        return answer(&mut stream, "502 Bad Gateway", &format!("{place} cannot be reached")).await;
    };
    match way {
        ProxyWay::Tunnel => {
            stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            other.write_all(&rest).await?;
        }
        ProxyWay::Request(head) => {
            other.write_all(&head).await?;
            other.write_all(&rest).await?;
        }
    }
    copy_bidirectional(&mut stream, &mut other).await.map(|_| ())
}

async fn read_head(stream: &mut TcpStream) -> io::Result<Option<ProxyHead>> {
    let mut bytes = Vec::with_capacity(1024);
    loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(ProxyHead::read(&bytes, rest));
        }
        if bytes.len() > PROXY_HEAD_BYTES || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// Why a host is not connected to.
enum HostRefusal {
    Host,
    /// It is allowed, and leads where nobody meant.
    Address(String),
    Unreachable(String),
}

async fn addresses(
    hosts: &AllowedHosts,
    host: &str,
    port: u16,
) -> Result<Vec<SocketAddr>, HostRefusal> {
    if let AllowedHosts::Only(rules) = hosts
        && !rules.iter().any(|rule| rule.allows(host, port))
    {
        return Err(HostRefusal::Host);
    }
    let found: Vec<SocketAddr> = match Host::read(host) {
        Ok(Host::Address(address)) => vec![(address, port).into()],
        Ok(Host::Name) => match timeout(PROXY_CONNECT, lookup_host((host, port))).await {
            Ok(Ok(found)) => found.collect(),
            _ => return Err(HostRefusal::Unreachable(format!("`{host}` cannot be resolved"))),
        },
        Err(error) => return Err(HostRefusal::Unreachable(error.to_string())),
    };
    let AllowedHosts::Only(rules) = hosts else { return Ok(found) };
    let (used, refused): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|it| is_meant(rules, host, it.ip(), port));
    match refused.first() {
        Some(first) if used.is_empty() => Err(HostRefusal::Address(format!(
            "it leads to {}, which is not a public address; name that as well",
            first.ip()
        ))),
        _ => Ok(used),
    }
}

/// A public address, or one that is named itself. Who owns a name decides where it leads: it is no permission to
/// reach this machine or its network.
fn is_meant(rules: &[HostRule], host: &str, address: IpAddr, port: u16) -> bool {
    let address = address.to_canonical();
    let is_named = rules.iter().any(|rule| rule.allows(&address.to_string(), port));
    let is_here = address.is_loopback()
        && host == "localhost"
        && rules.iter().any(|rule| rule.exact() == Some("localhost") && rule.allows(host, port));
    is_named || is_here || Policy::default().judge(address).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_does_not_open_the_network_around_us() {
        let rules: Vec<HostRule> =
            ["api.example.com:443", "localhost:3000", "10.0.0.7:8080", "*.example.com:3000"]
                .iter()
                .map(|it| HostRule::of_text(it).unwrap())
                .collect();
        for (host, address, port, expected) in [
            ("api.example.com", "93.184.215.14", 443, true),
            ("api.example.com", "10.0.0.7", 443, false),
            ("api.example.com", "127.0.0.1", 443, false),
            ("api.example.com", "169.254.169.254", 443, false),
            ("api.example.com", "::ffff:127.0.0.1", 443, false),
            ("localhost", "127.0.0.1", 3000, true),
            ("localhost", "127.0.0.1", 3001, false),
            ("x.example.com", "127.0.0.1", 3000, false),
            ("10.0.0.7", "10.0.0.7", 8080, true),
            ("x.example.com", "10.0.0.7", 8080, true),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(is_meant(&rules, host, address, port), expected, "{host} {address}:{port}");
        }
    }
}
