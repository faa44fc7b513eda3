//! `StartGate`: how many servers start at a time. Those that nobody waits for yet wait for a place; those that
//! are needed do not.

use std::sync::Arc;

use tokio::sync::watch;

use crate::limits::LEAST_STARTS;
use crate::upstream::lifecycle::server::Server;

#[derive(Clone, Debug)]
pub(crate) struct StartGate {
    most: usize,
    /// How many are starting.
    starting: Arc<watch::Sender<usize>>,
}

impl StartGate {
    /// As many as keep the processors busy: starting is waiting, for a disk or a network, about as much as
    /// computing.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::of((2 * cores).max(LEAST_STARTS))
    }

    fn of(most: usize) -> Self {
        Self { most, starting: Arc::new(watch::Sender::new(0)) }
    }

    /// Waits for a place, unless this server is needed now: a call waits for it, or a list does because
    /// nothing is known of it. Dropping the place gives it back.
    pub(in crate::upstream) async fn enter(&self, server: &Server) -> StartPlace {
        let mut starting = self.starting.subscribe();
        loop {
            let is_needed = server.demand.is_called() || server.listing().is_none();
            let entered = self.starting.send_if_modified(|count| {
                let enters = is_needed || *count < self.most;
                *count += usize::from(enters);
                enters
            });
            if entered {
                return StartPlace(Arc::clone(&self.starting));
            }
            tokio::select! {
                // The sender lives in `self`.
                _ = starting.changed() => {}
                () = server.demand.changed() => {}
            }
        }
    }
}

/// One server that starts.
#[derive(Debug)]
pub(in crate::upstream) struct StartPlace(Arc<watch::Sender<usize>>);

impl Drop for StartPlace {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
