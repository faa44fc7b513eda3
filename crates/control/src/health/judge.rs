//! The verdict on a server: from what is known of it to one of the words of 003.

use std::time::Duration;

use crate::api::view::{HealthStatus, Status};

/// What the data plane says of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    Connecting,
    Connected,
    /// It could not be connected, or the connection was lost.
    Failed,
    /// As somebody wished.
    Disconnected,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signals {
    pub phase: Phase,
    /// Checks that have failed since the last good one.
    pub failures: u32,
    /// Within the window.
    pub calls: u64,
    pub failed_calls: u64,
    /// In milliseconds.
    pub p95: Option<f64>,
    pub was_degraded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// So many checks in a row that fail are an error.
    pub strikes: u32,
    /// From this share of failed calls on, errors are elevated …
    pub elevated: f64,
    /// … until there are fewer than this: otherwise the verdict would change with every call.
    pub recovered: f64,
    /// Fewer calls say nothing.
    pub least_calls: u64,
    /// Slower than this in 95 of 100 is degraded, too; no limit unless said.
    pub slow: Option<Duration>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { strikes: 3, elevated: 0.20, recovered: 0.10, least_calls: 10, slow: None }
    }
}

pub fn judge(signals: &Signals, rules: &Rules) -> Status {
    match signals.phase {
        Phase::Disconnected => Status::Disconnected,
        Phase::Connecting => Status::Connecting,
        Phase::Failed => Status::Error,
        Phase::Connected if signals.failures >= rules.strikes => Status::Error,
        Phase::Connected if errors_are_elevated(signals, rules) || is_slow(signals, rules) => {
            Status::Degraded
        }
        Phase::Connected => Status::Connected,
    }
}

/// The same in the words of the checks.
pub(super) fn health(status: Status, checks: u64, calls: u64, failures: u32) -> HealthStatus {
    match status {
        Status::Error => HealthStatus::Failing,
        Status::Degraded => HealthStatus::Degraded,
        Status::Connected if checks + calls > 0 && failures == 0 => HealthStatus::Healthy,
        // One or two checks have failed: not yet an error, and no longer fine.
        Status::Connected if failures > 0 => HealthStatus::Degraded,
        Status::Connected | Status::Connecting | Status::Disconnected => HealthStatus::Unknown,
    }
}

fn errors_are_elevated(signals: &Signals, rules: &Rules) -> bool {
    let reaches = |share: f64| at_least(signals.failed_calls, signals.calls, share);
    if signals.was_degraded {
        signals.failed_calls > 0 && reaches(rules.recovered)
    } else {
        signals.calls >= rules.least_calls && reaches(rules.elevated)
    }
}

fn is_slow(signals: &Signals, rules: &Rules) -> bool {
    let limit = rules.slow.map(|slow| slow.as_secs_f64() * 1_000.0);
    let over = signals.p95.zip(limit).is_some_and(|(p95, limit)| p95 > limit);
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

    const FINE: Signals = Signals {
        phase: Phase::Connected,
        failures: 0,
        calls: 100,
        failed_calls: 0,
        p95: Some(100.0),
        was_degraded: false,
    };

    #[test]
    fn us5_the_verdict() {
        let bad = Signals { was_degraded: true, ..FINE };
        let table = [
            (FINE, Status::Connected),
            (Signals { calls: 0, p95: None, ..FINE }, Status::Connected),
            // AC5: three strikes
            (Signals { failures: 2, ..FINE }, Status::Connected),
            (Signals { failures: 3, ..FINE }, Status::Error),
            (Signals { failures: 9, failed_calls: 100, ..FINE }, Status::Error),
            // elevated errors, and from when on
            (Signals { failed_calls: 19, ..FINE }, Status::Connected),
            (Signals { failed_calls: 20, ..FINE }, Status::Degraded),
            (Signals { calls: 9, failed_calls: 9, ..FINE }, Status::Connected),
            (Signals { calls: 10, failed_calls: 2, ..FINE }, Status::Degraded),
            // recovery
            (Signals { failed_calls: 10, ..bad }, Status::Degraded),
            (Signals { failed_calls: 9, ..bad }, Status::Connected),
            (Signals { calls: 5, failed_calls: 5, ..bad }, Status::Degraded),
            (Signals { calls: 0, ..bad }, Status::Connected),
            // what the connection says comes first
            (Signals { phase: Phase::Failed, ..FINE }, Status::Error),
            (Signals { phase: Phase::Connecting, failures: 3, ..FINE }, Status::Connecting),
            (Signals { phase: Phase::Disconnected, failures: 3, ..FINE }, Status::Disconnected),
        ];
        for (signals, expected) in table {
            assert_eq!(judge(&signals, &Rules::default()), expected, "{signals:?}");
        }
    }

    #[test]
    fn a_slow_server_is_degraded_where_there_is_a_limit() {
        let rules = Rules { slow: Some(Duration::from_millis(99)), ..Rules::default() };
        assert_eq!(judge(&FINE, &rules), Status::Degraded);
        assert_eq!(judge(&Signals { calls: 9, ..FINE }, &rules), Status::Connected);
        assert_eq!(judge(&Signals { p95: Some(99.0), ..FINE }, &rules), Status::Connected);
    }

    #[test]
    fn the_checks_have_their_own_words() {
        for (status, checks, failures, expected) in [
            (Status::Connected, 1, 0, HealthStatus::Healthy),
            (Status::Connected, 0, 0, HealthStatus::Unknown),
            (Status::Connected, 2, 1, HealthStatus::Degraded),
            (Status::Degraded, 1, 0, HealthStatus::Degraded),
            (Status::Error, 3, 3, HealthStatus::Failing),
            (Status::Disconnected, 3, 0, HealthStatus::Unknown),
        ] {
            assert_eq!(health(status, checks, 0, failures), expected, "{status:?} {failures}");
        }
    }
}
