//! Moments as the API writes and reads them: RFC 3339 in UTC, milliseconds since 1970 inside.

const DAY: i64 = 86_400_000;

/// `2026-11-15T10:00:00Z`, with milliseconds only where there are any.
pub fn format(millis: i64) -> String {
    let (year, month, day) = civil(millis.div_euclid(DAY));
    let rest = millis.rem_euclid(DAY);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, fraction) = (rest / 1000 % 60, rest % 1000);
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:03}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// A leap second is the last moment of its minute; digits beyond milliseconds are cut.
pub fn parse(text: &str) -> Option<i64> {
    let (date, time) = text.split_at_checked(10)?;
    let (year, month, day) = (number(date, 0..4)?, number(date, 5..7)?, number(date, 8..10)?);
    let dashes = date.get(4..5)? == "-" && date.get(7..8)? == "-";
    let time = time.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = time.split_at_checked(8)?;
    let (hour, minute, second) = (number(clock, 0..2)?, number(clock, 3..5)?, number(clock, 6..8)?);
    let colons = clock.get(2..3)? == ":" && clock.get(5..6)? == ":";
    let (fraction, zone) = fraction(rest)?;
    let sane = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    if !dashes || !colons || !sane || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = (hour * 60 + minute) * 60 + second.min(59);
    Some(days(year, month, day) * DAY + seconds * 1000 + fraction - offset(zone)?)
}

fn number(text: &str, range: std::ops::Range<usize>) -> Option<i64> {
    let digits = text.get(range)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The milliseconds, and what stands behind them.
fn fraction(rest: &str) -> Option<(i64, &str)> {
    let Some(rest) = rest.strip_prefix('.') else { return Some((0, rest)) };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, zone) = rest.split_at_checked(end).filter(|(digits, _)| !digits.is_empty())?;
    let millis: String = digits.chars().chain("000".chars()).take(3).collect();
    Some((millis.parse().ok()?, zone))
}

/// How far the clock is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = (number(zone, 1..3)?, number(zone, 4..6)?);
    let sane = zone.len() == 6 && zone.get(3..4)? == ":" && hours < 24 && minutes < 60;
    sane.then_some(sign * (hours * 60 + minutes) * 60_000)
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970. Years are counted from March, so that the leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The way back.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_are_written_and_read() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_736_330_400_000, "2025-01-08T10:00:00Z"),
            (951_827_696_789, "2000-02-29T12:34:56.789Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(format(millis), text);
            assert_eq!(parse(text), Some(millis), "{text}");
        }
    }

    #[test]
    fn other_spellings_are_read_too() {
        for (text, same) in [
            ("2025-01-08t10:00:00z", "2025-01-08T10:00:00Z"),
            ("2025-01-08 10:00:00Z", "2025-01-08T10:00:00Z"),
            ("2025-01-08T12:30:00+02:30", "2025-01-08T10:00:00Z"),
            ("2025-01-08T09:00:00.5-01:00", "2025-01-08T10:00:00.500Z"),
            ("2025-01-08T10:00:00.1239999Z", "2025-01-08T10:00:00.123Z"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"),
        ] {
            assert_eq!(parse(text).map(format).as_deref(), Some(same), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "2025-01-08",
            "2025-01-08T10:00:00",
            "2025-01-08T10:00Z",
            "2025-13-08T10:00:00Z",
            "2025-02-29T10:00:00Z",
            "2025-00-10T10:00:00Z",
            "2025-01-08T24:00:00Z",
            "2025-01-08T10:60:00Z",
            "2025-01-08T10:00:61Z",
            "2025-01-08T10:00:00.Z",
            "2025-01-08T10:00:00+2:00",
            "2025-01-08T10:00:00+02:00x",
            "2025-01-08T10:00:00ZZ",
            "2025/01/08T10:00:00Z",
            "+025-01-08T10:00:00Z",
            "2025-01-08T10:00:0éZ",
            "1736330400",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(millis in -62_135_596_800_000_i64..253_402_300_800_000) {
            prop_assert_eq!(parse(&format(millis)), Some(millis));
        }
    }
}
