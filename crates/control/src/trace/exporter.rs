//! `Tracer`: takes spans without waiting, and one task that sends them to a collector.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline_http::{BadUrl, Url};

use super::encode::encode;
use super::span::Span;
use crate::net::{Client, Limits, Request, Response};

/// Spans that wait: some seconds of a busy gateway, below a megabyte.
const WAITING: usize = 4_096;
/// Spans of one request.
const BATCH: usize = 512;
/// A span waits no longer than this for others.
const LINGER: Duration = Duration::from_secs(5);
const LIMITS: Limits = Limits { deadline: Duration::from_secs(10), max_body: 64 * 1024 };
/// A batch is sent again this often, after pauses doubled from the first on; then it is dropped.
const REPEATS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longer than that a collector does not make us wait, whatever it says.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Settings {
    /// Of the collector, as in `http://localhost:4318`; `/v1/traces` is added.
    pub endpoint: Url,
    /// Sent with every request; values may be secrets.
    pub headers: Vec<(String, String)>,
    /// Tells replicas apart.
    pub instance: String,
}

impl Settings {
    pub fn traces(&self) -> Result<Url, BadUrl> {
        let base = self.endpoint.path().trim_end_matches('/');
        self.endpoint.join(&format!("{base}/v1/traces"))
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Settings")
            .field("endpoint", &self.endpoint)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Tracer {
    spans: mpsc::Sender<Span>,
    dropped: Arc<AtomicU64>,
    closing: CancellationToken,
    end: CancellationToken,
    done: CancellationToken,
}

impl Tracer {
    /// The sender runs on `tasks` until `close`.
    pub fn start(settings: Settings, client: Client, tasks: &TaskTracker) -> Result<Self, BadUrl> {
        let url = settings.traces()?;
        let (sender, spans) = mpsc::channel(WAITING);
        let tracer = Self {
            spans: sender,
            dropped: Arc::new(AtomicU64::new(0)),
            closing: CancellationToken::new(),
            end: CancellationToken::new(),
            done: CancellationToken::new(),
        };
        let own = Line { url, settings, client, dropped: Arc::clone(&tracer.dropped) };
        let (closing, end) = (tracer.closing.clone(), tracer.end.clone());
        let done = tracer.done.clone();
        tasks.spawn(async move {
            tokio::select! {
                () = own.run(spans, &closing) => {}
                () = end.cancelled() => {}
            }
            done.cancel();
        });
        Ok(tracer)
    }

    /// Never waits: without room the span is dropped and counted.
    pub fn record(&self, span: Span) {
        if self.spans.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Spans that nobody gets to see.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Sends what waits, as long as the deadline allows.
    pub async fn close(&self, deadline: Instant) {
        self.closing.cancel();
        if timeout_at(deadline, self.done.cancelled()).await.is_err() {
            self.end.cancel();
            self.done.cancelled().await;
        }
    }
}

struct Line {
    url: Url,
    settings: Settings,
    client: Client,
    dropped: Arc<AtomicU64>,
}

impl Line {
    async fn run(&self, mut spans: mpsc::Receiver<Span>, closing: &CancellationToken) {
        while let Some(batch) = gather(&mut spans, closing).await {
            self.send(&batch, closing).await;
        }
    }

    async fn send(&self, batch: &[Span], closing: &CancellationToken) {
        let body = encode(batch, &self.settings.instance);
        let mut pause = FIRST_PAUSE;
        for attempt in 0..=REPEATS {
            let verdict = self.post(body.clone()).await;
            let wait = match verdict {
                Verdict::Taken => return,
                Verdict::Refused => break,
                Verdict::Later(asked) => asked.unwrap_or(pause).min(LONGEST_PAUSE),
            };
            if attempt == REPEATS || closing.is_cancelled() {
                break;
            }
            tokio::select! {
                () = sleep(wait) => {}
                // The last attempt is made at once.
                () = closing.cancelled() => {}
            }
            pause *= 2;
        }
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    async fn post(&self, body: Vec<u8>) -> Verdict {
        let mut request = Request::post(self.url.clone(), "application/json", body);
        for (name, value) in &self.settings.headers {
            request = request.header(name, value);
        }
        match self.client.send(request, LIMITS).await {
            Ok(answer) => verdict(&answer),
            Err(error) if error.may_retry() => {
                tracing::debug!(%error, "spans cannot be sent");
                Verdict::Later(None)
            }
            Err(error) => {
                tracing::warn!(%error, "spans cannot be sent");
                Verdict::Refused
            }
        }
    }
}

enum Verdict {
    Taken,
    Refused,
    Later(Option<Duration>),
}

/// As OTLP has it: these four may be sent again, all others not.
fn verdict(answer: &Response) -> Verdict {
    match answer.status {
        200..=299 => Verdict::Taken,
        429 | 502 | 503 | 504 => {
            let seconds = answer.text("Retry-After").and_then(|text| text.parse().ok());
            Verdict::Later(seconds.map(Duration::from_secs))
        }
        status => {
            tracing::warn!(status, "the collector does not take the spans");
            Verdict::Refused
        }
    }
}

/// As many as there are within `LINGER` of the first, or a full batch. None at the end.
async fn gather(
    spans: &mut mpsc::Receiver<Span>,
    closing: &CancellationToken,
) -> Option<Vec<Span>> {
    let first = tokio::select! {
        span = spans.recv() => span,
        () = closing.cancelled() => {
            spans.close();
            spans.recv().await
        }
    }?;
    let mut batch = vec![first];
    let until = Instant::now() + LINGER;
    while batch.len() < BATCH {
        let room = BATCH - batch.len();
        tokio::select! {
            count = spans.recv_many(&mut batch, room) => {
                if count == 0 {
                    break;
                }
            }
            () = tokio::time::sleep_until(until) => break,
            () = closing.cancelled(), if !spans.is_closed() => spans.close(),
        }
    }
    Some(batch)
}
