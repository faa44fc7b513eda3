//! `Exporter`: the one task that sends spans to a collector, many at a time.
//!
//! By hand: the batch processor of the OpenTelemetry SDK blocks its thread, and this runtime has
//! only one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use trunkline_gateway::Followed;

use super::span::{Span, spans};
use super::{json, protobuf};
use crate::otlp::{FIRST_PAUSE, LONGEST_PAUSE, OtlpSender, PartialSuccess, Protocol, SendResult};

/// Requests whose spans are sent together.
// The default of the SDKs of OpenTelemetry.
const BATCH: usize = 512;
/// None waits longer than this for others.
const LINGER: Duration = Duration::from_secs(2);
/// A batch is sent again this often, after pauses doubled from the first on; then it is dropped.
const REPEATS: u32 = 3;

pub(super) struct Exporter {
    sender: OtlpSender,
    dropped: Arc<AtomicU64>,
    /// The last batch was dropped: that is said once, not each time.
    // Relaxed, here and for `dropped`: each stands alone, and one task writes it.
    is_failing: AtomicBool,
}

impl Exporter {
    pub(super) fn new(sender: OtlpSender, dropped: Arc<AtomicU64>) -> Self {
        Self { sender, dropped, is_failing: AtomicBool::new(false) }
    }

    /// Until all who could tell are gone, or `closing`.
    pub(super) async fn run(
        &self,
        mut waiting: mpsc::Receiver<Followed>,
        closing: &CancellationToken,
    ) {
        while let Some(batch) = gather(&mut waiting, closing).await {
            match self.send(&batch, closing).await {
                Ok(()) => {
                    if self.is_failing.swap(false, Ordering::Relaxed) {
                        tracing::info!("the collector takes spans again");
                    }
                }
                Err((count, why)) => {
                    self.dropped.fetch_add(count, Ordering::Relaxed);
                    if !self.is_failing.swap(true, Ordering::Relaxed) {
                        tracing::warn!("spans are dropped: {why}");
                    }
                }
            }
        }
    }

    /// Or how many were not taken, and why.
    async fn send(
        &self,
        batch: &[Followed],
        closing: &CancellationToken,
    ) -> Result<(), (u64, String)> {
        let body = self.encoded(batch);
        let all = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let mut pause = FIRST_PAUSE;
        let mut left = REPEATS;
        loop {
            let (why, asked) = match self.sender.post(body.clone()).await {
                SendResult::Taken => return Ok(()),
                SendResult::TakenInPart(PartialSuccess { rejected, why }) => {
                    // Spans, of which each request has two at most: no more requests are lost than were sent.
                    return Err((rejected.min(all), why));
                }
                SendResult::Refused { why, .. } => return Err((all, why)),
                SendResult::Later { why, asked } => (why, asked),
            };
            if left == 0 || closing.is_cancelled() {
                return Err((all, why));
            }
            left -= 1;
            tokio::select! {
                () = sleep(asked.unwrap_or(pause).min(LONGEST_PAUSE)) => {}
                // The last attempt is made at once.
                () = closing.cancelled() => {}
            }
            pause *= 2;
        }
    }

    fn encoded(&self, batch: &[Followed]) -> Vec<u8> {
        let spans: Vec<Span> = batch.iter().flat_map(spans).collect();
        let target = self.sender.target();
        match target.protocol {
            Protocol::Protobuf => protobuf::encode(&spans, &target.resource),
            Protocol::Json => json::encode(&spans, &target.resource),
        }
    }
}

/// As many as there are within `LINGER` of the first, or a full batch. None at the end.
async fn gather(
    waiting: &mut mpsc::Receiver<Followed>,
    closing: &CancellationToken,
) -> Option<Vec<Followed>> {
    let first = tokio::select! {
        one = waiting.recv() => one,
        () = closing.cancelled() => {
            waiting.close();
            waiting.recv().await
        }
    }?;
    let mut batch = vec![first];
    let until = Instant::now() + LINGER;
    while batch.len() < BATCH {
        let room = BATCH - batch.len();
        tokio::select! {
            count = waiting.recv_many(&mut batch, room) => {
                if count == 0 {
                    break;
                }
            }
            () = tokio::time::sleep_until(until) => break,
            () = closing.cancelled(), if !waiting.is_closed() => waiting.close(),
        }
    }
    Some(batch)
}
