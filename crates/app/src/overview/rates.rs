//! Calls in a time, from the counters that metrics are.

use std::collections::BTreeMap;
use std::time::Duration;

/// Calls and failed calls of each server since `serve` started.
pub(crate) type Counts = BTreeMap<String, (u64, u64)>;

/// Reads `trunkline_calls_total{server="…",outcome="…"} 5`.
pub(crate) fn counts(metrics: &str) -> Counts {
    let mut counts = Counts::new();
    for line in metrics.lines() {
        let Some((labels, value)) =
            line.strip_prefix("trunkline_calls_total{").and_then(|rest| rest.rsplit_once("} "))
        else {
            continue;
        };
        let (Some(server), Ok(value)) = (label(labels, "server"), value.trim().parse::<u64>())
        else {
            continue;
        };
        let (all, failed) = counts.entry(server).or_default();
        *all += value;
        if label(labels, "outcome").as_deref() != Some("ok") {
            *failed += value;
        }
    }
    counts
}

/// The value of a label; `\\`, `\"` and `\n` are escaped there.
fn label(labels: &str, name: &str) -> Option<String> {
    let start = labels.find(&format!("{name}=\""))? + name.len() + 2;
    let mut value = String::new();
    let mut escaped = false;
    for c in labels.get(start..)?.chars() {
        match c {
            'n' if escaped => value.push('\n'),
            c if escaped => value.push(c),
            '\\' => {
                escaped = true;
                continue;
            }
            '"' => return Some(value),
            c => value.push(c),
        }
        escaped = false;
    }
    None
}

/// Calls a minute between two looks.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    before: Option<(Counts, Duration)>,
    now: BTreeMap<String, (f64, f64)>,
}

impl Rates {
    /// `at` is the time since any moment that stays the same.
    pub(crate) fn look(&mut self, counts: Counts, at: Duration) {
        if let Some((before, then)) = &self.before {
            let minutes = at.saturating_sub(*then).as_secs_f64() / 60.0;
            let rate = |now: u64, then: u64| match minutes > 0.0 {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "nobody makes so many calls a minute"
                )]
                true => now.saturating_sub(then) as f64 / minutes,
                false => 0.0,
            };
            self.now = counts
                .iter()
                .map(|(server, (all, failed))| {
                    let (old, old_failed) = before.get(server).copied().unwrap_or_default();
                    (server.clone(), (rate(*all, old), rate(*failed, old_failed)))
                })
                .collect();
        }
        self.before = Some((counts, at));
    }

    /// Calls and failed calls a minute; none before the second look.
    pub(crate) fn of(&self, server: &str) -> Option<(f64, f64)> {
        self.now.get(server).copied()
    }

    pub(crate) fn all(&self) -> f64 {
        // not `sum`, whose nothing is minus zero
        self.now.values().fold(0.0, |all, (calls, _)| all + calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "# TYPE trunkline_calls_total counter\n\
        trunkline_calls_total{server=\"a\\\"b\",outcome=\"ok\"} 10\n\
        trunkline_calls_total{server=\"a\\\"b\",outcome=\"timeout\"} 2\n\
        trunkline_calls_total{server=\"c\",outcome=\"ok\"} 1\nother 5\n";

    #[test]
    fn counters_become_rates() {
        let first = counts(METRICS);
        assert_eq!(first["a\"b"], (12, 2));
        let mut rates = Rates::default();
        rates.look(first, Duration::from_secs(5));
        assert_eq!(rates.of("c"), None);
        assert_eq!(format!("{:.0}", rates.all()), "0");
        rates.look(counts(&METRICS.replace("\"} 1\n", "\"} 3\n")), Duration::from_secs(65));
        assert_eq!(rates.of("c"), Some((2.0, 0.0)));
        assert_eq!(rates.all(), 2.0);
    }
}
