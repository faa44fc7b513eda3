//! The verdict on a server: from what is known of it to one of the words of 003.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::status::{HealthStatus, ServerStatus as Status};

/// What the data plane says of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectionPhase {
    Connecting,
    Connected,
    /// It could not be connected, or the connection was lost.
    Failed,
    /// On request.
    Disconnected,
    /// It sleeps until it is needed: that is no failure, and nothing is checked.
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HealthSignals {
    pub phase: ConnectionPhase,
    /// Checks that have failed since the last good one.
    pub failures: u32,
    /// Within the window.
    pub calls: u64,
    pub failed_calls: u64,
    pub tool_errors: u64,
    /// In milliseconds.
    pub p95: Option<f64>,
    /// How often it came back after it had gone, in the last ten minutes.
    pub restarts: usize,
    /// Because calls failed.
    pub was_degraded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HealthRules {
    /// So many checks in a row that fail are an error.
    pub strikes: u32,
    /// From this share of failed calls on, errors are elevated …
    pub elevated: f64,
    /// … until there are fewer than this: otherwise the verdict would change with every call.
    pub recovered: f64,
    /// From this share on, errors of any kind degrade a server. Tool errors are mostly the callers' (a file
    /// that is not there); when hardly any call succeeds, they are the server's.
    pub useless: f64,
    /// Fewer calls have no rate of errors …
    pub least_calls: u64,
    /// … but so many that have all failed are enough.
    pub least_all_failed: u64,
    /// So many restarts in ten minutes are too many.
    pub restarts: usize,
    /// A p95 above this is degraded, too; no limit unless said.
    pub slow: Option<Duration>,
}

impl Default for HealthRules {
    fn default() -> Self {
        Self {
            // Two strikes may be one slow moment of the machine; three are within two minutes at
            // the usual interval.
            strikes: 3,
            elevated: 0.20,
            // Half of `elevated`: the gap is what keeps a server at the edge from flapping.
            recovered: 0.10,
            useless: 0.90,
            // Fewer calls make no rate: one failure of two is half of them.
            least_calls: 10,
            least_all_failed: 3,
            restarts: 3,
            slow: None,
        }
    }
}

/// Why a server that is connected is not well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DegradedReason {
    Checks { failures: u32 },
    Errors { failed: u64, calls: u64 },
    Restarts { count: usize },
    Slow { p95: f64 },
}

impl Display for DegradedReason {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checks { failures } => write!(out, "{failures} health checks in a row failed"),
            Self::Errors { failed, calls } => {
                // No calls, no rate: the division would otherwise fail.
                let percent = (100 * failed).checked_div(*calls).unwrap_or_default();
                write!(out, "{percent} % of {calls} calls failed")
            }
            Self::Restarts { count } => {
                write!(out, "it restarted {count} times in the last 10 minutes")
            }
            Self::Slow { p95 } => write!(out, "its p95 response time is {p95:.0} ms"),
        }
    }
}

pub fn judge(signals: &HealthSignals, rules: &HealthRules) -> (Status, Option<DegradedReason>) {
    match signals.phase {
        ConnectionPhase::Disconnected => (Status::Disconnected, None),
        ConnectionPhase::Connecting => (Status::Connecting, None),
        ConnectionPhase::Idle => (Status::Idle, None),
        // Without a reason: the connection's own error says more than a rule could.
        ConnectionPhase::Failed => (Status::Error, None),
        ConnectionPhase::Connected if signals.failures >= rules.strikes => {
            (Status::Error, Some(DegradedReason::Checks { failures: signals.failures }))
        }
        ConnectionPhase::Connected => match degraded(signals, rules) {
            Some(reason) => (Status::Degraded, Some(reason)),
            None => (Status::Connected, None),
        },
    }
}

fn degraded(signals: &HealthSignals, rules: &HealthRules) -> Option<DegradedReason> {
    let HealthSignals { calls, failed_calls, tool_errors, restarts, .. } = *signals;
    // First: failures of the connection weigh more than errors that tools report on purpose.
    if errors_are_elevated(signals, rules) {
        return Some(DegradedReason::Errors { failed: failed_calls, calls });
    }
    if calls >= rules.least_calls && hardly_any_succeeds(signals, rules) {
        return Some(DegradedReason::Errors { failed: failed_calls + tool_errors, calls });
    }
    if restarts >= rules.restarts {
        return Some(DegradedReason::Restarts { count: restarts });
    }
    signals.p95.filter(|_| is_slow(signals, rules)).map(|p95| DegradedReason::Slow { p95 })
}

