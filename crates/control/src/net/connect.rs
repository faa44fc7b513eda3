//! `Connector`: has each address of a host judged, dials one that passed, goes through the
//! operator's proxy, and agrees on encryption.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::lookup_host;
use tokio_rustls::TlsConnector;
use tower_service::Service;
use trunkline_http::proxy::{ChosenProxy, Proxies, Proxy, ProxyKind, ProxySetting};
use trunkline_http::reach::Host;
use trunkline_http::{Scheme, Url};

use crate::net::client::find;
use crate::net::error::FetchError;
use crate::net::stream::{NetStream, Stream};

/// May this address be connected to? If not: what to do about it.
pub type Judge = Arc<dyn Fn(IpAddr) -> Result<(), String> + Send + Sync>;

/// For all addresses of one family together. The other family is tried beside it after 300 ms
/// (RFC 8305), so that a network without IPv6 behind it costs no more than that.
const CONNECT: Duration = Duration::from_secs(10);
/// Addresses of one host that are tried.
const MOST: usize = 8;

#[derive(Clone)]
pub(super) struct Connector {
    judge: Judge,
    /// Instead of the system's authorities.
    trust: Option<Arc<ClientConfig>>,
    proxies: Arc<Proxies>,
}

/// Those of the environment. It is read here, as the library did that this decision has replaced: the variables say
/// nothing else about this program. Whoever starts it says which of them cannot be used.
static ENVIRONMENT: LazyLock<Arc<Proxies>> = LazyLock::new(|| {
    let variables: Vec<_> = std::env::vars_os().collect();
    Arc::new(Proxies::read(&variables).0)
});

type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, FetchError>> + Send>>;

impl Connector {
    pub(super) fn new(judge: Judge) -> Self {
        Self { judge, trust: None, proxies: Arc::clone(&ENVIRONMENT) }
    }

    pub(super) fn trusting(self, config: Arc<ClientConfig>) -> Self {
        Self { trust: Some(config), ..self }
    }

    /// Never through a proxy.
    pub(super) fn direct(self) -> Self {
        Self { proxies: Arc::default(), ..self }
    }

    #[cfg(test)]
    pub(super) fn through(self, proxies: Proxies) -> Self {
        Self { proxies: Arc::new(proxies), ..self }
    }

    /// The proxy that a request to this URL goes through.
    pub(super) fn proxy_of(&self, url: &Url) -> Option<ChosenProxy> {
        self.proxies.choose(url, &ProxySetting::Environment)
    }

    async fn connect(self, uri: Uri) -> Result<NetStream, FetchError> {
        let url =
            Url::parse(&uri.to_string()).map_err(|bad| FetchError::Request(bad.to_string()))?;
        let transport = match self.proxy_of(&url) {
            None => self.dial(&url, uri).await?,
            Some(chosen) => self.dial_through(&chosen.proxy, &url, uri).await?,
        };
        match url.scheme() {
            Scheme::Http => Ok(transport),
            Scheme::Https => {
                secure(&url, transport, self.trust.as_ref()).await.map(NetStream::direct)
            }
        }
    }

    async fn dial(&self, url: &Url, uri: Uri) -> Result<NetStream, FetchError> {
        // The library asks its resolver, which judges, about names only.
        if let Ok(address) = url.host().parse() {
            admitted(url.host(), &[address], &self.judge)?;
        }
        let dialled = dialler(Judged(Arc::clone(&self.judge))).call(uri).await;
        let stream = dialled.map_err(|error| fetch_error(url, &error))?;
        Ok(NetStream::direct(stream.into_inner()))
    }

