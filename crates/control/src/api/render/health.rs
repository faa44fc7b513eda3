//! How a server does.

use std::time::Duration;

use serde_json::Value;

use crate::api::view::{HealthReport, HealthView, PieceView, SampleView, WindowView};
use crate::clock;
use crate::health::{Health, WindowSlice, WindowTotals};
use crate::services::HealthHistory;

pub(crate) fn health_history(history: &HealthHistory) -> Value {
    let windows: Vec<WindowView> = history.window.iter().map(window_view).collect();
    let samples: Vec<SampleView<'_>> = history
        .samples
        .iter()
        .map(|sample| SampleView {
            at: sample.at,
            ok: sample.ok,
            response_time_ms: sample.response_ms.map(|millis| millis as f64),
            detail: sample.detail.as_deref(),
        })
        .collect();
    let health = health_view(&history.health);
    HealthReport { health: &health, windows: &windows, samples: &samples }.json()
}

/// With the moment that each slice began.
pub(super) fn series(slices: &[(Duration, WindowSlice)]) -> Vec<PieceView> {
    let now = clock::now();
    let view = |(ago, slice): &(Duration, WindowSlice)| PieceView {
        at: now - i64::try_from(ago.as_millis()).unwrap_or_default(),
        calls: slice.calls,
        failed_calls: slice.failed_calls,
        tool_errors: slice.tool_errors,
        p50: slice.p50,
        p95: slice.p95,
    };
    slices.iter().map(view).collect()
}

pub(super) fn health_view(health: &Health) -> HealthView {
    HealthView {
        status: health.status,
        last_check: health.last_check,
        calls: health.calls,
        failed_calls: health.failed_calls,
        tool_errors: health.tool_errors,
        p50: health.p50,
        p95: health.p95,
        check_p50: health.check_p50,
        check_p95: health.check_p95,
        error_rate: health.error_rate,
        consecutive_failures: health.consecutive_failures,
        restarts: health.restarts,
    }
}

fn window_view(totals: &WindowTotals) -> WindowView {
    WindowView {
        seconds: totals.seconds,
        checks: totals.checks,
        failed_checks: totals.failed_checks,
        calls: totals.calls,
        failed_calls: totals.failed_calls,
        tool_errors: totals.tool_errors,
        p50: totals.p50,
        p95: totals.p95,
        error_rate: totals.error_rate,
    }
}
