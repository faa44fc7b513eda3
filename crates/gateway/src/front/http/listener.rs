//! Lets clients in, as many as there is room for.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use trunkline_keeper::raise_open_files;

use crate::front::http::conn::Conn;
use crate::front::http::front::Front;
use crate::front::http::reader::HttpReader;
use crate::limits::{ACCEPT_PAUSE, CONNECTIONS, RESERVED_DESCRIPTORS};
use crate::stream::Input;

/// Accepts for ever. Without a free place nobody is let in: the system keeps them waiting.
pub(super) async fn accept(listener: TcpListener, front: Arc<Front>) {
    let places = Arc::new(Semaphore::new(places()));
    let mut short = false;
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let let_in = match listener.accept().await {
            Ok((stream, peer)) => let_in(stream, peer, place, &front),
            Err(error) => Err(error),
        };
        match let_in {
            Ok(()) => short = false,
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                if !std::mem::replace(&mut short, true) {
                    tracing::warn!(%error, "no further connection can be accepted for now");
                }
                sleep(ACCEPT_PAUSE).await;
            }
        }
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
    let allowed = raise_open_files();
    // Two for each connection, and a fifth for everything else.
    let spare = (allowed / 5 * 4).saturating_sub(RESERVED_DESCRIPTORS) / 2;
    usize::try_from(spare).unwrap_or(usize::MAX).clamp(1, CONNECTIONS)
}
