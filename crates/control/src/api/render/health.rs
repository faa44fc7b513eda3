//! How a server does.

use std::time::Duration;

use serde_json::Value;

use crate::api::view::{
    HealthReport, HealthStatus, HealthView, PieceView, SampleView, Status, WindowView,
};
use crate::clock;
use crate::health::{self, Health, ServerStatus, WindowSlice, WindowTotals};
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
        status: health_status(health.status),
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

pub(super) fn status(status: ServerStatus) -> Status {
    match status {
        ServerStatus::Connected => Status::Connected,
        ServerStatus::Degraded => Status::Degraded,
        ServerStatus::Disconnected => Status::Disconnected,
        ServerStatus::Error => Status::Error,
        ServerStatus::Connecting => Status::Connecting,
    }
}

fn health_status(status: health::HealthStatus) -> HealthStatus {
    match status {
        health::HealthStatus::Unknown => HealthStatus::Unknown,
        health::HealthStatus::Healthy => HealthStatus::Healthy,
        health::HealthStatus::Degraded => HealthStatus::Degraded,
        health::HealthStatus::Failing => HealthStatus::Failing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_writes_a_status_as_audit_records_and_metrics_do() {
        for of in ServerStatus::ALL {
            assert_eq!(status(of).as_str(), of.as_str());
        }
        for of in health::HealthStatus::ALL {
            assert_eq!(health_status(of).as_str(), of.as_str());
        }
    }
}
