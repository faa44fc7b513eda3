//! One check: what it found, and what can be known without asking the server anything.

use std::time::Duration;

use super::judge::Phase;

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkup {
    pub ok: bool,
    /// How long the answer took; none if there was none, or if nothing was asked.
    pub took: Option<Duration>,
    pub detail: Option<String>,
}

impl Checkup {
    pub(super) fn inferred() -> Self {
        Self { ok: true, took: None, detail: None }
    }
}

/// Without a URL to ask, health is what the server's messages say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inference {
    Fine,
    /// Its silence may mean something: it has to be asked.
    Ask,
}

/// `silent_for`: since its last successful message; none if there was never one.
pub fn infer(silent_for: Option<Duration>, calls: u64, interval: Duration) -> Inference {
    match silent_for {
        Some(silence) if silence <= interval * 2 => Inference::Fine,
        // Nobody has asked it anything, so it had no reason to say something.
        _ if calls == 0 => Inference::Fine,
        _ => Inference::Ask,
    }
}

/// Only what is connected is checked: the rest is known to be not.
pub(super) fn is_checked(phase: Phase) -> bool {
    phase == Phase::Connected
}

/// Until the next check: the interval, a tenth more or less, so that the servers of a restart are
/// not all checked at once. `chance` is any number.
pub(super) fn pause(interval: Duration, chance: u16) -> Duration {
    let share = f64::from(chance) / f64::from(u16::MAX);
    interval.mul_f64(0.9 + 0.2 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(30);

    #[test]
    fn us5_ac3_health_is_inferred_from_the_last_message() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (silent_for, calls, expected) in [
            (seconds(0), 5, Inference::Fine),
            (seconds(60), 5, Inference::Fine),
            (seconds(61), 5, Inference::Ask),
            (seconds(61), 0, Inference::Fine),
            (None, 0, Inference::Fine),
            (None, 1, Inference::Ask),
        ] {
            assert_eq!(infer(silent_for, calls, INTERVAL), expected, "{silent_for:?} {calls}");
        }
    }

    #[test]
    fn pauses_are_spread_around_the_interval() {
        assert_eq!(pause(INTERVAL, 0), Duration::from_secs(27));
        assert_eq!(pause(INTERVAL, u16::MAX), Duration::from_secs(33));
    }
}
