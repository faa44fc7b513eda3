//! How calls fared by how long before them another server was killed or came back.

use std::time::{Duration, Instant};

use crate::crowd::Call;
use crate::report::{millis, quantile};

/// One kill.
#[derive(Debug, Clone, Copy)]
pub struct Kill {
    pub at: Instant,
    /// When a call made after it had been answered; `None`: that did not happen in time.
    pub back: Option<Instant>,
}

impl Kill {
    pub fn away(&self) -> Option<Duration> {
        self.back.map(|back| back - self.at)
    }
}

/// A stretch of the time after a kill: from so many milliseconds on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stretch {
    /// It was killed so long ago.
    Away(u128),
    /// It is back in so many, and those who wait for it are let in.
    Soon(u128),
    /// It came back so long ago.
    Back(u128),
}

const AWAY: [u128; 4] = [0, 5, 20, 100];
const SOON: [u128; 5] = [0, 5, 10, 20, 40];
const BACK: [u128; 6] = [0, 5, 10, 20, 50, 100];

pub const HEADER: [&str; 7] =
    ["due", "calls", "p50", "p99", "longest", "over 2× the quiet p99", "of all those"];

/// A row for each stretch in which a call was due. `limit`: what is slow.
pub fn rows(calls: &[Call], kills: &[Kill], limit: Duration) -> Vec<Vec<String>> {
    let slow = |times: &[Duration]| times.iter().filter(|time| **time > limit).count();
    let all: Vec<Duration> = calls.iter().map(|call| call.time).collect();
    let soon = SOON.into_iter().rev().map(Stretch::Soon);
    let stretches = AWAY.map(Stretch::Away).into_iter().chain(soon).chain(BACK.map(Stretch::Back));
    let mut rows = Vec::new();
    for stretch in stretches {
        let own = calls.iter().filter(|call| stretch_of(call.due, kills) == Some(stretch));
        let times: Vec<Duration> = own.map(|call| call.time).collect();
        if times.is_empty() {
            continue;
        }
        let [p50, p99, longest] = [0.5, 0.99, 1.0].map(|q| millis(quantile(&times, q)));
        let share = 100.0 * slow(&times) as f64 / slow(&all).max(1) as f64;
        let (count, slow) = (times.len().to_string(), slow(&times).to_string());
        rows.push(vec![stretch.name(), count, p50, p99, longest, slow, format!("{share:.0} %")]);
    }
    rows
}

/// Where this moment stands; `None`: before the first kill.
fn stretch_of(moment: Instant, kills: &[Kill]) -> Option<Stretch> {
    let newest = kills.iter().rev().find(|kill| kill.at <= moment)?;
    Some(match newest.back {
        Some(back) if back <= moment => Stretch::Back(step(&BACK, moment - back)),
        Some(back) if (back - moment).as_millis() < SOON_ENDS => {
            Stretch::Soon(step(&SOON, back - moment))
        }
        _ => Stretch::Away(step(&AWAY, moment - newest.at)),
    })
}

const SOON_ENDS: u128 = 80;

fn step(steps: &[u128], time: Duration) -> u128 {
    let time = time.as_millis();
    steps.iter().copied().rev().find(|step| *step <= time).unwrap_or(0)
}

impl Stretch {
    fn name(self) -> String {
        let next = |steps: &[u128], from: u128| steps.iter().copied().find(|step| *step > from);
        let until = |end: Option<u128>| end.map_or("…".to_owned(), |end| end.to_string());
        match self {
            Self::Away(from) => format!("{from}–{} ms after the kill", until(next(&AWAY, from))),
            Self::Soon(from) => {
                let end = next(&SOON, from).unwrap_or(SOON_ENDS);
                format!("{end}–{from} ms before it is back")
            }
            Self::Back(from) => format!("{from}–{} ms after it is back", until(next(&BACK, from))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_stands_in_the_stretch_of_the_newest_kill_before_it() {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let kills = [
            Kill { at: at(100), back: Some(at(150)) },
            Kill { at: at(400), back: None },
            Kill { at: at(900), back: Some(at(950)) },
        ];
        for (moment, expected) in [
            (0, None),
            (100, Some(Stretch::Soon(40))),
            (149, Some(Stretch::Soon(0))),
            (138, Some(Stretch::Soon(10))),
            (150, Some(Stretch::Back(0))),
            (399, Some(Stretch::Back(100))),
            (400, Some(Stretch::Away(0))),
            (450, Some(Stretch::Away(20))),
            (899, Some(Stretch::Away(100))),
            (960, Some(Stretch::Back(10))),
        ] {
            assert_eq!(stretch_of(at(moment), &kills), expected, "{moment}");
        }
    }
}
