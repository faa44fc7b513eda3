//! Traces of `serve`: from a flag and the variables of OpenTelemetry to an exporter.

use std::io;
use std::time::Duration;

use tokio::time::Instant;
use trunkline_control::trace::{Chosen, TraceSettings, Tracer, choose};
use trunkline_http::Url;

use crate::environment::Environment;

/// How long the last spans may take at the end: a prompt that comes back late is worse than lost spans.
const FAREWELL: Duration = Duration::from_secs(2);

/// What the operator wants, if anything.
pub(super) fn wanted(
    endpoint: Option<&Url>,
    environment: &Environment,
) -> Result<Option<TraceSettings>, String> {
    let Some(chosen) = choose(endpoint, |name| environment.get(name))? else { return Ok(None) };
    let Chosen { settings, warnings } = chosen;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    tracing::info!("traces go to {}", settings.target.url.origin());
    Ok(Some(settings))
}

pub(super) fn start(settings: TraceSettings) -> io::Result<Tracer> {
    Tracer::open(settings).ok_or_else(|| io::Error::other("there are no random numbers"))
}

pub(super) async fn close(tracer: Option<&Tracer>) {
    if let Some(tracer) = tracer {
        tracer.close(Instant::now() + FAREWELL).await;
    }
}
