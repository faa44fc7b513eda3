//! The date of a response, as its header has it.

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7), of so many seconds since 1970.
pub fn http_date(seconds: u64) -> String {
    let (days, second) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = civil(days);
    let name = |names: &[&'static str], index: u64| {
        usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or_default()
    };
    format!(
        "{}, {day:02} {} {year:04} {:02}:{:02}:{:02} GMT",
        name(&WEEKDAYS, days % 7),
        name(&MONTHS, month - 1),
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

const DAY: u64 = 24 * 60 * 60;
/// From the first of January 1970 on.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Year, month and day, so many days after the first of January 1970. Years are counted from March,
/// so that the leap day is the last (Howard Hinnant, `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    // 719,468 days lie between the first of March of year 0 and 1970; 146,097 are 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (month, day) =
        (if month < 10 { month + 3 } else { month - 9 }, day - (153 * month + 2) / 5 + 1);
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (1_709_251_200, "Fri, 01 Mar 2024 00:00:00 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(http_date(seconds), expected);
        }
    }
}
