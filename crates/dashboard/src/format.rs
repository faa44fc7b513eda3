//! Moments and texts in the words of a page; figures are `trunkline_control::figures`. Pure.

use maud::{Markup, html};
pub(crate) use trunkline_control::figures::{count, millis, plural, share};

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

/// How long it is until a moment of the API.
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
    fn spans_and_cuts_read_well() {
        for (seconds, expected) in [(5, "5 s"), (61, "1 min"), (7_300, "2 h"), (200_000, "2 days")]
        {
            assert_eq!(span(seconds), expected);
        }
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
