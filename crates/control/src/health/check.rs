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

/// `silent_for`: since it last said anything; none if it never did.
pub fn infer(silent_for: Option<Duration>, interval: Duration) -> Inference {
    match silent_for {
        Some(silence) if silence <= interval => Inference::Fine,
        // Also if nobody has called it: that it had no reason to say something proves nothing.
        _ => Inference::Ask,
    }
}

/// What it means that a question was not answered for so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// It has said something else meanwhile.
    Fine,
    /// It has a call to work on, and some do one thing at a time. A call that takes too long has a
    /// deadline of its own.
    Unknown,
    Strike,
}

pub(super) fn unanswered(
    silent_for: Option<Duration>,
    is_busy: bool,
    asked_for: Duration,
) -> Silence {
    match silent_for {
        Some(silence) if silence < asked_for => Silence::Fine,
        _ if is_busy => Silence::Unknown,
        _ => Silence::Strike,
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

    fn seconds(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    #[test]
    fn us5_ac3_health_is_inferred_from_the_last_message_and_silence_is_asked() {
        for (silent_for, expected) in [
            (seconds(0), Inference::Fine),
            (seconds(30), Inference::Fine),
            (seconds(31), Inference::Ask),
            (None, Inference::Ask),
        ] {
            assert_eq!(infer(silent_for, INTERVAL), expected, "{silent_for:?}");
        }
    }

    #[test]
    fn us5_ac3_a_call_that_is_open_proves_neither_life_nor_death() {
        let asked_for = Duration::from_secs(5);
        for (silent_for, is_busy, expected) in [
            (seconds(4), false, Silence::Fine),
            (seconds(4), true, Silence::Fine),
            (seconds(5), true, Silence::Unknown),
            (seconds(500), true, Silence::Unknown),
            (None, true, Silence::Unknown),
            (seconds(5), false, Silence::Strike),
            (None, false, Silence::Strike),
        ] {
            let got = unanswered(silent_for, is_busy, asked_for);
            assert_eq!(got, expected, "{silent_for:?} {is_busy}");
        }
    }

    #[test]
    fn pauses_are_spread_around_the_interval() {
        assert_eq!(pause(INTERVAL, 0), Duration::from_secs(27));
        assert_eq!(pause(INTERVAL, u16::MAX), Duration::from_secs(33));
    }
}