    /// The proxy resolves the name: all that can be judged here is the text.
    async fn dial_through(
        &self,
        proxy: &Proxy,
        url: &Url,
        uri: Uri,
    ) -> Result<NetStream, FetchError> {
        let host = Host::read(url.host()).map_err(|bad| FetchError::Request(bad.to_string()))?;
        admitted(url.host(), host.leads_to(url.host()), &self.judge)?;
        let failed = |error: &(dyn Error + 'static)| match find::<FetchError>(error) {
            Some(about_the_proxy) => about_the_proxy.clone(),
            None => {
                let why = format!("its proxy {proxy}: {error}");
                FetchError::Connect { origin: url.origin().to_string(), why }
            }
        };
        let mut to_proxy = self.to_proxy();
        let place = place(proxy)?;
        match (proxy.kind(), url.scheme()) {
            (ProxyKind::Http | ProxyKind::Https, Scheme::Http) => {
                to_proxy.call(place).await.map(|it| it.into_inner().through_proxy())
            }
            (ProxyKind::Http | ProxyKind::Https, Scheme::Https) => {
                let mut tunnel = Tunnel::new(place, to_proxy);
                let login = proxy.authorization();
                if let Some(login) = login.and_then(|it| HeaderValue::try_from(it).ok()) {
                    tunnel = tunnel.with_auth(login);
                }
                tunnel.call(uri).await.map(TokioIo::into_inner).map_err(|error| failed(&error))
            }
            // Names are resolved there with `socks5`, too: an address that was looked up here
            // without being judged would be a way around the judge.
            (ProxyKind::Socks5, _) => {
                let mut socks = SocksV5::new(place, to_proxy);
                if let Some((name, secret)) = proxy.credentials() {
                    socks = socks.with_auth(name.to_owned(), secret.to_owned());
                }
                socks.call(uri).await.map(TokioIo::into_inner).map_err(|error| failed(&error))
            }
        }
    }

    /// The operator has named the proxy: it may be anywhere.
    fn to_proxy(&self) -> Self {
        Self { judge: Arc::new(|_| Ok(())), proxies: Arc::default(), trust: self.trust.clone() }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<NetStream>;
    type Error = FetchError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), FetchError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.connect(uri).await.map(TokioIo::new) })
    }
}

/// Dials whatever addresses the resolver gives for a name.
fn dialler<R>(resolver: R) -> HttpConnector<R> {
    let mut dialler = HttpConnector::new_with_resolver(resolver);
    dialler.enforce_http(false);
    dialler.set_connect_timeout(Some(CONNECT));
    // A request leaves in one piece.
    dialler.set_nodelay(true);
    dialler
}

/// Resolves a name to those of its addresses that may be connected to. The very values that were
/// judged are dialled: a name that is looked up again may lead somewhere else by then.
#[derive(Clone)]
struct Judged(Judge);

impl Service<Name> for Judged {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = FetchError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), FetchError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let judge = Arc::clone(&self.0);
        Box::pin(async move {
            let host = name.as_str();
            let dns = |why: String| FetchError::Dns { host: host.to_owned(), why };
            let found = lookup_host((host, 0)).await.map_err(|error| dns(words(&error)))?;
            let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            if found.is_empty() {
                return Err(dns("there is none".to_owned()));
            }
            let admitted = admitted(host, &found, &judge)?;
            // The dialler knows the port.
            let addresses = admitted.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(addresses.collect::<Vec<_>>().into_iter())
        })
    }
}

