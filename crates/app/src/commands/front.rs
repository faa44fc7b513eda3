//! What the front of `serve` is given: who may ask, and how long it serves when it is told to end.

use std::net::TcpListener;
use std::time::Duration;

use trunkline_gateway::{ConnectedClients, FrontNetwork, HttpOptions};
use trunkline_http::Url;

use crate::cli::{Serve, Token};
use crate::environment::Environment;

/// Load balancers look every few seconds, and Kubernetes takes as long to tell them.
const DRAIN_DELAY: Duration = Duration::from_secs(5);

/// The front without a platform; a platform adds its gate and its routes.
pub(super) fn front(
    serve: &Serve,
    (listener, network): (TcpListener, FrontNetwork),
    token: Option<Token>,
    environment: &Environment,
) -> HttpOptions {
    HttpOptions {
        listener,
        token: token.map(|token| token.reveal().to_owned()),
        hosts: hosts(serve),
        origins: origins(serve),
        network,
        stay: stays(environment.filled("KEEP_SERVER_OPEN").as_deref()),
        drain_delay: drain_delay(serve),
        gate: None,
        attachment: None,
        replicas: None,
        connected_clients: ConnectedClients::default(),
        signals: None,
    }
}

/// The host names under which clients may ask: those allowed, and the one of `--public-url`.
fn hosts(serve: &Serve) -> Vec<String> {
    let public = serve.platform.issuer.public_url.iter().map(Url::authority);
    serve.allow_host.iter().cloned().chain(public).collect()
}

/// The origins of web pages that may connect: those allowed, and the one of `--public-url`.
fn origins(serve: &Serve) -> Vec<String> {
    let public = serve.platform.issuer.public_url.iter().map(|url| url.origin().to_string());
    serve.allow_origin.iter().cloned().chain(public).collect()
}

/// Other replicas take over where they share a store; elsewhere waiting helps nobody.
fn drain_delay(serve: &Serve) -> Duration {
    let store = serve.platform.place.store.as_ref();
    let is_shared = store.is_some_and(|store| store.file().is_none());
    let usual = if is_shared { DRAIN_DELAY } else { Duration::ZERO };
    serve.network.drain_delay.map_or(usual, |seconds| Duration::from_secs(seconds.into()))
}

/// Document 004: `KEEP_SERVER_OPEN=1` keeps the server open after its clients have gone. So does
/// everything but a plain no: a server that ends by itself surprises more people than one that stays.
fn stays(keep_open: Option<&str>) -> bool {
    let no = |value: &str| {
        ["0", "false", "no", "off"].iter().any(|no| value.trim().eq_ignore_ascii_case(no))
    };
    !keep_open.is_some_and(no)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn co_8_keep_server_open() {
        for value in ["0", "false", "No", "OFF"] {
            assert!(!stays(Some(value)), "{value}");
        }
        assert!(stays(None));
        for value in ["1", "true", "yes", "2", "whatever"] {
            assert!(stays(Some(value)), "{value}");
        }
    }
}
