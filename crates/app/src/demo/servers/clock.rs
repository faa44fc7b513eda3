//! Dates and times: tools that read only.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use serde_json::{Value, json};

use crate::demo::tool::{Arguments, Demo, ToolOutcome, failed, object, reads, structured, text};

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
    ) -> Option<ToolOutcome> {
        Some(ToolOutcome::Done(match tool {
            "now" => now(Timestamp::now(), arguments.text("offset").unwrap_or("+00:00")),
            "add_days" => add_days(arguments),
            "days_between" => between(arguments),
            _ => return None,
        }))
    }
}

fn now(moment: Timestamp, offset: &str) -> Value {
    let Some(ahead) = ahead(offset) else {
        return failed("`offset` is written like +02:00 or -05:30");
    };
    let here = ahead.to_datetime(moment);
    let told = |format: &str| here.strftime(format).to_string();
    let (date, time, weekday) = (told("%Y-%m-%d"), told("%H:%M:%S"), told("%A"));
    structured(&json!({ "date": date, "time": time, "offset": offset, "weekday": weekday }))
}

/// `+HH:MM`.
fn ahead(offset: &str) -> Option<Offset> {
    let (sign, rest) = match offset.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, offset.strip_prefix('+')?),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |text: &str, most: i32| {
        let is_short = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_short && (0..=most).contains(number))
    };
    Offset::from_seconds(sign * (number(hours, 14)? * 3600 + number(minutes, 59)? * 60)).ok()
}

/// `YYYY-MM-DD` and nothing else, though jiff reads more.
pub(super) fn date(text: &str) -> Option<Date> {
    text.parse().ok().filter(|date: &Date| date.to_string() == text)
}

/// The date so many days later. Years have four digits here.
pub(super) fn later(date: Date, days: i64) -> Option<Date> {
    // `try_days` and `checked_add`: the caller chooses the number, and jiff panics without them.
    let later = jiff::Span::new().try_days(days).ok().and_then(|days| date.checked_add(days).ok());
    later.filter(|date| date.year() >= 0)
}

fn add_days(arguments: &Arguments<'_>) -> Value {
    let (Some(date), Some(more)) = (arguments.text("date").and_then(date), arguments.whole("days"))
    else {
        return failed("give a `date` as YYYY-MM-DD and `days` as a whole number");
    };
    match later(date, more) {
        Some(date) => text(date.to_string()),
        None => failed("that is too far away: years have four digits here"),
    }
}

fn between(arguments: &Arguments<'_>) -> Value {
    let given = |name| arguments.text(name).and_then(date);
    match (given("from"), given("to")) {
        (Some(from), Some(to)) => text((to - from).get_days().to_string()),
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
            let told = now(Timestamp::from_second(1_794_736_800).unwrap(), offset);
            assert_eq!(told["structuredContent"]["date"], date);
            assert_eq!(told["structuredContent"]["time"], time);
        }
        for wrong in ["", "2", "+2", "+02", "+02:60", "+15:00", "02:00", "+0é:00"] {
            assert_eq!(now(Timestamp::UNIX_EPOCH, wrong)["isError"], true, "{wrong}");
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

    #[test]
    fn dates_have_one_spelling() {
        for right in ["1970-01-01", "2000-02-29", "2026-11-16", "0000-03-01"] {
            assert!(date(right).is_some(), "{right}");
        }
        for wrong in [
            "2026-02-30",
            "2026-13-01",
            "2026-1-1",
            "x",
            "",
            "2026-01-01-01",
            "+026-01-01",
            "20260101",
        ] {
            assert_eq!(date(wrong), None, "{wrong}");
        }
        assert_eq!(
            now(Timestamp::UNIX_EPOCH, "+00:00")["structuredContent"]["weekday"],
            "Thursday"
        );
    }
}
