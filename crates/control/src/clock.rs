//! The time, as it is written down: milliseconds since 1970.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// In whole seconds.
pub(crate) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// When that was: the same whenever it is asked, so that what has not changed is not told differently.
pub(crate) fn at(instant: Instant) -> i64 {
    static START: LazyLock<(Instant, i64)> = LazyLock::new(|| (Instant::now(), now()));
    let (start, started) = *START;
    let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    match instant.checked_duration_since(start) {
        Some(after) => started.saturating_add(millis(after)),
        None => started.saturating_sub(millis(start.saturating_duration_since(instant))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_alike_whenever_it_is_asked() {
        at(Instant::now()); // the clocks are paired when it is first asked
        let moment = Instant::now();
        let told = at(moment);
        assert!((told - now()).abs() < 60_000, "{told}");
        while moment.elapsed() < Duration::from_millis(30) {
            assert_eq!(at(moment), told);
        }
        assert_eq!(at(moment + Duration::from_secs(2)) - told, 2_000);
    }
}
