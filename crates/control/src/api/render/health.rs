//! How a server does.

use crate::api::view::{HealthView, WindowView};
use crate::health::{Health, WindowTotals};

pub fn health_view(health: &Health) -> HealthView {
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

pub fn window_view(totals: &WindowTotals) -> WindowView {
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
