//! How far back the charts of a page reach, and the charts themselves.

use maud::{Markup, html};
use serde_json::Value;

use crate::chart::{self, Curve, Frame};
use crate::format::{count, millis, plural};
use crate::page_request::PageRequest;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    Minutes,
    Hour,
}

impl Span {
    const ALL: [Self; 2] = [Self::Minutes, Self::Hour];

    /// What the address of the page says.
    pub(super) fn chosen(request: &PageRequest<'_>) -> Self {
        let wanted = request.query.get("span");
        Self::ALL.into_iter().find(|span| wanted == Some(span.word())).unwrap_or(Self::Minutes)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Minutes => "5m",
            Self::Hour => "1h",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Minutes => "five minutes",
            Self::Hour => "hour",
        }
    }

    /// What the API calls it, and how many pieces it has when they are all there.
    fn series(self, of: &Value) -> (&[Value], usize) {
        let (member, most) = match self {
            Self::Minutes => ("series", 30),
            Self::Hour => ("hour", 60),
        };
        (of[member].as_array().map(Vec::as_slice).unwrap_or_default(), most)
    }

    fn ends(self) -> (&'static str, &'static str) {
        match self {
            Self::Minutes => ("five minutes ago", "now"),
            Self::Hour => ("an hour ago", "now"),
        }
    }

    /// Links to the same page with another span.
    pub(super) fn switch(self, page: &str) -> Markup {
        html! {
            nav.spans aria-label="How far back" {
                span.dim { "The last" }
                @for span in Self::ALL {
                    a href={ (page) "?span=" (span.word()) } aria-current=[(span == self).then_some("true")] { (span.title()) }
                }
            }
        }
    }

    /// Calls over time.
    pub(super) fn calls(self, of: &Value) -> Markup {
        let (pieces, most) = self.series(of);
        let number = |piece: &Value, key: &str| piece[key].as_u64().unwrap_or_default();
        let told = pieces.iter().map(|piece| {
            let failed = number(piece, "failed_calls") + number(piece, "tool_errors");
            (number(piece, "calls"), failed)
        });
        let counts: Vec<_> =
            std::iter::repeat_n((0, 0), missing(pieces, most)).chain(told).collect();
        let sum: u64 = counts.iter().map(|(all, _)| all).sum();
        let (from, to) = self.ends();
        let frame = Frame {
            label: &format!("{} in the last {}", plural(sum, "call"), self.title()),
            // There is no half of a call.
            words: |value| if value.fract() == 0.0 { count(whole(value)) } else { String::new() },
            from,
            to,
        };
        html! {
            section.card {
                h2 { @if self == Self::Minutes { "Calls in ten seconds" } @else { "Calls in a minute" } }
                (chart::bars(&counts, frame))
                p.legend { span { "calls" } span.fail { "errors" } }
            }
        }
    }

    /// Response times of calls over time.
    pub(super) fn times(self, of: &Value) -> Markup {
        let (pieces, most) = self.series(of);
        let of = |key: &str| {
            let told = pieces.iter().map(|piece| piece[key].as_f64());
            std::iter::repeat_n(None, missing(pieces, most)).chain(told).collect::<Vec<_>>()
        };
        let curves = [
            Curve { class: "line", values: of("p50") },
            Curve { class: "line second", values: of("p95") },
        ];
        let worst = curves.iter().flat_map(|curve| &curve.values).flatten();
        let worst = worst.copied().reduce(f64::max);
        let (from, to) = self.ends();
        let label =
            format!("Response times of the last {}, at most {}", self.title(), millis(worst));
        let frame = Frame {
            label: &label,
            words: |value| if value == 0.0 { "0".to_owned() } else { millis(Some(value)) },
            from,
            to,
        };
        html! {
            section.card {
                h2 { "Response times" }
                @if worst.is_none() {
                    p.dim { "Nothing was measured in the last " (self.title()) "." }
                } @else {
                    (chart::lines(&curves, frame))
                    p.legend { span { "median" } span.second { "95 of 100 stay below" } }
                }
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an axis of counts")]
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

/// A Trunkline that has just started knows of fewer; time goes from left to right all the same.
fn missing(pieces: &[Value], most: usize) -> usize {
    most.saturating_sub(pieces.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_span_is_drawn_of_its_own_pieces() {
        let piece = |calls: u64| json!({"calls": calls, "failed_calls": 0, "p50": 1.0, "p95": 2.0});
        let told = json!({"series": [piece(1)], "hour": [piece(1), piece(2)]});
        for (span, label, from) in [
            (Span::Minutes, "1 call in the last five minutes", ">five minutes ago<"),
            (Span::Hour, "3 calls in the last hour", ">an hour ago<"),
        ] {
            let drawn = span.calls(&told).into_string();
            assert!(drawn.contains(label) && drawn.contains(from), "{drawn}");
            let drawn = span.times(&told).into_string();
            assert!(drawn.contains("at most 2.0 ms") && drawn.contains(from), "{drawn}");
            assert!(span.times(&json!({})).into_string().contains("Nothing was measured"));
        }
    }
}
