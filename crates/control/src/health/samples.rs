//! Samples go into the store, some at a time, and out of it again after a day.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use trunkline_store::{HealthSample, Store};

/// Samples that wait; as many servers are checked within an interval.
pub const WAITING: usize = 1_024;
/// How long a sample stays (ms).
const KEPT: i64 = 24 * 3_600 * 1_000;
// A sample stays an hour too long at most.
const PRUNED_EVERY: Duration = Duration::from_secs(3_600);
/// Written together.
const BATCH: usize = 256;

/// Until `end`; what waits then is written before it returns. What the store does not take is
/// dropped: samples are worth less than memory.
pub async fn keep(
    store: &Store,
    mut samples: mpsc::Receiver<HealthSample>,
    clock: fn() -> i64,
    end: &CancellationToken,
) {
    let mut due = interval_at(Instant::now(), PRUNED_EVERY);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = end.cancelled() => break,
            _ = due.tick() => {
                if let Err(error) = store.prune_health(clock().saturating_sub(KEPT)).await {
                    tracing::debug!(%error, "old health samples cannot be removed from the store; the next round tries again");
                }
            }
            count = samples.recv_many(&mut batch, BATCH) => {
                if count == 0 {
                    return;
                }
                append(store, std::mem::take(&mut batch)).await;
            }
        }
    }
    samples.close();
    while samples.recv_many(&mut batch, BATCH).await > 0 {
        append(store, std::mem::take(&mut batch)).await;
    }
}

async fn append(store: &Store, batch: Vec<HealthSample>) {
    if let Err(error) = store.append_health(batch).await {
        tracing::debug!(%error, "the store does not keep health samples; they are dropped");
    }
}
