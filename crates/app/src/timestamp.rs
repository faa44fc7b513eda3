//! Moments in UTC, written for logs and for names of files.

use std::time::SystemTime;

use jiff::Timestamp;

/// `2026-11-15T10:00:00.000Z`
pub(crate) fn rfc3339(time: SystemTime) -> String {
    format!("{:.3}", moment(time))
}

/// `20261115-100000`: sorts, and fits a file's name.
pub(crate) fn file_stamp(time: SystemTime) -> String {
    moment(time).strftime("%Y%m%d-%H%M%S").to_string()
}

/// A clock that is set to before 1970 or past the year 9999 shows 1970.
fn moment(time: SystemTime) -> Timestamp {
    let moment = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    moment.max(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        // date -u -d @N +%Y%m%d-%H%M%S
        for (seconds, expected) in [
            (0, "19700101-000000"),
            (951_782_399, "20000228-235959"),
            (951_782_400, "20000229-000000"),
            (1_709_251_199, "20240229-235959"),
            (1_794_736_800, "20261115-100000"),
            (4_107_542_400, "21000301-000000"),
        ] {
            assert_eq!(file_stamp(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
        let moment = UNIX_EPOCH + Duration::from_millis(1_794_700_799_042);
        assert_eq!(rfc3339(moment), "2026-11-14T23:59:59.042Z");
    }
}
