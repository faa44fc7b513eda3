//! `Tracer`: decides which requests are followed, and takes what became of them without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline_gateway::{Followed, TraceContext, Traces};

use super::choose::TraceSettings;
use super::exporter::Exporter;
use super::ids::Ids;
use super::parent::Parent;
use super::sampler::Sampler;
use crate::net::Client;
use crate::otlp::OtlpSender;

/// Requests that wait to be told: some seconds of a busy gateway, a few megabytes at most.
const WAITING: usize = 4_096;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Tracer(Arc<TracerState>);

#[derive(Debug)]
struct TracerState {
    ids: Ids,
    sampler: Sampler,
    ended: mpsc::Sender<Followed>,
    dropped: Arc<AtomicU64>,
    closing: CancellationToken,
    end: CancellationToken,
    done: CancellationToken,
}

impl Tracer {
    /// What is told is sent until `close`. `None`: there are no random numbers.
    ///
    /// The operator has named the address: it may be anywhere, in private networks as well.
    pub fn open(settings: TraceSettings) -> Option<Self> {
        Self::start(settings, Client::new(Arc::new(|_| Ok(()))), &TaskTracker::new())
    }

    pub(super) fn start(
        mut settings: TraceSettings,
        client: Client,
        tasks: &TaskTracker,
    ) -> Option<Self> {
        let ids = Ids::new()?;
        let instance = "service.instance.id";
        if !settings.target.resource.iter().any(|(key, _)| key == instance) {
            let id = format!("{:032x}", u128::from_be_bytes(ids.trace()));
            settings.target.resource.push((instance.to_owned(), id));
        }
        let (ended, waiting) = mpsc::channel(WAITING);
        let inner = Arc::new(TracerState {
            ids,
            sampler: settings.sampler,
            ended,
            dropped: Arc::default(),
            closing: CancellationToken::new(),
            end: CancellationToken::new(),
            done: CancellationToken::new(),
        });
        let sender = OtlpSender::new(settings.target, client);
        let exporter = Exporter::new(sender, Arc::clone(&inner.dropped));
        let (closing, end) = (inner.closing.clone(), inner.end.clone());
        let done = inner.done.clone().drop_guard();
        tasks.spawn(async move {
            let _done = done;
            tokio::select! {
                () = exporter.run(waiting, &closing) => {}
                () = end.cancelled() => {}
            }
        });
        Some(Self(inner))
    }

    /// Requests of which nobody gets to see a span.
    pub fn dropped(&self) -> u64 {
        // Relaxed: a count that is only shown.
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Sends what waits, as long as the deadline allows.
    pub async fn close(&self, deadline: Instant) {
        self.0.closing.cancel();
        if timeout_at(deadline, self.0.done.cancelled()).await.is_err() {
            tracing::warn!("the collector does not take the last spans in time");
            self.0.end.cancel();
            self.0.done.cancelled().await;
        }
    }
}

impl Traces for Tracer {
    fn begin(&self, parents: [Option<&str>; 2]) -> Option<TraceContext> {
        let TracerState { ids, sampler, .. } = &*self.0;
        let parent = parents.into_iter().flatten().find_map(Parent::read);
        let trace = parent.map_or_else(|| ids.trace(), |parent| parent.trace);
        sampler.takes(parent.as_ref(), trace).then(|| TraceContext {
            trace,
            parent: parent.map(|parent| parent.span),
            span: ids.span(),
            onward: ids.span(),
        })
    }

    /// Never waits: without room it is dropped and counted.
    fn ended(&self, request: Followed) {
        if self.0.ended.try_send(request).is_err() {
            // Relaxed: a count that is only shown.
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