/// The addresses that may be connected to; none is an error unless none was found.
fn admitted(host: &str, found: &[IpAddr], judge: &Judge) -> Result<Vec<IpAddr>, FetchError> {
    let mut refused = None;
    let mut admitted = Vec::new();
    for address in found {
        match judge(*address) {
            Ok(()) => admitted.push(*address),
            Err(hint) => {
                let (host, address) = (host.to_owned(), *address);
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

async fn secure(
    url: &Url,
    stream: impl Stream + 'static,
    trust: Option<&Arc<ClientConfig>>,
) -> Result<impl Stream + 'static, FetchError> {
    let insecure = |why: String| FetchError::Tls { origin: url.origin().to_string(), why };
    let config = match trust {
        Some(config) => Arc::clone(config),
        None => trunkline_gateway::client_tls().await.map_err(insecure)?,
    };
    let name = ServerName::try_from(url.host().to_owned())
        .map_err(|_| insecure("its name cannot be in a certificate".to_owned()))?;
    let secured = TlsConnector::from(config).connect(name, stream).await;
    secured.map_err(|error| insecure(words(&error)))
}

/// What kept a connection from being made: an error of our own somewhere below, or the system's.
pub(super) fn fetch_error(url: &Url, error: &(dyn Error + 'static)) -> FetchError {
    if let Some(own) = find::<FetchError>(error) {
        return own.clone();
    }
    let why = match find::<io::Error>(error) {
        Some(error) if error.kind() == io::ErrorKind::TimedOut => {
            format!("no connection within {} s", CONNECT.as_secs())
        }
        Some(error) => words(error),
        None => error.to_string(),
    };
    FetchError::Connect { origin: url.origin().to_string(), why }
}

/// Where to connect to, whatever is spoken there.
fn place(proxy: &Proxy) -> Result<Uri, FetchError> {
    let text = proxy.to_string();
    let text = match proxy.kind() {
        ProxyKind::Http | ProxyKind::Https => text,
        ProxyKind::Socks5 => text.replacen(ProxyKind::Socks5.as_str(), "http", 1),
    };
    text.parse().map_err(|_| FetchError::Request(text))
}

/// Without the number the system gives the error.
pub(super) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_lowercase())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::time::Instant;

    use tokio::net::TcpSocket;
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn only_admitted_addresses_are_left_and_none_is_a_refusal() {
        let judge: Judge = Arc::new(|address| match address.is_loopback() {
            true => Err("use --allow-net".to_owned()),
            false => Ok(()),
        });
        for (found, left) in [
            (&["192.0.2.1"][..], &["192.0.2.1"][..]),
            (&["127.0.0.1", "192.0.2.1"], &["192.0.2.1"]),
            (&["192.0.2.1", "::1", "192.0.2.2"], &["192.0.2.1", "192.0.2.2"]),
            (&["127.0.0.1"], &[]),
            (&["::1", "127.0.0.1"], &[]),
        ] {
            let parse = |list: &[&str]| -> Vec<IpAddr> {
                list.iter().map(|text| text.parse().unwrap()).collect()
            };
            let found = parse(found);
            match admitted("h", &found, &judge) {
                Ok(admitted) => assert_eq!(admitted, parse(left)),
                Err(error) => {
                    assert!(left.is_empty(), "{found:?}");
                    let (host, address) = ("h".to_owned(), found[0]);
                    let hint = "use --allow-net".to_owned();
                    assert_eq!(error, FetchError::Refused { host, address, hint });
                }
            }
        }
    }

    /// One address for each family, the first of which takes no more connections and does not say so.
    #[tokio::test]
    async fn a_family_of_addresses_that_is_dead_costs_no_more_than_its_head_start() {
        let dead = TcpSocket::new_v6().unwrap();
        dead.bind("[::1]:0".parse().unwrap()).unwrap();
        let port = dead.local_addr().unwrap().port();
        let _alive = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        // With a queue of one, further connections wait for ever.
        let _dead = dead.listen(1).unwrap();
        let address = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
        let mut waiting = Vec::new();
        while let Ok(Ok(one)) =
            timeout(Duration::from_millis(100), tokio::net::TcpStream::connect(address)).await
        {
            waiting.push(one);
        }
        let both = vec![IpAddr::from(Ipv6Addr::LOCALHOST), IpAddr::from(Ipv4Addr::LOCALHOST)];
        let begun = Instant::now();
        let uri = format!("http://both.invalid:{port}/").parse().unwrap();
        let stream = dialler(Fixed(both)).call(uri).await.unwrap();
        assert!(stream.inner().peer_addr().unwrap().is_ipv4());
        assert!(begun.elapsed() < CONNECT / 2, "{:?}", begun.elapsed());
    }

    #[derive(Clone)]
    struct Fixed(Vec<IpAddr>);

    impl Service<Name> for Fixed {
        type Response = std::vec::IntoIter<SocketAddr>;
        type Error = FetchError;
        type Future = std::future::Ready<Result<Self::Response, FetchError>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), FetchError>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Name) -> Self::Future {
            let addresses = self.0.iter().map(|address| SocketAddr::new(*address, 0));
            std::future::ready(Ok(addresses.collect::<Vec<_>>().into_iter()))
        }
    }
}
