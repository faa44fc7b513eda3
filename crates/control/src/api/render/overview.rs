//! How everything does together.

use serde_json::Value;

use super::health::series;
use crate::api::view::{ContextView, OverviewView};
use crate::services::{ListSize, Overview};

pub(crate) fn overview(overview: &Overview) -> Value {
    let size = |size: &ListSize| ContextView {
        client: size.client,
        title: size.title,
        tools: size.tools,
        bytes: size.bytes,
    };
    let context: Vec<ContextView> = overview.list_sizes.iter().map(size).collect();
    OverviewView {
        statuses: &overview.statuses,
        tools: overview.tools,
        seconds: u32::try_from(overview.span.as_secs()).unwrap_or(u32::MAX),
        calls_per_minute: overview.calls_per_minute,
        lately: &overview.recent.summary,
        open_calls: overview.open_calls,
        waiting_calls: overview.waiting_calls,
        limited_calls: overview.limited_calls,
        restarts: overview.restarts,
        clients: overview.clients,
        context: &context,
        series: &series(&overview.recent.slices),
        hour: &series(&overview.recent.minutes),
    }
    .json()
}
