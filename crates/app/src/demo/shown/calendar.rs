//! Days as numbers since 1970, and back: `YYYY-MM-DD`.

/// The years that are written with four digits.
const YEARS: std::ops::RangeInclusive<i64> = 0..=9999;

/// The day of a date, if there is such a date.
pub(super) fn day_of(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let mut part = |digits: usize| {
        let text = parts.next().filter(|text| text.len() == digits)?;
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i64>().ok())?
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    if parts.next().is_some() {
        return None;
    }
    let found = days(year, month, day);
    // The 30th of February is a day in March, which is written in another way.
    date_of(found).filter(|again| again == date).map(|_| found)
}

/// The date of a day, if it has four digits.
pub(super) fn date_of(days: i64) -> Option<String> {
    // Years are counted from March, so that the leap day is the last (Howard Hinnant, `civil_from_days`).
    let days = days.checked_add(719_468)?;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    YEARS.contains(&year).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// 1970-01-01 was a Thursday.
pub(super) fn weekday(days: i64) -> &'static str {
    match (days + 3).rem_euclid(7) {
        0 => "Monday",
        1 => "Tuesday",
        2 => "Wednesday",
        3 => "Thursday",
        4 => "Friday",
        5 => "Saturday",
        _ => "Sunday",
    }
}

fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_the_same_thing() {
        for (date, day, name) in [
            ("1970-01-01", 0, "Thursday"),
            ("1969-12-31", -1, "Wednesday"),
            ("2000-02-29", 11_016, "Tuesday"),
            ("2026-11-16", 20_773, "Monday"),
            ("0000-03-01", -719_468, "Wednesday"),
        ] {
            assert_eq!((day_of(date), weekday(day)), (Some(day), name), "{date}");
            assert_eq!(date_of(day).as_deref(), Some(date));
        }
        for wrong in
            ["2026-02-30", "2026-13-01", "2026-1-1", "x", "", "2026-01-01-01", "+026-01-01"]
        {
            assert_eq!(day_of(wrong), None, "{wrong}");
        }
        assert_eq!(date_of(i64::MAX), None);
    }
}
