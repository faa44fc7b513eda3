//! How a server does, in short and in full.

use super::HealthStatus;
use crate::api::schema::{Moment, answer};

const RATE_DOC: &str =
    "The share of calls that failed or ended in a tool error, from 0 to 1; null without calls.";
pub(super) const FAILED_DOC: &str =
    "Protocol errors, timeouts and lost calls: the server did not do its part.";
pub(super) const TOOL_ERRORS_DOC: &str = "Calls whose result says `isError`.";

answer! {
    /// How the server does.
    pub struct HealthView as "Health" {
        /// What the checks say.
        #[example = "healthy"] pub status: HealthStatus,
        /// When it was last checked.
        #[example = "2025-01-08T10:05:00Z"] pub last_check: Option<i64> as Moment,
        /// In the last five minutes; health checks are no calls.
        #[example = 412] pub calls: u64,
        #[doc = FAILED_DOC]
        pub failed_calls: u64,
        #[doc = TOOL_ERRORS_DOC]
        pub tool_errors: u64,
        #[doc = RATE_DOC]
        #[example = 0.0] pub error_rate: Option<f64>,
        #[hidden] pub p50: Option<f64>,
        #[hidden] pub p95: Option<f64>,
        /// Of calls.
        response_time_ms: ResponseTimes = |it| ResponseTimes { p50: it.p50, p95: it.p95 },
        #[hidden] pub check_p50: Option<f64>,
        #[hidden] pub check_p95: Option<f64>,
        /// Of health checks that were answered.
        #[example = {"p50":1.1,"p95":3.8}]
        check_time_ms: ResponseTimes = |it| ResponseTimes { p50: it.check_p50, p95: it.check_p95 },
        /// Checks that have failed since the last good one.
        pub consecutive_failures: u32,
        /// How often it came back after it had gone, in ten minutes.
        pub restarts: usize,
    }
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
}

answer! {
    /// In milliseconds; null where nothing was measured.
    pub struct ResponseTimes as "ResponseTimes" {
        /// The median.
        #[example = 38.2] pub p50: Option<f64>,
        /// The 95th percentile.
        #[example = 121.7] pub p95: Option<f64>,
    }
}

answer! {
    /// The last so many seconds.
    pub struct WindowView as "HealthWindow" {
        /// How far back it reaches.
        #[example = 300] pub seconds: u32,
        #[example = 10] pub checks: u64,
        pub failed_checks: u64,
        #[example = 412] pub calls: u64,
        #[doc = FAILED_DOC]
        pub failed_calls: u64,
        #[doc = TOOL_ERRORS_DOC]
        pub tool_errors: u64,
        #[hidden] pub p50: Option<f64>,
        #[hidden] pub p95: Option<f64>,
        /// Of calls.
        response_time_ms: ResponseTimes = |it| ResponseTimes { p50: it.p50, p95: it.p95 },
        #[doc = RATE_DOC]
        #[example = 0.0] pub error_rate: Option<f64>,
    }
}

answer! {
    /// One check.
    pub struct SampleView<'a> as "HealthSample" {
        pub at: i64 as Moment,
        #[example = true] pub ok: bool,
        #[example = 35.1] pub response_time_ms: Option<f64>,
        /// What went wrong.
        pub detail: Option<&'a str>,
    }
}

answer! {
    /// How the server does and did.
    pub struct HealthReport<'a> as "HealthReport" {
        pub health: &'a HealthView,
        pub windows: &'a [WindowView],
        /// The newest first.
        pub samples: &'a [SampleView<'a>],
    }
}

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
        assert_fits(&report.json().to_string(), &HealthReport::SCHEMA);
    }
}
