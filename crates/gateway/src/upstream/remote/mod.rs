//! Servers in the network: Streamable HTTP, and the older HTTP with server-sent events.

mod address;
mod answers;
mod connect;
mod exchange;
mod facts;
mod life;
mod line;
mod outcome;
mod pool;
mod responses;
mod slot;
mod tls;
mod trouble;
mod verdict;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use trunkline_catalog::config::RemoteKind;

use crate::upstream::remote::address::Address;
use crate::upstream::remote::life::{Life, Parting};
use crate::upstream::remote::trouble::Trouble;
use crate::upstream::remote::verdict::Dialect;
use crate::upstream::server::Server;
use crate::upstream::shown::shown;
use crate::upstream::supervisor::{End, Supervisor, never_started};

/// Where a server is.
#[derive(Clone, Copy)]
pub(super) struct Remote<'a> {
    pub(super) url: &'a str,
    pub(super) kind: RemoteKind,
    pub(super) headers: &'a [(String, String)],
}

/// How a server was last spoken to, so that it is not found out again each time.
#[derive(Debug, Default)]
pub(super) struct Spoken(Mutex<Option<Dialect>>);

/// Connects to the server and stays with it until it is lost or dismissed.
pub(super) async fn live(server: &Arc<Server>, supervisor: &Supervisor, place: Remote<'_>) -> End {
    let address = match Address::new(place) {
        Ok(address) => address,
        Err(trouble) => return unusable(server, &trouble),
    };
    mention_proxy(server, supervisor, &address);
    let known = match place.kind {
        RemoteKind::Http => Some(Dialect::Streamable),
        RemoteKind::Sse => Some(Dialect::Older),
        RemoteKind::Detect => *server.spoken.0.lock(),
    };
    let begin = async |dialect, detects| {
        Life::begin(server, supervisor, address.clone(), dialect, detects).await
    };
    let (dialect, detects) = (known.unwrap_or(Dialect::Streamable), known.is_none());
    match begin(dialect, detects).await {
        Parting::End(end) => end,
        Parting::NotThisWay(trouble) => match begin(Dialect::Older, true).await {
            Parting::End(end) => end,
            // Neither way: what was said first is about the way that servers speak today.
            Parting::NotThisWay(_) => unusable(server, &trouble),
        },
    }
}

/// Many programs go through a proxy when the environment names one; this one does not.
fn mention_proxy(server: &Server, supervisor: &Supervisor, address: &Address) {
    const NAMES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];
    let host = address.url.host();
    let is_here = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    if !is_here && NAMES.iter().any(|name| supervisor.inherited.has(name)) {
        tracing::debug!(server = %server.key, "is connected to directly; proxies are not supported");
    }
}

fn unusable(server: &Server, trouble: &Trouble) -> End {
    let phase = trouble.phase(false);
    never_started(server, trouble.failure(phase, |text| shown(text, &server.secrets)))
}
