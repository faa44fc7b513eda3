//! When the keys of an issuer are fetched again, and how long the last ones are good without.

use std::time::{Duration, Instant};

use trunkline_gateway::shortened;

/// What is known of fetching one issuer's keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fetches {
    /// When it was last tried, whatever came of it; a try under way counts.
    pub tried: Option<Instant>,
    /// When the keys at hand were fetched.
    pub fetched: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeysDecision {
    /// The keys at hand are good.
    Use,
    /// Fetch them first; then decide again with what has come.
    Refetch,
    /// There is no key, and it is too early to ask again.
    Refuse,
}

/// Whoever invents key ids makes us ask the issuer no more often than this.
pub const BETWEEN_TRIES: Duration = Duration::from_secs(30);

/// While the issuer cannot be reached, its last keys are good for this long. A key that it has
/// withdrawn in the meantime is good for as long.
pub const LONGEST_USE: Duration = Duration::from_secs(24 * 60 * 60);

/// How often keys are fetched for no other reason than that some may have been withdrawn.
pub const USUAL_USE: Duration = Duration::from_secs(10 * 60);

/// A token names a key: is it checked with the keys at hand? `has_kid`: the key is among them.
pub fn decide(now: Instant, fetches: Fetches, has_kid: bool) -> KeysDecision {
    let at_hand =
        fetches.fetched.is_some_and(|at| now.saturating_duration_since(at) <= LONGEST_USE);
    if at_hand && has_kid {
        KeysDecision::Use
    } else if may_try(now, fetches) {
        KeysDecision::Refetch
    } else {
        KeysDecision::Refuse
    }
}

/// Is it time to fetch the keys again, beside all requests?
pub fn is_due(now: Instant, fetches: Fetches) -> bool {
    let is_old = fetches.fetched.is_none_or(|at| now.saturating_duration_since(at) >= USUAL_USE);
    is_old && may_try(now, fetches)
}

fn may_try(now: Instant, fetches: Fetches) -> bool {
    fetches.tried.is_none_or(|at| now.saturating_duration_since(at) >= shortened(BETWEEN_TRIES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_used_refetched_or_refused() {
        use KeysDecision::{Refetch, Refuse, Use};
        const DAY: u64 = 24 * 60 * 60;
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        for (now, tried, fetched, has_kid, decided, due) in [
            // nothing yet
            (0, None, None, false, Refetch, true),
            // failing from the start
            (29, Some(0), None, false, Refuse, false),
            (30, Some(0), None, false, Refetch, true),
            // fresh
            (1, Some(0), Some(0), true, Use, false),
            (1, Some(0), Some(0), false, Refuse, false),
            (29, Some(0), Some(0), false, Refuse, false),
            (30, Some(0), Some(0), false, Refetch, false),
            (599, Some(0), Some(0), true, Use, false),
            (600, Some(0), Some(0), true, Use, true),
            // the issuer is gone
            (620, Some(600), Some(0), true, Use, false),
            (620, Some(600), Some(0), false, Refuse, false),
            (DAY, Some(DAY - 30), Some(0), true, Use, true),
            (DAY + 1, Some(DAY - 1), Some(0), true, Refuse, false),
            (DAY + 1, Some(DAY - 29), Some(0), true, Refetch, true),
        ] {
            let fetches = Fetches { tried: tried.map(at), fetched: fetched.map(at) };
            assert_eq!(decide(at(now), fetches, has_kid), decided, "{now} {tried:?} {fetched:?}");
            assert_eq!(is_due(at(now), fetches), due, "{now} {tried:?} {fetched:?}");
        }
    }
}
