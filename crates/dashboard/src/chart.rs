//! Charts as SVG: drawn here, coloured by the stylesheet. Pure.

use maud::{Markup, html};

/// One line; a gap where nothing was measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve {
    /// `line`, or `line second`.
    pub(crate) class: &'static str,
    pub(crate) values: Vec<Option<f64>>,
}

/// Around what is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    /// What it shows, for who does not see it.
    pub(crate) label: &'a str,
    /// The words for the value at a height.
    pub(crate) words: fn(f64) -> String,
    /// Below the left and the right end.
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 30.0;

/// Lines over the same span of time.
pub(crate) fn lines(curves: &[Curve], frame: Frame<'_>) -> Markup {
    let values = curves.iter().flat_map(|curve| &curve.values).flatten();
    let top = ceiling(values.fold(0.0, |most: f64, value| most.max(*value)));
    let drawn = html! {
        @for curve in curves {
            @for points in runs(&curve.values, top) {
                @if let [only] = points.as_slice() {
                    circle class=(curve.class) cx=(round(only.0)) cy=(round(only.1)) r="1.5" {}
                } @else {
                    polyline class=(curve.class) points=(path(&points)) {}
                }
            }
        }
    };
    framed(frame, top, &drawn)
}

/// Counts over time, each with the part of it that failed.
pub(crate) fn bars(counts: &[(u64, u64)], frame: Frame<'_>) -> Markup {
    let top = ceiling(counts.iter().map(|(all, _)| number(*all)).fold(0.0, f64::max));
    let slot = (WIDTH - LEFT - RIGHT) / number(counts.len().max(1) as u64);
    let drawn = html! {
        @for (place, (all, failed)) in counts.iter().enumerate() {
            @let x = LEFT + slot * number(place as u64);
            (bar("bar-good", (x, slot), number(*all), top))
            (bar("bar-bad", (x, slot), number(*failed.min(all)), top))
        }
    };
    framed(frame, top, &drawn)
}

fn bar(class: &str, (x, slot): (f64, f64), value: f64, top: f64) -> Markup {
    let y = height(value, top);
    html! {
        @if value > 0.0 {
            rect class=(class) x=(round(x + slot * 0.12)) y=(round(y)) width=(round(slot * 0.76))
                height=(round(HEIGHT - BOTTOM - y)) rx="1.5" {}
        }
    }
}

fn framed(frame: Frame<'_>, top: f64, drawn: &Markup) -> Markup {
    let base = round(HEIGHT - 6.0);
    html! {
        div.plot { svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(frame.label) {
            @for share in [0.0, 0.5, 1.0] {
                @let y = height(top * share, top);
                line.rule x1=(round(LEFT)) x2=(round(WIDTH - RIGHT)) y1=(round(y)) y2=(round(y)) {}
                text x=(round(LEFT - 6.0)) y=(round(y + 4.0)) text-anchor="end" { ((frame.words)(top * share)) }
            }
            text x=(round(LEFT)) y=(base) { (frame.from) }
            text x=(round(WIDTH - RIGHT)) y=(base) text-anchor="end" { (frame.to) }
            (drawn)
        } }
    }
}

/// The next 1, 2 or 5 of its size: what an axis ends with.
fn ceiling(most: f64) -> f64 {
    if !most.is_finite() || most <= 0.0 {
        return 1.0;
    }
    let size = 10.0_f64.powf(most.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.map(|step| step * size).into_iter().find(|end| most <= *end).unwrap_or(most)
}

/// The stretches without a gap, as points.
fn runs(values: &[Option<f64>], top: f64) -> Vec<Vec<(f64, f64)>> {
    let last = number(values.len().saturating_sub(1).max(1) as u64);
    let mut runs = vec![Vec::new()];
    for (place, value) in values.iter().enumerate() {
        let x = LEFT + (WIDTH - LEFT - RIGHT) * number(place as u64) / last;
        match (value, runs.last_mut()) {
            (Some(value), Some(run)) => run.push((x, height(*value, top))),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn height(value: f64, top: f64) -> f64 {
    let room = HEIGHT - TOP - BOTTOM;
    TOP + room * (1.0 - (value / top).clamp(0.0, 1.0))
}

fn path(points: &[(f64, f64)]) -> String {
    let pairs = points.iter().map(|(x, y)| format!("{},{}", round(*x), round(*y)));
    pairs.collect::<Vec<_>>().join(" ")
}

/// A tenth of a pixel is as fine as anybody sees.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[expect(clippy::cast_precision_loss, reason = "counts of minutes are far below 2^52")]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame<'static> {
        Frame { label: "<times>", words: |value| format!("{value} ms"), from: "then", to: "now" }
    }

    #[test]
    fn an_axis_ends_with_a_round_number() {
        for (most, expected) in [
            (0.0, 1.0),
            (-1.0, 1.0),
            (f64::NAN, 1.0),
            (f64::INFINITY, 1.0),
            (0.3, 0.5),
            (1.0, 1.0),
            (1.1, 2.0),
            (2.1, 5.0),
            (5.1, 10.0),
            (430.0, 500.0),
            (501.0, 1000.0),
        ] {
            let found = ceiling(most);
            assert!((found - expected).abs() < 1e-9, "{most}: {found}");
        }
    }

    #[test]
    fn a_gap_cuts_a_line() {
        for (values, expected) in [
            (vec![], vec![]),
            (vec![None, None], vec![]),
            (vec![Some(1.0)], vec![1]),
            (vec![Some(1.0), Some(2.0), None, Some(1.0)], vec![2, 1]),
            (vec![None, Some(1.0), Some(1.0), Some(1.0), None], vec![3]),
        ] {
            let found: Vec<usize> = runs(&values, 2.0).iter().map(Vec::len).collect();
            assert_eq!(found, expected, "{values:?}");
        }
    }

    #[test]
    fn everything_stays_inside_the_frame() {
        let values = vec![Some(0.0), Some(5.0), Some(1e300), Some(-3.0)];
        for (x, y) in runs(&values, 5.0).concat() {
            assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x}");
            assert!((TOP..=HEIGHT - BOTTOM).contains(&y), "{y}");
        }
    }

    #[test]
    fn drawings_are_labelled_and_need_no_style() {
        let curve = Curve { class: "line", values: vec![Some(1.0), Some(2.0)] };
        for drawing in [lines(&[curve], frame()), bars(&[(3, 1), (0, 0)], frame())] {
            let svg = drawing.into_string();
            assert!(
                svg.contains("aria-label=\"&lt;times&gt;\"") && !svg.contains("style"),
                "{svg}"
            );
            assert!(svg.contains(">then<") && svg.contains(">now<"), "{svg}");
        }
        let svg = bars(&[(4, 1)], frame()).into_string();
        assert_eq!((svg.matches("bar-good").count(), svg.matches("bar-bad").count()), (1, 1));
        assert_eq!(lines(&[], frame()).into_string().matches("polyline").count(), 0);
    }
}
