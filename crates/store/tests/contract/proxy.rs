//! Stands between a store and Postgres, and can make it look gone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    behind: String,
    what: Arc<AtomicU8>,
    /// How often a client has said something after it had heard something.
    trips: Arc<AtomicUsize>,
    tasks: JoinSet<()>,
}

const PASS: u8 = 0;
/// The connection breaks before a COMMIT gets to Postgres, or before its answer gets back.
pub(crate) const LOSE_COMMIT: u8 = 1;
pub(crate) const LOSE_ANSWER: u8 = 2;
/// From the moment the lock of the audit log is asked for, nothing passes any more, and nothing is closed: as if the
/// client's machine stood still.
pub(crate) const STAND_STILL: u8 = 3;

impl Proxy {
    pub(crate) async fn start(behind: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (what, trips) = (Arc::default(), Arc::default());
        let mut proxy = Self { address, behind, what, trips, tasks: JoinSet::new() };
        proxy.serve(listener);
        proxy
    }

    /// Every connection breaks, and no new one is taken.
    pub(crate) async fn stop(&mut self) {
        self.tasks.shutdown().await;
    }

    pub(crate) async fn start_again(&mut self) {
        self.serve(TcpListener::bind(self.address).await.unwrap());
    }

    /// The next commit meets this.
    pub(crate) fn next(&self, what: u8) {
        self.what.store(what, Ordering::SeqCst);
    }

    pub(crate) fn stands_still(&self) -> bool {
        self.what.load(Ordering::SeqCst) == STILL
    }

    pub(crate) fn trips(&self) -> usize {
        self.trips.load(Ordering::SeqCst)
    }

    fn serve(&mut self, listener: TcpListener) {
        let (behind, what) = (self.behind.clone(), Arc::clone(&self.what));
        let trips = Arc::clone(&self.trips);
        self.tasks.spawn(async move {
            // They end with this task.
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(&behind).await.unwrap();
                let (what, trips) = (Arc::clone(&what), Arc::clone(&trips));
                connections.spawn(between(client, server, what, trips));
            }
        });
    }
}

async fn between(
    client: TcpStream,
    server: TcpStream,
    what: Arc<AtomicU8>,
    trips: Arc<AtomicUsize>,
) {
    let has_heard = AtomicBool::new(true);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = forward(from_client, to_server, &what, (&has_heard, &trips)) => {}
        () = back(from_server, to_client, &what, &has_heard) => {}
    }
}

async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    what: &AtomicU8,
    (has_heard, trips): (&AtomicBool, &AtomicUsize),
) {
    let mut buffer = [0; 8192];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if has_heard.swap(false, Ordering::SeqCst) {
            trips.fetch_add(1, Ordering::SeqCst);
        }
        let locks = buffer[..length].windows(12).any(|part| part == b"advisory_xac");
        if locks && what.load(Ordering::SeqCst) == STAND_STILL {
            to.write_all(&buffer[..length]).await.unwrap();
            what.store(STILL, Ordering::SeqCst);
            std::future::pending::<()>().await;
        }
        let commit = buffer[..length].windows(7).any(|part| part == b"COMMIT\0");
        if commit && what.load(Ordering::SeqCst) == LOSE_COMMIT {
            what.store(PASS, Ordering::SeqCst);
            return;
        }
        if commit && what.load(Ordering::SeqCst) == LOSE_ANSWER {
            what.store(LOSE_ANSWER | LOSING, Ordering::SeqCst);
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

const STILL: u8 = 4;
/// The commit is on its way: what comes back next is its answer.
const LOSING: u8 = 128;

async fn back(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    what: &AtomicU8,
    has_heard: &AtomicBool,
) {
    let mut buffer = [0; 8192];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        has_heard.store(true, Ordering::SeqCst);
        if what.load(Ordering::SeqCst) == STILL {
            std::future::pending::<()>().await;
        }
        if what.load(Ordering::SeqCst) & LOSING != 0 {
            what.store(PASS, Ordering::SeqCst);
            return;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
