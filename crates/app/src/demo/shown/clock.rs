//! Dates and times: tools that read only.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::calendar::{date_of, day_of, weekday};
use crate::demo::offer::{Arguments, Demo, Outcome, failed, object, reads, structured, text};

#[derive(Debug)]
pub(in crate::demo) struct Clock;

const DATE: &str = "A date as YYYY-MM-DD";

impl Demo for Clock {
    fn instructions(&self) -> &'static str {
        "The time now, and arithmetic with dates."
    }

    fn tools(&self) -> Value {
        let date = json!({ "type": "string", "format": "date", "description": DATE });
        let offset = json!({
            "type": "string",
            "description": "Hours and minutes ahead of UTC",
            "pattern": "^[+-][0-9]{2}:[0-9]{2}$",
            "default": "+00:00",
        });
        let mut now = reads(
            "now",
            "What time is it?",
            "The date, the time and the day of the week, in UTC or ahead of it.",
            object(json!({ "offset": offset }), &[]),
        );
        if let Some(tool) = now.as_object_mut() {
            let texts = ["date", "time", "offset", "weekday"];
            let properties: Value = texts
                .iter()
                .map(|name| ((*name).to_owned(), json!({ "type": "string" })))
                .collect();
            tool.insert("outputSchema".to_owned(), object(properties, &texts));
        }
        json!([
            now,
            reads(
                "add_days",
                "Add days",
                "The date that lies a number of days after a date, or before it.",
                object(json!({ "date": date, "days": { "type": "integer" } }), &["date", "days"]),
            ),
            reads(
                "days_between",
                "Days between",
                "How many days lie between two dates.",
                object(json!({ "from": date, "to": date }), &["from", "to"]),
            ),
        ])
    }

    fn call(
        &mut self,
        tool: &str,
        arguments: &Arguments<'_>,
        _answer: Option<&Value>,
    ) -> Option<Outcome> {
        Some(Outcome::Done(match tool {
            "now" => now(seconds(), arguments.text("offset").unwrap_or("+00:00")),
            "add_days" => add_days(arguments),
            "days_between" => between(arguments),
            _ => return None,
        }))
    }
}

fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or_default()
}

fn now(seconds: i64, offset: &str) -> Value {
    let Some(ahead) = ahead(offset) else {
        return failed("`offset` is written like +02:00 or -05:30");
    };
    let here = seconds + ahead;
    let (day, second) = (here.div_euclid(86_400), here.rem_euclid(86_400));
    let Some(date) = date_of(day) else {
        return failed("this clock is not set");
    };
    let time = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    structured(&json!({ "date": date, "time": time, "offset": offset, "weekday": weekday(day) }))
}

/// The seconds of `+HH:MM`.
fn ahead(offset: &str) -> Option<i64> {
    let (sign, rest) = match offset.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, offset.strip_prefix('+')?),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |text: &str, most: i64| {
        let is_short = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_short && (0..=most).contains(number))
    };
    Some(sign * (number(hours, 14)? * 3600 + number(minutes, 59)? * 60))
}

fn add_days(arguments: &Arguments<'_>) -> Value {
    let day = arguments.text("date").and_then(day_of);
    let (Some(day), Some(more)) = (day, arguments.whole("days")) else {
        return failed("give a `date` as YYYY-MM-DD and `days` as a whole number");
    };
    match day.checked_add(more).and_then(date_of) {
        Some(date) => text(date),
        None => failed("that is too far away: years have four digits here"),
    }
}

fn between(arguments: &Arguments<'_>) -> Value {
    let day = |name| arguments.text(name).and_then(day_of);
    match (day("from"), day("to")) {
        (Some(from), Some(to)) => text((to - from).to_string()),
        _ => failed("give `from` and `to` as YYYY-MM-DD"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(result: &Value) -> &str {
        result["content"][0]["text"].as_str().unwrap()
    }

    #[test]
    fn a_moment_is_told_ahead_of_utc_and_behind_it() {
        for (offset, date, time) in [
            ("+00:00", "2026-11-15", "10:00:00"),
            ("+14:00", "2026-11-16", "00:00:00"),
            ("-10:30", "2026-11-14", "23:30:00"),
        ] {
            let told = now(1_794_736_800, offset);
            assert_eq!(told["structuredContent"]["date"], date);
            assert_eq!(told["structuredContent"]["time"], time);
        }
        for wrong in ["", "2", "+2", "+02", "+02:60", "+15:00", "02:00", "+0é:00"] {
            assert_eq!(now(0, wrong)["isError"], true, "{wrong}");
        }
    }

    #[test]
    fn dates_are_reckoned_with() {
        let arguments =
            json!({ "date": "2026-02-27", "days": 3, "from": "2026-01-01", "to": "2025-12-31" });
        let arguments = Arguments(Some(&arguments));
        assert_eq!(said(&add_days(&arguments)), "2026-03-02");
        assert_eq!(said(&between(&arguments)), "-1");
        assert_eq!(add_days(&Arguments(None))["isError"], true);
        let far = json!({ "date": "2026-02-27", "days": i64::MAX });
        assert_eq!(add_days(&Arguments(Some(&far)))["isError"], true);
    }
}
