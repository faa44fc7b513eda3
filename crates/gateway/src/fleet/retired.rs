//! `Retired`: a server that leaves: no client can call it any more, and open calls may end.

use std::sync::Arc;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::limits::LEAVING_LOOK;
use crate::upstream::Server;

/// A server that leaves.
#[derive(Debug)]
pub struct Retired {
    /// Calls it had open.
    pub pending: usize,
    done: CancellationToken,
}

impl Retired {
    pub(super) fn new(pending: usize, done: CancellationToken) -> Self {
        Self { pending, done }
    }

    /// Waits until its calls have ended and it was told to stop.
    pub async fn finished(&self) {
        self.done.cancelled().await;
    }
}

pub(super) fn open_calls(servers: &[Arc<Server>]) -> usize {
    servers.iter().map(|server| server.open_calls() + server.waiting_calls()).sum()
}

/// Waits until no call is left, or the time is up. It polls: a notification at the end of each call
/// would slow every call, and few servers leave.
pub(super) async fn wait_for_calls(servers: &[Arc<Server>], until: Instant) {
    while open_calls(servers) > 0 && Instant::now() < until {
        sleep(LEAVING_LOOK).await;
    }
}
