//! Accepts connections, as many as the limit of open files allows.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use trunkline_keeper::raise_open_files;

use super::entrance::Entrance;
use crate::limits::{
    ACCEPT_CALM, ACCEPT_PAUSE, CONNECTIONS, KEEPALIVE_AGAIN_SECONDS, KEEPALIVE_SECONDS,
    RESERVED_DESCRIPTORS, VANISHED_SECONDS, shortened_seconds,
};

/// Ends the connections of clients whose machines have gone. Set once: Linux gives every connection what its listener
/// has.
pub(crate) fn notice_vanished(listener: impl AsFd) -> io::Result<()> {
    let seconds = |seconds| Duration::from_secs(u64::from(shortened_seconds(seconds)));
    let listener = listener.as_fd();
    sockopt::set_socket_keepalive(listener, true)?;
    sockopt::set_tcp_keepidle(listener, seconds(KEEPALIVE_SECONDS))?;
    sockopt::set_tcp_keepintvl(listener, seconds(KEEPALIVE_AGAIN_SECONDS))?;
    // Also decides how often it is asked again: `TCP_KEEPCNT` does not count beside it.
    let milliseconds = shortened_seconds(VANISHED_SECONDS).saturating_mul(1000);
    Ok(sockopt::set_tcp_user_timeout(listener, milliseconds)?)
}

/// Accepts for ever. Beyond the limit, connections wait in the kernel's backlog, and idle ones of strangers are closed
/// soon, until a tenth of the places is free; beyond that of their address they are refused.
pub(crate) async fn accept(listener: TcpListener, entrance: Arc<Entrance>) {
    let most = most_connections();
    let permits = Arc::new(Semaphore::new(most));
    let mut pause = Pause::default();
    loop {
        if permits.available_permits() == 0 {
            pause.begin(&format!("{most} are open, as many as the limit of open files allows"));
        }
        // Before a connection is accepted: one that cannot be served stays in the backlog instead
        // of being closed.
        let left = permits.available_permits();
        if left == 0 || left > most / 10 {
            entrance.front.set_crowded(left == 0);
        }
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let accepted = next(&listener, &mut pause).await;
        let opened = accepted.and_then(|(stream, peer)| entrance.take(stream, peer, permit));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_connection_ends_when_its_client_has_vanished() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        notice_vanished(&listener).unwrap();
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert!(sockopt::socket_keepalive(&accepted).unwrap());
        let idle = sockopt::tcp_keepidle(&accepted).unwrap();
        let again = sockopt::tcp_keepintvl(&accepted).unwrap();
        assert_eq!((idle.as_secs(), again.as_secs()), (15, 5));
        assert_eq!(sockopt::tcp_user_timeout(&accepted).unwrap(), 60_000);
    }
}
