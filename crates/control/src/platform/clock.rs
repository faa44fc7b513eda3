//! The time, as it is written down: milliseconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// In whole seconds.
pub(super) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// When that was.
pub(super) fn at(instant: Instant) -> i64 {
    let ago = i64::try_from(instant.elapsed().as_millis()).unwrap_or(i64::MAX);
    now().saturating_sub(ago)
}
