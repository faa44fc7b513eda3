//! Figures and moments in the words of a page. Pure.

use maud::{Markup, html};

/// `1234567` → `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Milliseconds, with as many digits as say something.
pub(crate) fn millis(time: Option<f64>) -> String {
    match time {
        None => "–".to_owned(),
        Some(time) if time < 0.95 => format!("{time:.2} ms"),
        Some(time) if time < 9.95 => format!("{time:.1} ms"),
        Some(time) if time < 999.5 => format!("{time:.0} ms"),
        Some(time) if time < 59_950.0 => format!("{:.1} s", time / 1_000.0),
        Some(time) => format!("{:.0} min", time / 60_000.0),
    }
}

/// From 0 to 1.
pub(crate) fn share(share: Option<f64>) -> String {
    match share {
        None => "–".to_owned(),
        Some(0.0) => "0 %".to_owned(),
        Some(share) if share < 0.0005 => "< 0.1 %".to_owned(),
        Some(share) if share < 0.0995 => format!("{:.1} %", share * 100.0),
        Some(share) => format!("{:.0} %", share * 100.0),
    }
}

/// `1 server`, `2 servers`.
pub(crate) fn plural(number: u64, word: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {word}{ending}", count(number))
}

/// How long something took or takes.
pub(crate) fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A moment of the API (RFC 3339, UTC) with how long ago that is, which `page.js` keeps true.
pub(crate) fn ago(moment: &str, now: i64) -> Markup {
    let Some(then) = trunkline_control::api::time::parse(moment) else {
        return html! { (moment) };
    };
    let seconds = u64::try_from((now - then) / 1_000).unwrap_or_default();
    let words = match seconds {
        0..5 => "just now".to_owned(),
        _ => format!("{} ago", span(seconds)),
    };
    html! { time datetime=(moment) title=(moment) { (words) } }
}

/// The same for a moment that is to come.
pub(crate) fn until(moment: &str, now: i64) -> String {
    let then = trunkline_control::api::time::parse(moment).unwrap_or(now);
    match u64::try_from((then - now) / 1_000) {
        Ok(seconds @ 1..) => format!("in {}", span(seconds)),
        _ => "now".to_owned(),
    }
}

/// Cut at that many characters, with a mark that it was.
pub(crate) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(count(number), expected);
        }
        for (time, expected) in [
            (None, "–"),
            (Some(0.123), "0.12 ms"),
            (Some(1.0), "1.0 ms"),
            (Some(12.34), "12 ms"),
            (Some(1_234.0), "1.2 s"),
            (Some(120_000.0), "2 min"),
        ] {
            assert_eq!(millis(time), expected);
        }
        for (of, expected) in [
            (None, "–"),
            (Some(0.0), "0 %"),
            (Some(0.0001), "< 0.1 %"),
            (Some(0.012), "1.2 %"),
            (Some(0.5), "50 %"),
            (Some(1.0), "100 %"),
        ] {
            assert_eq!(share(of), expected);
        }
        for (seconds, expected) in [(5, "5 s"), (61, "1 min"), (7_300, "2 h"), (200_000, "2 days")]
        {
            assert_eq!(span(seconds), expected);
        }
        assert_eq!((&*plural(1, "tool"), &*plural(2_000, "tool")), ("1 tool", "2,000 tools"));
        assert_eq!((&*short("abc", 3), &*short("äöüß", 3)), ("abc", "äö…"));
    }

    #[test]
    fn moments_say_how_long_ago_they_are() {
        let moment = "2025-01-08T10:00:00.000Z";
        let then = trunkline_control::api::time::parse(moment).unwrap();
        for (later, expected) in
            [(0, ">just now<"), (90_000, ">1 min ago<"), (-5_000, ">just now<")]
        {
            let shown = ago(moment, then + later).into_string();
            assert!(shown.contains(expected) && shown.contains(moment), "{shown}");
        }
        assert_eq!(
            (&*until(moment, then - 90_000), &*until(moment, then + 5)),
            ("in 1 min", "now")
        );
        assert_eq!(ago("<b>", 0).into_string(), "&lt;b&gt;");
    }
}
