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

use super::choose::{Protocol, TraceSettings};
use super::span::{Span, spans};
use super::{json, protobuf};
use crate::net::{Client, Limits, Request, Response};

/// Requests whose spans are sent together.
const BATCH: usize = 512;
/// None waits longer than this for others.
const LINGER: Duration = Duration::from_secs(2);
const LIMITS: Limits = Limits { deadline: Duration::from_secs(10), max_body: 64 * 1024 };
/// A batch is sent again this often, after pauses doubled from the first on; then it is dropped.
const REPEATS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longer than that a collector does not make us wait, whatever it says.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(super) struct Exporter {
    settings: TraceSettings,
    client: Client,
    dropped: Arc<AtomicU64>,
    /// The last batch was dropped: that is said once, not each time.
    // Relaxed, here and for `dropped`: each stands alone, and one task writes it.
    is_failing: AtomicBool,
}

impl Exporter {
    pub(super) fn new(settings: TraceSettings, client: Client, dropped: Arc<AtomicU64>) -> Self {
        Self { settings, client, dropped, is_failing: AtomicBool::new(false) }
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
                Err(why) => {
                    let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
                    self.dropped.fetch_add(count, Ordering::Relaxed);
                    if !self.is_failing.swap(true, Ordering::Relaxed) {
                        tracing::warn!("spans are dropped: {why}");
                    }
                }
            }
        }
    }

    async fn send(&self, batch: &[Followed], closing: &CancellationToken) -> Result<(), String> {
        let (kind, body) = self.encoded(batch);
        let mut pause = FIRST_PAUSE;
        let mut left = REPEATS;
        loop {
            // Exported twice, a span is one: it has an id.
            let request = Request::post(self.settings.url.clone(), kind, body.clone()).repeatable();
            let (why, asked) = match self.post(request).await {
                ExportResult::Taken => return Ok(()),
                ExportResult::Refused(why) => return Err(why),
                ExportResult::Later(why, asked) => (why, asked),
            };
            if left == 0 || closing.is_cancelled() {
                return Err(why);
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

    fn encoded(&self, batch: &[Followed]) -> (&'static str, Vec<u8>) {
        let spans: Vec<Span> = batch.iter().flat_map(spans).collect();
        let resource = &self.settings.resource;
        match self.settings.protocol {
            Protocol::Protobuf => ("application/x-protobuf", protobuf::encode(&spans, resource)),
            Protocol::Json => ("application/json", json::encode(&spans, resource)),
        }
    }

    async fn post(&self, mut request: Request) -> ExportResult {
        for (name, value) in &self.settings.headers {
            request = request.header(name, value);
        }
        match self.client.send(request, LIMITS).await {
            Ok(answer) => verdict(&answer),
            Err(error) if error.may_retry() => ExportResult::Later(error.to_string(), None),
            Err(error) => ExportResult::Refused(error.to_string()),
        }
    }
}

enum ExportResult {
    Taken,
    Refused(String),
    Later(String, Option<Duration>),
}

/// As OTLP has it: these four may be sent again, all others not.
fn verdict(answer: &Response) -> ExportResult {
    let why = || format!("the collector answers with status {}", answer.status);
    match answer.status {
        200..=299 => ExportResult::Taken,
        429 | 502 | 503 | 504 => {
            let seconds = answer.text("Retry-After").and_then(|text| text.trim().parse().ok());
            ExportResult::Later(why(), seconds.map(Duration::from_secs))
        }
        _ => ExportResult::Refused(why()),
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
