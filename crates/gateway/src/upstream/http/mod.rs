//! Servers in the network: Streamable HTTP, and the older HTTP with server-sent events.

mod address;
mod answers;
mod authorize;
mod connect;
mod dial;
mod fields;
mod life;
mod outcome;
mod pool;
mod responses;
mod route;
mod slot;
mod tls;
mod tls_files;
mod transport;
mod trouble;
mod tunnel;
mod verdict;

#[cfg(test)]
mod tests;

pub(super) use address::Remote;
pub use tls::client_tls;

use std::sync::Arc;

use crate::lock::{Mutex, rank};
use trunkline_catalog::config::{Era, RemoteKind};

use crate::upstream::http::address::Address;
use crate::upstream::http::life::{Life, Parting};
use crate::upstream::http::route::ServerRoute;
use crate::upstream::http::trouble::Trouble;
use crate::upstream::http::verdict::Dialect;
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::supervisor::{End, Supervisor, never_started};
use crate::upstream::shown::shown;

/// How a server was last spoken to, so that it is not found out again each time.
// Held for a copy or a change: connecting takes long and is done without it.
#[derive(Debug, Default)]
pub(super) struct Spoken(Mutex<Option<Dialect>, rank::SpokenDialect>);

impl Spoken {
    /// For another conversation with the same server.
    pub(super) fn passed_on(&self) -> Self {
        Self(Mutex::new(*self.0.lock()))
    }
}

/// The ways a server may be spoken to, the likeliest first.
fn ways(kind: RemoteKind, simple: bool, era: Era, spoken: Option<Dialect>) -> Vec<Dialect> {
    let mut ways = match (kind, simple) {
        (RemoteKind::Sse, _) => vec![Dialect::Older],
        (RemoteKind::Http, true) => vec![Dialect::Streamable],
        (RemoteKind::Http, false) => vec![Dialect::Modern, Dialect::Streamable],
        (RemoteKind::Detect, true) => vec![Dialect::Streamable, Dialect::Older],
        (RemoteKind::Detect, false) => {
            vec![Dialect::Modern, Dialect::Streamable, Dialect::Older]
        }
    };
    ways.retain(|way| match era {
        Era::Auto => true,
        Era::Legacy => *way != Dialect::Modern,
        Era::Modern => *way == Dialect::Modern,
    });
    ways.sort_by_key(|way| Some(*way) != spoken);
    ways
}

/// Connects to the server and stays with it until it is lost or dismissed.
pub(super) async fn live(server: &Arc<Server>, supervisor: &Supervisor, place: Remote<'_>) -> End {
    let (address, route) = match way_to(server, supervisor, place).await {
        Ok(known) => known,
        Err(trouble) => return unusable(server, supervisor, &trouble),
    };
    let proxy = route.proxy.as_ref().map(ToString::to_string);
    if let Some(proxy) = &proxy {
        tracing::debug!(server = %server.key, "is reached through the proxy {proxy}");
    }
    server.update(|status| status.proxy = proxy);
    let spoken = *server.dialect.spoken.0.lock();
    let mut first = None;
    for dialect in ways(place.kind, supervisor.simple, server.definition.era, spoken) {
        match Life::begin(server, supervisor, (address.clone(), route.clone()), dialect).await {
            Parting::End(end) => return end,
            // In no way: what is said first is about the way that most servers speak today.
            Parting::NotThisWay(trouble) if dialect == Dialect::Streamable => first = Some(trouble),
            Parting::NotThisWay(trouble) => first = first.or(Some(trouble)),
        }
    }
    *server.dialect.spoken.0.lock() = None;
    let nothing = || {
        let advice = "leave out `era`, or set `type` to `http`";
        Trouble::new("cannot be spoken to: the older transport has no stateless era", advice)
    };
    unusable(server, supervisor, &first.unwrap_or_else(nothing))
}

/// Where requests go and how connections are opened.
async fn way_to(
    server: &Server,
    supervisor: &Supervisor,
    place: Remote<'_>,
) -> Result<(Address, ServerRoute), Trouble> {
    let address = Address::new(place)?;
    let guarded = server.definition.guarded;
    let route = ServerRoute::new(&supervisor.network, &address.url, place.network, guarded).await?;
    let forwarder = route.forwarder(&address.url);
    Ok((address.forwarded_by(forwarder), route))
}

fn unusable(server: &Server, supervisor: &Supervisor, trouble: &Trouble) -> End {
    let phase = trouble.phase(false);
    never_started(
        server,
        supervisor,
        trouble.failure(phase, |text| shown(text, &server.definition.secrets)),
    )
}

#[cfg(test)]
mod ways_tests {
    use super::*;

    #[test]
    fn what_worked_last_is_tried_first() {
        use Dialect::{Modern, Older, Streamable};
        for (kind, simple, spoken, expected) in [
            (RemoteKind::Detect, false, None, &[Modern, Streamable, Older][..]),
            (RemoteKind::Detect, false, Some(Older), &[Older, Modern, Streamable]),
            (RemoteKind::Detect, false, Some(Streamable), &[Streamable, Modern, Older]),
            (RemoteKind::Detect, true, None, &[Streamable, Older]),
            (RemoteKind::Http, false, None, &[Modern, Streamable]),
            (RemoteKind::Http, false, Some(Streamable), &[Streamable, Modern]),
            (RemoteKind::Http, true, None, &[Streamable]),
            (RemoteKind::Sse, false, None, &[Older]),
        ] {
            let ways = ways(kind, simple, Era::Auto, spoken);
            assert_eq!(ways, expected, "{kind:?} {simple} {spoken:?}");
        }
        for (kind, era, expected) in [
            (RemoteKind::Detect, Era::Legacy, &[Streamable, Older][..]),
            (RemoteKind::Detect, Era::Modern, &[Modern]),
            (RemoteKind::Http, Era::Legacy, &[Streamable]),
            (RemoteKind::Http, Era::Modern, &[Modern]),
            (RemoteKind::Sse, Era::Legacy, &[Older]),
            (RemoteKind::Sse, Era::Modern, &[]),
        ] {
            assert_eq!(ways(kind, false, era, None), expected, "{kind:?} {era:?}");
            assert_eq!(ways(kind, false, era, Some(Older)).len(), expected.len());
        }
    }
}
