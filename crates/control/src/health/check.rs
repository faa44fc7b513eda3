//! One check: what it found, and what can be known without asking the server anything.

use std::time::Duration;

use super::judge::ConnectionPhase;

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

/// `silent_for`: since it last said anything; none if it never did. A server that has calls open and is
/// silent for longer than a check may take is asked: it may hang.
pub fn infer(
    silent_for: Option<Duration>,
    is_busy: bool,
    interval: Duration,
    patience: Duration,
) -> Inference {
    // A server with open calls should be talking; five seconds without a word are enough to ask.
    let limit = if is_busy { interval.min(patience) } else { interval };
    match silent_for {
        Some(silence) if silence <= limit => Inference::Fine,
        // Also without calls: a server that had no reason to write proves nothing by its silence.
        _ => Inference::Ask,
    }
}

/// What it means that a question was not answered for so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// It has said something else meanwhile.
    Fine,
    Strike,
}

/// A call that is open is no excuse: a server that hangs has one, too.
pub(super) fn unanswered(silent_for: Option<Duration>, asked_for: Duration) -> Silence {
    match silent_for {
        Some(silence) if silence < asked_for => Silence::Fine,
        _ => Silence::Strike,
    }
}

/// Only what is connected is checked: the rest is known to be not.
pub(super) fn is_checked(phase: ConnectionPhase) -> bool {
    phase == ConnectionPhase::Connected
}

/// From the beginning of one check to that of the next: the interval or up to a tenth less, so that the
/// servers of a restart are not all checked at once. Never more: the check that finds silence for the first
/// time comes within two intervals, the third that fails within four, and the last one takes its time. `chance` is any number.
pub(super) fn pause(interval: Duration, chance: u16) -> Duration {
    let share = f64::from(chance) / f64::from(u16::MAX);
    // Never longer than the interval: the promise of how soon silence is noticed counts on it.
    interval.mul_f64(0.9 + 0.1 * share)
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
        for (silent_for, is_busy, expected) in [
            (seconds(0), false, Inference::Fine),
            (seconds(30), false, Inference::Fine),
            (seconds(31), false, Inference::Ask),
            (None, false, Inference::Ask),
            (seconds(5), true, Inference::Fine),
            (seconds(6), true, Inference::Ask),
        ] {
            let got = infer(silent_for, is_busy, INTERVAL, Duration::from_secs(5));
            assert_eq!(got, expected, "{silent_for:?} {is_busy}");
        }
        let short = infer(seconds(2), true, Duration::from_secs(1), Duration::from_secs(5));
        assert_eq!(short, Inference::Ask, "the interval is shorter than a check may take");
    }

    #[test]
    fn us5_ac3_who_says_something_else_meanwhile_lives() {
        let asked_for = Duration::from_secs(5);
        for (silent_for, expected) in
            [(seconds(4), Silence::Fine), (seconds(5), Silence::Strike), (None, Silence::Strike)]
        {
            assert_eq!(unanswered(silent_for, asked_for), expected, "{silent_for:?}");
        }
    }

    #[test]
    fn pauses_are_spread_and_never_longer_than_the_interval() {
        assert_eq!(pause(INTERVAL, 0), Duration::from_secs(27));
        assert_eq!(pause(INTERVAL, u16::MAX), Duration::from_secs(30));
    }
}
