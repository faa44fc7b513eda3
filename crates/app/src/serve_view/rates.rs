//! Computes calls per minute from the counters of `/metrics`.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::server::ServerLine;

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

/// Calls a minute: at first as `serve` counts them, then over the last minute that was looked at.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    looks: VecDeque<(Counts, Duration)>,
    first: BTreeMap<String, f64>,
    first_of_all: f64,
}

/// A rate over less time jumps about.
const SHORTEST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(60);

impl Rates {
    /// `at` is the time since any moment that stays the same.
    pub(crate) fn look(&mut self, counts: Counts, at: Duration) {
        self.looks.push_back((counts, at));
        let is_old = |look: &(Counts, Duration)| at.saturating_sub(look.1) > LONGEST;
        while self.looks.front().is_some_and(is_old) && self.looks.len() > 2 {
            self.looks.pop_front();
        }
    }

    pub(crate) fn is_first(&self) -> bool {
        self.looks.len() == 1
    }

    /// What is shown until there is enough to count.
    pub(crate) fn begin_with(&mut self, servers: Vec<ServerLine>, all: Option<f64>) {
        let rates = servers.into_iter().filter_map(|server| Some((server.name, server.rate?)));
        self.first = rates.collect();
        self.first_of_all =
            all.unwrap_or_else(|| self.first.values().fold(0.0, |all, it| all + it));
    }

    /// Calls a minute of this server.
    pub(crate) fn of(&self, server: &str) -> Option<f64> {
        match self.ends() {
            Some((from, to, minutes)) => Some(rate(from, to, minutes, server)),
            None => self.first.get(server).copied(),
        }
    }

    pub(crate) fn all(&self) -> f64 {
        match self.ends() {
            // not `sum`, whose nothing is minus zero
            Some((from, to, minutes)) => {
                to.keys().fold(0.0, |all, server| all + rate(from, to, minutes, server))
            }
            None => self.first_of_all,
        }
    }

    /// The oldest and the newest look, and the minutes between them, if they are enough.
    fn ends(&self) -> Option<(&Counts, &Counts, f64)> {
        let ((from, began), (to, ended)) = (self.looks.front()?, self.looks.back()?);
        let time = ended.checked_sub(*began).filter(|time| *time >= SHORTEST)?;
        Some((from, to, time.as_secs_f64() / 60.0))
    }
}

fn rate(from: &Counts, to: &Counts, minutes: f64, server: &str) -> f64 {
    let calls = |counts: &Counts| counts.get(server).map_or(0, |(calls, _)| *calls);
    #[expect(clippy::cast_precision_loss, reason = "nobody makes so many calls a minute")]
    let calls = calls(to).saturating_sub(calls(from)) as f64;
    calls / minutes
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
        assert!(rates.is_first() && rates.of("c").is_none());
        let server = serde_json::json!({ "name": "c" });
        let mut line = ServerLine::read(&server);
        line.rate = Some(7.0);
        rates.begin_with(vec![line], Some(9.0));
        let later = |calls: u64| counts(&METRICS.replace("\"} 1\n", &format!("\"}} {calls}\n")));
        rates.look(later(2), Duration::from_secs(6));
        assert_eq!((rates.of("c"), rates.all()), (Some(7.0), 9.0), "a second says nothing");
        rates.look(later(3), Duration::from_secs(65));
        assert_eq!((rates.of("c"), rates.all()), (Some(2.0), 2.0));
        rates.look(later(63), Duration::from_secs(126));
        assert_eq!(rates.looks.len(), 2, "what is older than a minute goes");
    }
}
