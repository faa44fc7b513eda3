//! When a token is used, when it is renewed, and how long to wait after a failure. Pure.

use std::time::Duration;

use crate::oauth::grant::HeldTokens;

/// A token is renewed this long before its end, or a tenth of its life if that is less.
const MARGIN: i64 = 60_000;

/// By how much of that this process renews earlier, in thousandths: those that share a grant do not all
/// come at the same moment, and who comes first has done it for the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Early(i64);

impl Early {
    // At most half a margin earlier: tokens are not renewed much more often than needed.
    const MOST: u16 = 500;

    pub(super) fn of(random: [u8; 2]) -> Self {
        Self((u16::from_le_bytes(random) % (Self::MOST + 1)).into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advice {
    Use,
    /// It still works, but not for long.
    UseAndRenew,
    Renew,
    /// It has ended, and there is nothing to renew it with.
    Ended,
}

/// `now` in milliseconds of the wall clock: issuers count in it. When it is wrong, the server says
/// so with a 401.
pub(super) fn advise(held: &HeldTokens, early: Early, now: i64) -> Advice {
    let Some(end) = held.expires_at else { return Advice::Use };
    let margin = margin(held, early, end);
    match (now, held.refresh.is_some()) {
        (now, true) if now >= end => Advice::Renew,
        (now, false) if now >= end => Advice::Ended,
        (now, true) if now >= end.saturating_sub(margin) => Advice::UseAndRenew,
        _ => Advice::Use,
    }
}

/// When (ms) to renew it, if it can be.
pub(super) fn renewal_at(held: &HeldTokens, early: Early) -> Option<i64> {
    let end = held.expires_at.filter(|_| held.refresh.is_some())?;
    Some(end.saturating_sub(margin(held, early, end)))
}

fn margin(held: &HeldTokens, early: Early, end: i64) -> i64 {
    let least = MARGIN.min(end.saturating_sub(held.issued_at).max(0) / 10);
    least + least * early.0 / 1000
}

pub(super) fn is_alive(held: &HeldTokens, now: i64) -> bool {
    held.expires_at.is_none_or(|end| now < end)
}

/// After so many failures in a row: 1 s, 2 s, 4 s … one minute, or as long as the server asks for.
pub(super) fn pause(failures: u32, asked: Option<Duration>) -> Duration {
    let doubled = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
    Duration::from_secs(doubled.min(60)).max(asked.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::secret::Secret;

    #[test]
    fn a_token_is_renewed_before_its_end() {
        use Advice::{Ended, Renew, Use, UseAndRenew};
        // Issued at 1,000 s.
        for (life, refresh, now, advice) in [
            (None, true, i64::MAX, Use),
            (Some(3600), true, 1000, Use),
            (Some(3600), true, 4539, Use),
            (Some(3600), true, 4540, UseAndRenew), // 60 s before
            (Some(3600), true, 4599, UseAndRenew),
            (Some(3600), true, 4600, Renew),
            (Some(3600), false, 4599, Use),
            (Some(3600), false, 4600, Ended),
            (Some(100), true, 1089, Use),
            (Some(100), true, 1090, UseAndRenew), // a tenth of its life before
            (Some(0), true, 1000, Renew),
            (Some(3600), true, 0, Use), // the clock was set back: the server will tell
        ] {
            let held = HeldTokens {
                access: Secret::new("a"),
                refresh: refresh.then(|| Secret::new("r")),
                issued_at: 1_000_000,
                expires_at: life.map(|life| 1_000_000 + life * 1000),
            };
            let now = i64::saturating_mul(now, 1000);
            assert_eq!(advise(&held, Early::default(), now), advice, "{life:?} {refresh} {now}");
            assert_eq!(is_alive(&held, now), matches!(advice, Use | UseAndRenew));
        }
    }

    #[test]
    fn processes_renew_at_different_times_and_none_too_late() {
        let held = HeldTokens {
            access: Secret::new("a"),
            refresh: Some(Secret::new("r")),
            issued_at: 0,
            expires_at: Some(3_600_000),
        };
        for (random, at) in [(0_u16, 3_540_000), (250, 3_525_000), (500, 3_510_000)] {
            let early = Early::of(random.to_le_bytes());
            assert_eq!(renewal_at(&held, early), Some(at), "{random}");
            assert_eq!(advise(&held, early, at - 1), Advice::Use);
            assert_eq!(advise(&held, early, at), Advice::UseAndRenew);
        }
        for random in 0..=u16::MAX {
            let at = renewal_at(&held, Early::of(random.to_le_bytes())).unwrap();
            assert!((3_510_000..=3_540_000).contains(&at), "{random}");
        }
    }

    #[test]
    fn pauses_grow_to_a_minute() {
        for (failures, asked, seconds) in [
            (1, None, 1),
            (2, None, 2),
            (3, None, 4),
            (7, None, 60),
            (1000, None, 60),
            (1, Some(30), 30),
            (9, Some(30), 60),
        ] {
            let asked = asked.map(Duration::from_secs);
            assert_eq!(pause(failures, asked), Duration::from_secs(seconds), "{failures}");
        }
    }
}
