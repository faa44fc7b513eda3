//! Invented weather: a city has the same weather on the same day, always.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use serde_json::{Value, json};

use super::clock::{date, later};
use super::picture::bars;
use crate::demo::tool::{Arguments, Demo, ToolOutcome, failed, object, reads, structured};

#[derive(Debug)]
pub(in crate::demo) struct Weather;

const CITIES: [&str; 8] =
    ["Accra", "Berlin", "Kyoto", "Lima", "Nairobi", "Oslo", "Rome", "Vancouver"];

const SKIES: [&str; 5] = ["sunny", "cloudy", "rain", "storm", "fog"];

/// How far it looks.
const LONGEST: i64 = 14;

impl Demo for Weather {
    fn instructions(&self) -> &'static str {
        "Invented weather for any city: the same every time it is asked. Not a forecast to rely on."
    }

    fn tools(&self) -> Value {
        let city = json!({ "type": "string", "description": "Any city", "examples": CITIES });
        let input = json!({
            "city": city,
            "days": { "type": "integer", "minimum": 1, "maximum": LONGEST, "default": 3 },
            "from": { "type": "string", "format": "date", "description": "YYYY-MM-DD; today without" },
        });
        let day = object(
            json!({
                "date": { "type": "string" },
                "sky": { "type": "string", "enum": SKIES },
                "low": { "type": "integer" },
                "high": { "type": "integer" },
            }),
            &["date", "sky", "low", "high"],
        );
        let days = json!({ "type": "array", "items": day });
        let output =
            object(json!({ "city": { "type": "string" }, "days": days }), &["city", "days"]);
        let mut forecast = reads(
            "forecast",
            "Weather forecast",
            "Invented weather of a city for up to two weeks: sky and temperatures in °C.",
            object(input, &["city"]),
        );
        if let Some(tool) = forecast.as_object_mut() {
            tool.insert("outputSchema".to_owned(), output);
        }
        let two = json!({ "one": city, "other": city });
        json!([
            forecast,
            reads(
                "warmer",
                "Which is warmer?",
                "Which of two cities is warmer today, in this invented weather.",
                object(two, &["one", "other"]),
            ),
            reads(
                "chart",
                "Chart of temperatures",
                "A picture: the highest temperatures of a city in the next seven days, one bar each.",
                object(json!({ "city": city }), &["city"]),
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
            "forecast" => forecast(arguments, today()),
            "warmer" => warmer(arguments, today()),
            "chart" => chart(arguments, today()),
            _ => return None,
        }))
    }

    fn templates(&self) -> Vec<Value> {
        vec![json!({
            "uriTemplate": "weather://{city}",
            "name": "today",
            "description": "The invented weather of a city today",
            "mimeType": "application/json",
        })]
    }

    fn read(&self, uri: &str) -> Option<(&'static str, String)> {
        let city = uri.strip_prefix("weather://").filter(|city| !city.is_empty())?;
        Some(("application/json", weather(city, today()).to_string()))
    }

    fn prompts(&self) -> Vec<Value> {
        let city = json!({ "name": "city", "description": "Where to", "required": true });
        vec![json!({
            "name": "packing",
            "description": "Have a packing list made for a trip",
            "arguments": [city],
        })]
    }

    fn prompt(&self, name: &str, arguments: &Arguments<'_>) -> Option<String> {
        let city = arguments.text("city").unwrap_or("Rome");
        (name == "packing").then(|| {
            let weather = weather(city, today());
            format!("Make a short packing list for a day in {city}. The weather there: {weather}")
        })
    }

    fn completions(&self, argument: &str) -> Vec<&'static str> {
        if argument == "city" { CITIES.to_vec() } else { Vec::new() }
    }
}

fn today() -> Date {
    Offset::UTC.to_datetime(Timestamp::now()).date()
}

fn forecast(arguments: &Arguments<'_>, today: Date) -> Value {
    let Some(city) = arguments.text("city") else {
        return failed("which `city`?");
    };
    let from = match arguments.text("from") {
        None => Some(today),
        Some(text) => date(text),
    };
    let Some(from) = from else {
        return failed("`from` is a date, written YYYY-MM-DD");
    };
    let count = arguments.whole("days").unwrap_or(3);
    if !(1..=LONGEST).contains(&count) {
        return failed(format!("`days` is a number from 1 to {LONGEST}"));
    }
    let days: Vec<Value> =
        (0..count).filter_map(|day| Some(weather(city, later(from, day)?))).collect();
    structured(&json!({ "city": city, "days": days }))
}

fn warmer(arguments: &Arguments<'_>, today: Date) -> Value {
    let (Some(one), Some(other)) = (arguments.text("one"), arguments.text("other")) else {
        return failed("which cities? Give `one` and `other`");
    };
    let (first, second) = (high(one, today), high(other, today));
    let warmer = if first >= second { one } else { other };
    structured(&json!({ "warmer": warmer, "by": (first - second).abs() }))
}

fn chart(arguments: &Arguments<'_>, today: Date) -> Value {
    let Some(city) = arguments.text("city") else {
        return failed("which `city`?");
    };
    let values: Vec<i64> = (0..7).filter_map(|day| Some(high(city, later(today, day)?))).collect();
    let said: Vec<String> = values.iter().map(ToString::to_string).collect();
    let words = format!("{city}, in °C from today on: {}", said.join(", "));
    let picture = STANDARD.encode(bars(&values));
    json!({ "content": [
        { "type": "text", "text": words },
        { "type": "image", "mimeType": "image/png", "data": picture },
    ] })
}

fn high(city: &str, day: Date) -> i64 {
    weather(city, day).get("high").and_then(Value::as_i64).unwrap_or(0)
}

fn weather(city: &str, day: Date) -> Value {
    let seed = seed(city, day);
    let pick = |shift: u32, among: u64| i64::try_from((seed >> shift) % among).unwrap_or(0);
    let low = pick(8, 30) - 8;
    let high = low + 3 + pick(24, 10);
    let sky = SKIES.get(usize::try_from(pick(40, 5)).unwrap_or(0)).copied().unwrap_or("sunny");
    json!({ "date": day.to_string(), "sky": sky, "low": low, "high": high })
}

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// FNV-1a over the city, in small letters, and the day; stirred, for its high bits are poor.
fn seed(city: &str, day: Date) -> u64 {
    let day = i64::from((day - EPOCH).get_days());
    let bytes = city.to_lowercase().into_bytes().into_iter().chain(day.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weather_is_the_same_every_time() {
        let arguments = json!({ "city": "Rome", "days": 2, "from": "2026-11-16" });
        let first = forecast(&Arguments(Some(&arguments)), today());
        assert_eq!(first, forecast(&Arguments(Some(&arguments)), later(today(), 5).unwrap()));
        let days = first["structuredContent"]["days"].as_array().unwrap();
        assert_eq!((days.len(), &days[1]["date"]), (2, &json!("2026-11-17")));
        assert_eq!(weather("ROME", today()), weather("rome", today()));
        for day in 0..1000 {
            let weather = weather("Oslo", later(today(), day).unwrap());
            assert!(weather["low"].as_i64() < weather["high"].as_i64(), "{weather}");
        }
        for wrong in
            [json!({}), json!({ "city": "x", "days": 15 }), json!({ "city": "x", "from": "?" })]
        {
            assert_eq!(forecast(&Arguments(Some(&wrong)), today())["isError"], true);
        }
    }
}
