//! Accepts connections, as many as the limit of open files allows.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use trunkline_keeper::raise_open_files;

use super::address_counts::{AddressCounts, REFUSED, RefusedConnections};
use super::reader::{ConnectionPlace, HttpReader};
use crate::front::http::access::PeerNetwork;
use crate::front::http::connection::Conn;
use crate::front::http::front::Front;
use crate::limits::{ACCEPT_CALM, ACCEPT_PAUSE, CONNECTIONS, RESERVED_DESCRIPTORS};
use crate::pump::Sink;

/// Accepts for ever. Beyond the limit, connections wait in the kernel's backlog; beyond that of their address
/// they are refused.
pub(crate) async fn accept(listener: TcpListener, per_address: Option<u32>, front: Arc<Front>) {
    let most = most_connections();
    let permits = Arc::new(Semaphore::new(most));
    let (mut pause, addresses) = (Pause::default(), AddressCounts::new(per_address));
    let mut refused = RefusedConnections::default();
    loop {
        if permits.available_permits() == 0 {
            pause.begin(&format!("{most} are open, as many as the limit of open files allows"));
        }
        // Before a connection is accepted: one that cannot be served stays in the backlog instead
        // of being closed.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let opened = match next(&listener, &mut pause).await {
            Ok((stream, peer)) => match addresses.enter(peer.ip()) {
                Some(address) => {
                    let place = ConnectionPlace { _permit: permit, _address: address };
                    open(stream, peer, place, &front)
                }
                None => {
                    // Not waited for: what the kernel does not take at once is lost, and the connection ends.
                    let _ = stream.try_write(REFUSED);
                    refused.count(peer.ip());
                    Ok(())
                }
            },
            Err(error) => Err(error),
        };
        match opened {
            Ok(()) => pause.end_if_calm(),
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                pause.begin(&error.to_string());
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// The next connection. A pause ends when none waits for a while.
async fn next(listener: &TcpListener, pause: &mut Pause) -> io::Result<(TcpStream, SocketAddr)> {
    if pause.last.is_some() {
        match timeout(ACCEPT_CALM, listener.accept()).await {
            Ok(accepted) => return accepted,
            Err(_) => pause.end(),
        }
    }
    listener.accept().await
}

/// A time in which no connection can be accepted, or only when another one ends. It is logged once
/// when it begins and once when it ends.
#[derive(Debug, Default)]
struct Pause {
    /// When the limit was last reached.
    last: Option<Instant>,
}

impl Pause {
    fn begin(&mut self, why: &str) {
        if self.last.replace(Instant::now()).is_none() {
            tracing::warn!(
                "no further connection can be accepted for now: {why}; clients wait until others \
                 leave (raise the limit of open files with `ulimit -n`, or `LimitNOFILE=` of a \
                 systemd service)"
            );
        }
    }

    /// A connection was accepted. One alone does not end the pause: the next may fail again.
    fn end_if_calm(&mut self) {
        if self.last.is_some_and(|last| last.elapsed() >= ACCEPT_CALM) {
            self.end();
        }
    }

    fn end(&mut self) {
        self.last = None;
        tracing::warn!("connections are accepted again");
    }
}

fn open(
    stream: TcpStream,
    peer: SocketAddr,
    place: ConnectionPlace,
    front: &Arc<Front>,
) -> io::Result<()> {
    // Answers are small and written once: to wait for more to send would delay every one of them.
    stream.set_nodelay(true)?;
    let (input, sink) = Sink::socket(OwnedFd::from(stream.into_std()?))?;
    // The sweeper may be asleep while nothing is connected: its clock stands.
    front.clock.advance();
    let address = front.context.limiter.address(PeerNetwork::of(peer.ip()).0);
    let conn = Arc::new(Conn::new(Arc::clone(&front.clock)).at(address, peer.ip()));
    front.add(&conn);
    conn.outbox.connect(sink, &front.pump);
    front.pump.read(input, Box::new(HttpReader::new(front, &conn, peer, place)));
    Ok(())
}

/// The client was gone before its connection was accepted.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, InvalidInput};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | InvalidInput)
}

/// How many connections the limit of open files allows.
fn most_connections() -> usize {
    let allowed = raise_open_files();
    // Two for each connection, and a fifth for everything else.
    let spare = (allowed / 5 * 4).saturating_sub(RESERVED_DESCRIPTORS) / 2;
    usize::try_from(spare).unwrap_or(usize::MAX).clamp(1, CONNECTIONS)
}
