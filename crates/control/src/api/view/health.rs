//! How a server does, in short and in full.

use serde_json::{Value, json};

use super::status::HEALTH_STATUSES;
use super::{HealthStatus, MOMENT, moment, moment_or_null};
use crate::api::shape::{Object, Shape, any_text, count, optional, required};

#[derive(Debug, Clone, PartialEq)]
pub struct HealthView {
    pub status: HealthStatus,
    pub last_check: Option<i64>,
    /// Of the last five minutes.
    pub calls: u64,
    pub failed_calls: u64,
    pub tool_errors: u64,
    /// Of calls, in milliseconds.
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    /// Of checks, in milliseconds.
    pub check_p50: Option<f64>,
    pub check_p95: Option<f64>,
    /// From 0 to 1.
    pub error_rate: Option<f64>,
    pub consecutive_failures: u32,
    /// In the last ten minutes.
    pub restarts: usize,
}

impl HealthView {
    /// Of a server that nothing is known about.
    pub const UNKNOWN: Self = Self {
        status: HealthStatus::Unknown,
        last_check: None,
        calls: 0,
        failed_calls: 0,
        tool_errors: 0,
        p50: None,
        p95: None,
        check_p50: None,
        check_p95: None,
        error_rate: None,
        consecutive_failures: 0,
        restarts: 0,
    };

    pub fn json(&self) -> Value {
        json!({
            "status": self.status.as_str(),
            "last_check": moment_or_null(self.last_check),
            "calls": self.calls,
            "failed_calls": self.failed_calls,
            "tool_errors": self.tool_errors,
            "error_rate": self.error_rate,
            "response_time_ms": {"p50": self.p50, "p95": self.p95},
            "check_time_ms": {"p50": self.check_p50, "p95": self.check_p95},
            "consecutive_failures": self.consecutive_failures,
            "restarts": self.restarts,
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct WindowView {
    pub seconds: u32,
    pub checks: u64,
    pub failed_checks: u64,
    pub calls: u64,
    pub failed_calls: u64,
    pub tool_errors: u64,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub error_rate: Option<f64>,
}

impl WindowView {
    fn json(&self) -> Value {
        json!({
            "seconds": self.seconds,
            "checks": self.checks,
            "failed_checks": self.failed_checks,
            "calls": self.calls,
            "failed_calls": self.failed_calls,
            "tool_errors": self.tool_errors,
            "response_time_ms": {"p50": self.p50, "p95": self.p95},
            "error_rate": self.error_rate,
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SampleView<'a> {
    pub at: i64,
    pub ok: bool,
    pub response_time_ms: Option<f64>,
    pub detail: Option<&'a str>,
}

impl SampleView<'_> {
    fn json(&self) -> Value {
        json!({
            "at": moment(self.at),
            "ok": self.ok,
            "response_time_ms": self.response_time_ms,
            "detail": self.detail,
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct HealthReport<'a> {
    pub health: &'a HealthView,
    pub windows: &'a [WindowView],
    /// The newest first.
    pub samples: &'a [SampleView<'a>],
}

impl HealthReport<'_> {
    pub fn json(&self) -> Value {
        json!({
            "health": self.health.json(),
            "windows": self.windows.iter().map(WindowView::json).collect::<Vec<_>>(),
            "samples": self.samples.iter().map(SampleView::json).collect::<Vec<_>>(),
        })
    }
}

static TIMES: Object = Object::answer(
    "ResponseTimes",
    "In milliseconds; null where nothing was measured.",
    &[
        required("p50", Shape::OrNull(&Shape::Number), "The median."),
        required("p95", Shape::OrNull(&Shape::Number), "95 of 100 stay below."),
    ],
);

const RATE_DOC: &str =
    "The share of calls that failed or ended in a tool error, from 0 to 1; null without calls.";
pub(super) const FAILED_DOC: &str =
    "Protocol errors, timeouts and lost calls: the server did not do its part.";
pub(super) const TOOL_ERRORS_DOC: &str = "Calls whose result says `isError`.";

pub static HEALTH: Object = Object::answer(
    "Health",
    "How the server does.",
    &[
        required("status", Shape::Word(&HEALTH_STATUSES), "What the checks say."),
        required("last_check", Shape::OrNull(&MOMENT), "When it was last checked."),
        required("calls", count(), "In the last five minutes; health checks are no calls."),
        required("failed_calls", count(), FAILED_DOC),
        required("tool_errors", count(), TOOL_ERRORS_DOC),
        required("error_rate", Shape::OrNull(&Shape::Number), RATE_DOC),
        required("response_time_ms", Shape::Object(&TIMES), "Of calls."),
        required("check_time_ms", Shape::Object(&TIMES), "Of health checks that were answered."),
        required(
            "consecutive_failures",
            count(),
            "Checks that have failed since the last good one.",
        ),
        required("restarts", count(), "How often it came back after it had gone, in ten minutes."),
    ],
);

static WINDOW: Object = Object::answer(
    "HealthWindow",
    "The last so many seconds.",
    &[
        required("seconds", count(), "How far back it reaches."),
        required("checks", count(), ""),
        required("failed_checks", count(), ""),
        required("calls", count(), ""),
        required("failed_calls", count(), FAILED_DOC),
        required("tool_errors", count(), TOOL_ERRORS_DOC),
        required("response_time_ms", Shape::Object(&TIMES), "Of calls."),
        required("error_rate", Shape::OrNull(&Shape::Number), RATE_DOC),
    ],
);

static SAMPLE: Object = Object::answer(
    "HealthSample",
    "One check.",
    &[
        required("at", MOMENT, ""),
        required("ok", Shape::Flag, ""),
        required("response_time_ms", Shape::OrNull(&Shape::Number), ""),
        optional("detail", Shape::OrNull(&any_text()), "What went wrong."),
    ],
);

pub static HEALTH_REPORT: Object = Object::answer(
    "HealthReport",
    "How the server does and did.",
    &[
        required("health", Shape::Object(&HEALTH), ""),
        required("windows", Shape::List { of: &Shape::Object(&WINDOW), most: usize::MAX }, ""),
        required(
            "samples",
            Shape::List { of: &Shape::Object(&SAMPLE), most: usize::MAX },
            "The newest first.",
        ),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;

    #[test]
    fn a_report_has_its_shape() {
        let health = HealthView::UNKNOWN;
        let window = WindowView {
            seconds: 60,
            checks: 2,
            failed_checks: 1,
            calls: 10,
            failed_calls: 0,
            tool_errors: 2,
            p50: Some(1.5),
            p95: Some(20.0),
            error_rate: Some(0.1),
        };
        let samples = [
            SampleView { at: 0, ok: true, response_time_ms: Some(0.25), detail: None },
            SampleView { at: 1, ok: false, response_time_ms: None, detail: Some("timed out") },
        ];
        let report = HealthReport { health: &health, windows: &[window], samples: &samples };
        assert_fits(&report.json().to_string(), &Shape::Object(&HEALTH_REPORT));
    }
}
