//! A moment, written down in UTC: in the log, and in the name of a backup.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// `2026-11-15T10:00:00.000Z`
pub(crate) fn timestamp(time: SystemTime) -> String {
    let Moment { date: (year, month, day), time: (hour, minute, second), millis } =
        Moment::of(time);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// `20261115-100000`: sorts, and fits a file's name.
pub(crate) fn stamp(time: SystemTime) -> String {
    let Moment { date: (year, month, day), time: (hour, minute, second), .. } = Moment::of(time);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

struct Moment {
    date: (u64, u64, u64),
    time: (u64, u64, u64),
    millis: u32,
}

impl Moment {
    fn of(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let seconds = since.as_secs();
        let time = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
        Self { date: date(seconds / DAY), time, millis: since.subsec_millis() }
    }
}

/// Days since 1970 to the calendar, counting years from March so that the leap day is the last
/// (Howard Hinnant, `civil_from_days`).
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
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
            assert_eq!(stamp(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
        let moment = UNIX_EPOCH + Duration::from_millis(1_794_700_799_042);
        assert_eq!(timestamp(moment), "2026-11-14T23:59:59.042Z");
    }
}
