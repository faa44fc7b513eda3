//! How a server does, in short and in full.

use serde_json::{Value, json};

use super::status::HEALTH_STATUSES;
use super::{HealthStatus, MOMENT, moment, moment_or_null};
use crate::api::shape::{Object, Shape, any_text, count, optional, required};

#[derive(Debug, Clone, PartialEq)]
pub struct HealthView {
    pub status: HealthStatus,
    pub last_check: Option<i64>,
    /// Of calls and checks, in milliseconds: the median, and what 95 of 100 stay below.
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    /// From 0 to 1.
    pub error_rate: Option<f64>,
    pub consecutive_failures: u32,
}

impl HealthView {
    pub fn json(&self) -> Value {
        json!({
            "status": self.status.as_str(),
            "last_check": moment_or_null(self.last_check),
            "response_time_ms": {"p50": self.p50, "p95": self.p95},
            "error_rate": self.error_rate,
            "consecutive_failures": self.consecutive_failures,
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

const RATE_DOC: &str = "From 0 to 1; null where nothing was measured.";

pub static HEALTH: Object = Object::answer(
    "Health",
    "How the server does.",
    &[
        required("status", Shape::Word(&HEALTH_STATUSES), "What the checks say."),
        required("last_check", Shape::OrNull(&MOMENT), "When it was last checked."),
        required("response_time_ms", Shape::Object(&TIMES), ""),
        required("error_rate", Shape::OrNull(&Shape::Number), RATE_DOC),
        required(
            "consecutive_failures",
            count(),
            "Checks that have failed since the last good one.",
        ),
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
        required("failed_calls", count(), ""),
        required("response_time_ms", Shape::Object(&TIMES), ""),
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
        let health = HealthView {
            status: HealthStatus::Unknown,
            last_check: None,
            p50: None,
            p95: None,
            error_rate: None,
            consecutive_failures: 0,
        };
        let window = WindowView {
            seconds: 60,
            checks: 2,
            failed_checks: 1,
            calls: 10,
            failed_calls: 0,
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