/// The word of `health.status`, which never contradicts `status`. What is connected and has failed checks or
/// calls, too few for a verdict, is neither healthy nor degraded yet.
pub(super) fn health(
    status: Status,
    checks: u64,
    signals: &HealthSignals,
    rules: &HealthRules,
) -> HealthStatus {
    let fails = signals.calls > 0
        && (at_least(signals.failed_calls, signals.calls, rules.elevated)
            || hardly_any_succeeds(signals, rules));
    match status {
        Status::Error => HealthStatus::Failing,
        Status::Degraded => HealthStatus::Degraded,
        Status::Connected if signals.failures > 0 || fails => HealthStatus::Unknown,
        Status::Connected if checks + signals.calls > 0 => HealthStatus::Healthy,
        // Not yet called and not yet checked is not the same as healthy.
        Status::Connected | Status::Connecting | Status::Disconnected | Status::Idle => {
            HealthStatus::Unknown
        }
    }
}

fn errors_are_elevated(signals: &HealthSignals, rules: &HealthRules) -> bool {
    let reaches = |share: f64| at_least(signals.failed_calls, signals.calls, share);
    if signals.was_degraded {
        // At least one failure: with no calls left in the window, `0 >= 0` would hold for ever.
        signals.failed_calls > 0 && reaches(rules.recovered)
    } else {
        let all_failed =
            signals.calls >= rules.least_all_failed && signals.failed_calls == signals.calls;
        all_failed || (signals.calls >= rules.least_calls && reaches(rules.elevated))
    }
}

fn hardly_any_succeeds(signals: &HealthSignals, rules: &HealthRules) -> bool {
    at_least(signals.failed_calls + signals.tool_errors, signals.calls, rules.useless)
}

fn is_slow(signals: &HealthSignals, rules: &HealthRules) -> bool {
    let limit = rules.slow.map(|slow| slow.as_secs_f64() * 1_000.0);
    let over = signals.p95.zip(limit).is_some_and(|(p95, limit)| p95 > limit);
    // A p95 of a handful of calls is the slowest of them.
    over && signals.calls >= rules.least_calls
}

