//! `ServerRoute`: the way to one server, decided when it is connected to: direct or through a proxy, whom to trust.

use std::sync::Arc;

use rustls::ClientConfig;
use trunkline_catalog::config::NetworkRules;
use trunkline_http::proxy::{ChosenProxy, ProxyKind};
use trunkline_http::{Scheme, Url};

use crate::network::Network;
use crate::upstream::http::tls_files;
use crate::upstream::http::trouble::Trouble;

#[derive(Clone, Debug)]
pub(super) struct ServerRoute {
    /// Judges its addresses; none: all may be reached.
    pub(super) guard: Option<Arc<Network>>,
    pub(super) proxy: Option<Arc<ChosenProxy>>,
    /// Instead of what every connection uses.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

/// How a connection for requests to a URL is opened.
pub(super) enum Passage<'r> {
    Direct,
    /// The proxy reads the requests, which name the whole URL (RFC 9112, 3.2.2).
    Forwarded(&'r Arc<ChosenProxy>),
    /// The proxy passes on bytes.
    Tunnelled(&'r Arc<ChosenProxy>),
}

impl ServerRoute {
    /// `guarded`: somebody named the address who may not reach everything that we can.
    pub(super) async fn new(
        network: &Arc<Network>,
        url: &Url,
        rules: &NetworkRules,
        guarded: bool,
    ) -> Result<Self, Trouble> {
        let proxy = network.proxies.choose(url, &rules.proxy).map(Arc::new);
        let tls = tls_files::load(&rules.tls).await?;
        Ok(Self { guard: guarded.then(|| Arc::clone(network)), proxy, tls })
    }

    pub(super) fn way(&self, url: &Url) -> Passage<'_> {
        let Some(proxy) = &self.proxy else { return Passage::Direct };
        match (proxy.proxy.kind(), url.scheme()) {
            // Proxies for companies refuse CONNECT to other ports than 443; plain requests they
            // take. But then the proxy resolves the name, which a guarded server's must not be.
            (ProxyKind::Http | ProxyKind::Https, Scheme::Http) if self.guard.is_none() => {
                Passage::Forwarded(proxy)
            }
            _ => Passage::Tunnelled(proxy),
        }
    }

    /// The proxy that reads requests to this URL.
    pub(super) fn forwarder(&self, url: &Url) -> Option<Arc<ChosenProxy>> {
        match self.way(url) {
            Passage::Forwarded(proxy) => Some(Arc::clone(proxy)),
            Passage::Direct | Passage::Tunnelled(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_http::proxy::{Proxy, ProxySetting};

    #[tokio::test]
    async fn which_way_a_request_goes() {
        for (proxy, url, guarded, expected) in [
            (None, "http://h/", false, "direct"),
            (None, "https://h/", true, "direct"),
            (Some("http://p"), "http://h/", false, "forwarded"),
            (Some("https://p"), "http://h/", false, "forwarded"),
            (Some("http://p"), "http://h/", true, "tunnelled"),
            (Some("http://p"), "https://h/", false, "tunnelled"),
            (Some("https://p"), "https://h/", false, "tunnelled"),
            (Some("socks5://p"), "http://h/", false, "tunnelled"),
            (Some("socks5://p"), "https://h/", false, "tunnelled"),
        ] {
            let setting = proxy.map(|text| ProxySetting::Through(Proxy::parse(text).unwrap()));
            let rules =
                NetworkRules { proxy: setting.unwrap_or_default(), ..NetworkRules::default() };
            let parsed = Url::parse(url).unwrap();
            let route = ServerRoute::new(&Arc::default(), &parsed, &rules, guarded).await.unwrap();
            let way = match route.way(&parsed) {
                Passage::Direct => "direct",
                Passage::Forwarded(_) => "forwarded",
                Passage::Tunnelled(_) => "tunnelled",
            };
            assert_eq!(way, expected, "{proxy:?} {url} {guarded}");
        }
    }
}
