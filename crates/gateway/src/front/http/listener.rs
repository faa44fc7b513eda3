//! Lets clients in, as many as there is room for.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use crate::front::http::conn::Conn;
use crate::front::http::front::Front;
use crate::front::http::reader::HttpReader;
use crate::limits::{
    ACCEPT_CALM, ACCEPT_PAUSE, CONNECTIONS, RESERVED_DESCRIPTORS, WANTED_DESCRIPTORS,
};
use crate::stream::Input;

/// Accepts for ever. Without a free place nobody is let in: the system keeps them waiting.
pub(super) async fn accept(listener: TcpListener, front: Arc<Front>) {
    let most = places();
    let places = Arc::new(Semaphore::new(most));
    let mut pause = Pause::default();
    loop {
        if places.available_permits() == 0 {
            pause.begin(&format!("{most} are open, as many as the limit of open files allows"));
        }
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let let_in = match next(&listener, &mut pause).await {
            Ok((stream, peer)) => let_in(stream, peer, place, &front),
            Err(error) => Err(error),
        };
        match let_in {
            Ok(()) => pause.end_if_calm(),
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                pause.begin(&error.to_string());
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Whoever comes next. That nobody waits ends a pause.
async fn next(listener: &TcpListener, pause: &mut Pause) -> io::Result<(TcpStream, SocketAddr)> {
    if pause.last.is_some() {
        match timeout(ACCEPT_CALM, listener.accept()).await {
            Ok(accepted) => return accepted,
            Err(_) => pause.end(),
        }
    }
    listener.accept().await
}

/// A time in which connections cannot be accepted, or only when another one ends. Told once when it
/// begins and once when it ends.
#[derive(Debug, Default)]
struct Pause {
    /// When that was so for the last time.
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

    /// One was accepted: that it lasts shows only after a while.
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

fn let_in(
    stream: TcpStream,
    peer: SocketAddr,
    place: OwnedSemaphorePermit,
    front: &Arc<Front>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (input, sink) = Input::socket(OwnedFd::from(stream.into_std()?))?;
    front.clock.advance();
    let conn = Arc::new(Conn::new(Arc::clone(&front.clock)));
    front.add(&conn);
    conn.outbox.connect(sink, &front.pump);
    front.pump.read(input, Box::new(HttpReader::new(front, &conn, peer, place)));
    Ok(())
}

/// The client was gone before it was let in.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, InvalidInput};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | InvalidInput)
}

/// How many connections there may be: as many as the system lets us have descriptors for.
fn places() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(WANTED_DESCRIPTORS).min(WANTED_DESCRIPTORS);
    let mut allowed = current.unwrap_or(WANTED_DESCRIPTORS);
    // The servers have been given their own limit: they are started by another process.
    if wanted > allowed
        && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).is_ok()
    {
        allowed = wanted;
    }
    // Two for each connection, and a fifth for everything else.
    let spare = (allowed / 5 * 4).saturating_sub(RESERVED_DESCRIPTORS) / 2;
    usize::try_from(spare).unwrap_or(usize::MAX).clamp(1, CONNECTIONS)
}