fn at_least(part: u64, all: u64, share: f64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "counts of five minutes are far below 2^52")]
    let (part, all) = (part as f64, all as f64);
    part >= all * share
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: HealthSignals = HealthSignals {
        phase: ConnectionPhase::Connected,
        failures: 0,
        calls: 100,
        failed_calls: 0,
        tool_errors: 0,
        p95: Some(100.0),
        restarts: 0,
        was_degraded: false,
    };

    #[test]
    fn us5_the_verdict() {
        let bad = HealthSignals { was_degraded: true, ..FINE };
        let table = [
            (FINE, Status::Connected),
            (HealthSignals { calls: 0, p95: None, ..FINE }, Status::Connected),
            // AC5: three strikes
            (HealthSignals { failures: 2, ..FINE }, Status::Connected),
            (HealthSignals { failures: 3, ..FINE }, Status::Error),
            (HealthSignals { failures: 9, failed_calls: 100, ..FINE }, Status::Error),
            // elevated errors, and from when on
            (HealthSignals { failed_calls: 19, ..FINE }, Status::Connected),
            (HealthSignals { failed_calls: 20, ..FINE }, Status::Degraded),
            (HealthSignals { calls: 9, failed_calls: 8, ..FINE }, Status::Connected),
            (HealthSignals { calls: 9, failed_calls: 9, ..FINE }, Status::Degraded),
            (HealthSignals { calls: 3, failed_calls: 3, ..FINE }, Status::Degraded),
            (HealthSignals { calls: 2, failed_calls: 2, ..FINE }, Status::Connected),
            (HealthSignals { calls: 10, failed_calls: 2, ..FINE }, Status::Degraded),
            // recovery
            (HealthSignals { failed_calls: 10, ..bad }, Status::Degraded),
            (HealthSignals { failed_calls: 9, ..bad }, Status::Connected),
            (HealthSignals { calls: 5, failed_calls: 5, ..bad }, Status::Degraded),
            (HealthSignals { calls: 0, ..bad }, Status::Connected),
            // tool errors are the callers', unless hardly any call succeeds
            (HealthSignals { tool_errors: 89, ..FINE }, Status::Connected),
            (HealthSignals { tool_errors: 90, ..FINE }, Status::Degraded),
            (HealthSignals { tool_errors: 80, failed_calls: 10, ..FINE }, Status::Degraded),
            (HealthSignals { calls: 9, tool_errors: 9, ..FINE }, Status::Connected),
            // flapping
            (HealthSignals { restarts: 2, ..FINE }, Status::Connected),
            (HealthSignals { restarts: 3, ..FINE }, Status::Degraded),
            (HealthSignals { restarts: 3, failures: 3, ..FINE }, Status::Error),
            // what the connection says comes first
            (HealthSignals { phase: ConnectionPhase::Failed, ..FINE }, Status::Error),
            (
                HealthSignals { phase: ConnectionPhase::Connecting, failures: 3, ..FINE },
                Status::Connecting,
            ),
            (
                HealthSignals { phase: ConnectionPhase::Disconnected, failures: 3, ..FINE },
                Status::Disconnected,
            ),
        ];
        for (signals, expected) in table {
            let (status, reason) = judge(&signals, &HealthRules::default());
            assert_eq!(status, expected, "{signals:?}");
            let needs_reason =
                signals.phase == ConnectionPhase::Connected && status != Status::Connected;
            assert_eq!(reason.is_some(), needs_reason, "{signals:?}");
        }
    }

    #[test]
    fn reasons_are_told_with_their_figures() {
        for (signals, expected) in [
            (HealthSignals { calls: 74, failed_calls: 69, ..FINE }, "93 % of 74 calls failed"),
            (HealthSignals { calls: 12, tool_errors: 12, ..FINE }, "100 % of 12 calls failed"),
            (HealthSignals { restarts: 5, ..FINE }, "it restarted 5 times in the last 10 minutes"),
            (HealthSignals { failures: 3, ..FINE }, "3 health checks in a row failed"),
        ] {
            let reason =
                judge(&signals, &HealthRules::default()).1.map(|reason| reason.to_string());
            assert_eq!(reason.as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_slow_server_is_degraded_where_there_is_a_limit() {
        let rules = HealthRules { slow: Some(Duration::from_millis(99)), ..HealthRules::default() };
        assert_eq!(judge(&FINE, &rules).0, Status::Degraded);
        assert_eq!(judge(&HealthSignals { calls: 9, ..FINE }, &rules).0, Status::Connected);
        assert_eq!(judge(&HealthSignals { p95: Some(99.0), ..FINE }, &rules).0, Status::Connected);
    }

    #[test]
    fn the_checks_have_their_own_words() {
        let none = HealthSignals { calls: 0, ..FINE };
        for (status, checks, signals, expected) in [
            (Status::Connected, 1, none, HealthStatus::Healthy),
            (Status::Connected, 0, none, HealthStatus::Unknown),
            (Status::Connected, 2, HealthSignals { failures: 1, ..none }, HealthStatus::Unknown),
            (Status::Degraded, 1, none, HealthStatus::Degraded),
            (Status::Error, 3, HealthSignals { failures: 3, ..none }, HealthStatus::Failing),
            (Status::Disconnected, 3, none, HealthStatus::Unknown),
            // "healthy" beside "errors 100 %" is never true, however few the calls were
            (Status::Connected, 1, FINE, HealthStatus::Healthy),
            (
                Status::Connected,
                1,
                HealthSignals { calls: 1, failed_calls: 1, ..FINE },
                HealthStatus::Unknown,
            ),
            (
                Status::Connected,
                1,
                HealthSignals { calls: 2, tool_errors: 2, ..FINE },
                HealthStatus::Unknown,
            ),
            (
                Status::Connected,
                1,
                HealthSignals { calls: 2, tool_errors: 1, ..FINE },
                HealthStatus::Healthy,
            ),
        ] {
            let got = health(status, checks, &signals, &HealthRules::default());
            assert_eq!(got, expected, "{status:?} {signals:?}");
        }
    }
}
