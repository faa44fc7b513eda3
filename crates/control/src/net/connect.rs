//! Finds the addresses of a host, has each of them judged, and connects to one that passed.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use trunkline_http::{Scheme, Url};

use crate::net::error::FetchError;

/// May this address be connected to? If not: what to do about it.
pub type Judge = Arc<dyn Fn(IpAddr) -> Result<(), String> + Send + Sync>;

/// For one address; the next one may be better.
const CONNECT: Duration = Duration::from_secs(10);
/// Addresses of one host that are tried.
const MOST: usize = 8;

/// A connection, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// `trust`: instead of the system's authorities.
pub(super) async fn connect(
    url: &Url,
    judge: &Judge,
    trust: Option<&Arc<ClientConfig>>,
) -> Result<Box<dyn Stream>, FetchError> {
    let found = resolve(url).await?;
    let stream = reach(url, admitted(url.host(), &found, judge)?).await?;
    match url.scheme() {
        Scheme::Http => Ok(Box::new(stream)),
        Scheme::Https => secure(url, stream, trust).await,
    }
}

async fn resolve(url: &Url) -> Result<Vec<SocketAddr>, FetchError> {
    let dns = |why: String| FetchError::Dns { host: url.host().to_owned(), why };
    let found = lookup_host((url.host(), url.port())).await;
    let found: Vec<_> = found.map_err(|error| dns(words(&error)))?.collect();
    if found.is_empty() { Err(dns("there is none".to_owned())) } else { Ok(found) }
}

/// The addresses that may be connected to. The very values that were judged are used: a name that
/// is looked up again may lead somewhere else by then.
fn admitted(
    host: &str,
    found: &[SocketAddr],
    judge: &Judge,
) -> Result<Vec<SocketAddr>, FetchError> {
    let mut refused = None;
    let mut admitted = Vec::new();
    for address in found {
        match judge(address.ip()) {
            Ok(()) => admitted.push(*address),
            Err(hint) => {
                let (host, address) = (host.to_owned(), address.ip());
                refused.get_or_insert(FetchError::Refused { host, address, hint });
            }
        }
    }
    admitted.truncate(MOST);
    match refused {
        Some(refused) if admitted.is_empty() => Err(refused),
        _ => Ok(admitted),
    }
}

async fn reach(url: &Url, addresses: Vec<SocketAddr>) -> Result<TcpStream, FetchError> {
    let mut last = "there is no address".to_owned();
    for address in addresses {
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // A request leaves in one piece; if this fails it is only slower.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = words(&error),
            Err(_) => last = format!("no connection within {} s", CONNECT.as_secs()),
        }
    }
    Err(FetchError::Connect { origin: url.origin().to_string(), why: last })
}

async fn secure(
    url: &Url,
    stream: TcpStream,
    trust: Option<&Arc<ClientConfig>>,
) -> Result<Box<dyn Stream>, FetchError> {
    let insecure = |why: String| FetchError::Tls { origin: url.origin().to_string(), why };
    let config = match trust {
        Some(config) => Arc::clone(config),
        None => trunkline_gateway::client_tls().await.map_err(insecure)?,
    };
    let name = ServerName::try_from(url.host().to_owned())
        .map_err(|_| insecure("its name cannot be in a certificate".to_owned()))?;
    let secured = TlsConnector::from(config).connect(name, stream).await;
    Ok(Box::new(secured.map_err(|error| insecure(words(&error)))?))
}

/// Without the number the system gives the error.
pub(super) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_admitted_addresses_are_left_and_none_is_a_refusal() {
        let judge: Judge = Arc::new(|address| match address.is_loopback() {
            true => Err("use --allow-net".to_owned()),
            false => Ok(()),
        });
        for (found, left) in [
            (&["192.0.2.1:1"][..], &["192.0.2.1:1"][..]),
            (&["127.0.0.1:1", "192.0.2.1:1"], &["192.0.2.1:1"]),
            (&["192.0.2.1:1", "[::1]:1", "192.0.2.2:1"], &["192.0.2.1:1", "192.0.2.2:1"]),
            (&["127.0.0.1:1"], &[]),
            (&["[::1]:1", "127.0.0.1:1"], &[]),
        ] {
            let parse = |list: &[&str]| -> Vec<SocketAddr> {
                list.iter().map(|text| text.parse().unwrap()).collect()
            };
            let found = parse(found);
            match admitted("h", &found, &judge) {
                Ok(admitted) => assert_eq!(admitted, parse(left)),
                Err(error) => {
                    assert!(left.is_empty(), "{found:?}");
                    let (host, address) = ("h".to_owned(), found[0].ip());
                    let hint = "use --allow-net".to_owned();
                    assert_eq!(error, FetchError::Refused { host, address, hint });
                }
            }
        }
    }
}
