//! `StartGate`: how many servers start at a time. Those that nobody waits for yet wait for a place; those that
//! are needed do not.

use std::sync::Arc;

use tokio::sync::watch;

use crate::limits::LEAST_STARTS;
use crate::upstream::lifecycle::demand::Demand;

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

    /// Waits for a place, unless the server is needed now: a call waits for it, or a list does because nothing
    /// is known of it. Dropping the place gives it back.
    pub(in crate::upstream) async fn enter(
        &self,
        demand: &Demand,
        is_known: impl Fn() -> bool,
    ) -> StartPlace {
        let mut starting = self.starting.subscribe();
        loop {
            let is_needed = demand.is_called() || !is_known();
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
                () = demand.changed() => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Has it a place by now?
    async fn is_in(mut waits: std::pin::Pin<&mut impl Future>) -> bool {
        tokio::select! {
            biased;
            _ = &mut waits => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn who_is_needed_passes_those_who_wait_for_a_place() {
        let gate = StartGate::of(1);
        let (first, second, called) = (Demand::default(), Demand::default(), Demand::default());
        let place = gate.enter(&first, || true).await;
        let waits = gate.enter(&second, || true);
        tokio::pin!(waits);
        assert!(!is_in(waits.as_mut()).await, "every place is taken");
        called.call();
        let passed = gate.enter(&called, || true).await;
        let unknown = gate.enter(&Demand::default(), || false).await;
        assert!(!is_in(waits.as_mut()).await);
        drop((passed, unknown));
        assert!(!is_in(waits.as_mut()).await, "the first still starts");
        drop(place);
        assert!(is_in(waits.as_mut()).await);
    }

    #[tokio::test]
    async fn who_waits_passes_when_it_is_called() {
        let gate = StartGate::of(0);
        let demand = Demand::default();
        let waits = gate.enter(&demand, || true);
        tokio::pin!(waits);
        assert!(!is_in(waits.as_mut()).await);
        demand.call();
        demand.ring();
        assert!(is_in(waits.as_mut()).await);
    }
}
