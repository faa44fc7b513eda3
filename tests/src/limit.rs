//! How long a test waits: for what was promised within a time, for what has no promise, or to see
//! that nothing comes. The first two are longer on a busy machine.

use std::time::{Duration, Instant};

use crate::{GLANCE, LIMIT, yardstick};

/// In a long wait a state is looked at no more seldom than this.
const SELDOM: Duration = Duration::from_millis(50);

/// What a wait is given.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    time: Duration,
    grows: bool,
}

impl Limit {
    /// For what the product promises within this time, on a machine that does nothing else.
    pub const fn promised(time: Duration) -> Self {
        Self { time, grows: true }
    }

    /// The wait begins now.
    pub fn begin(self) -> Deadline {
        if self.grows {
            yardstick::watch();
        }
        Deadline { start: Instant::now(), limit: self }
    }
}

/// [`LIMIT`] and more is patience, which a busy machine needs more of. Anything less is meant to the
/// letter: a test sees that nothing comes for so long.
impl From<Duration> for Limit {
    fn from(time: Duration) -> Self {
        Self { time, grows: time >= LIMIT }
    }
}

/// A wait that has begun.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    start: Instant,
    limit: Limit,
}

impl Deadline {
    /// How long there is still to wait, as far as is known now: who has waited for that long asks
    /// again. Zero: it is over.
    pub fn left(&self) -> Duration {
        let elapsed = self.start.elapsed();
        let left = self.limit.time.saturating_sub(elapsed);
        if !left.is_zero() || !self.limit.grows {
            return left;
        }
        yardstick::allowed(self.limit.time, yardstick::slowed_since(self.start))
            .saturating_sub(elapsed)
    }

    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Sleeps until the state is to be looked at again: soon at first, then for a twentieth of what
    /// has passed. A look may be a request, a script in a page or a walk over all processes, and many
    /// tests wait at a time.
    pub(crate) fn pause(&self) {
        std::thread::sleep((self.start.elapsed() / 20).clamp(GLANCE, SELDOM));
    }
}

/// For the message of a failed test.
impl std::fmt::Display for Deadline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.limit.time)?;
        let elapsed = self.start.elapsed();
        if self.limit.grows && elapsed > self.limit.time {
            let slowed = yardstick::slowed_since(self.start);
            write!(f, " ({elapsed:.1?}, while everything took {slowed:.1} times as long)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_patience_and_promises_grow_with_the_load() {
        let short = Duration::from_millis(300);
        for (limit, grows) in [
            (Limit::from(short), false),
            (Limit::from(LIMIT), true),
            (Limit::from(2 * LIMIT), true),
            (Limit::promised(short), true),
            (crate::SOON, true),
        ] {
            assert_eq!(limit.grows, grows, "{limit:?}");
        }
        assert!(Limit::from(Duration::ZERO).begin().is_over());
        assert!(!Limit::from(LIMIT).begin().is_over());
    }
}
