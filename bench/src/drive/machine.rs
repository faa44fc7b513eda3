//! What the figures were measured on, and when.

use std::time::{SystemTime, UNIX_EPOCH};

/// `2026-11-15, AMD EPYC (2 CPUs), Linux 6.18`.
pub(super) fn describe() -> String {
    format!("{}, {} ({} CPUs), Linux {}", today(), model(), cpus(), kernel())
}

/// Processor time so far, in ticks: of the machine, and of ourselves with everything we started and reaped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    total: u64,
    idle: u64,
    own: u64,
}

impl Time {
    pub(super) fn now() -> Self {
        let machine = numbers(read("/proc/stat").lines().next().unwrap_or_default());
        let own = read("/proc/self/stat");
        let own = numbers(own.rsplit_once(')').map_or("", |(_, rest)| rest));
        let sum = |numbers: &[u64]| numbers.iter().sum();
        // machine: user nice system idle iowait irq softirq steal; own: utime stime cutime cstime are 14 to 17
        Self {
            total: sum(machine.get(..8).unwrap_or_default()),
            idle: sum(machine.get(3..5).unwrap_or_default()),
            own: sum(own.get(10..14).unwrap_or_default()),
        }
    }

    /// The part of the machine's time since `self` that went to others, in percent: it disturbs the figures.
    pub(super) fn taken_by_others(self) -> u64 {
        let now = Self::now();
        let total = now.total - self.total;
        let ours = now.idle - self.idle + now.own - self.own;
        100 * total.saturating_sub(ours) / total.max(1)
    }
}

/// The words behind the first as numbers; what is none counts as 0.
fn numbers(line: &str) -> Vec<u64> {
    let words = line.split_whitespace().skip(1);
    words.map(|word| word.parse().unwrap_or(0)).collect()
}

fn model() -> String {
    let info = read("/proc/cpuinfo");
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(": ")).map_or("unknown CPU", |(_, model)| model).to_owned()
}

fn kernel() -> String {
    read("/proc/sys/kernel/osrelease").trim().to_owned()
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// The Gregorian date of a day since 1970 (days of eras of 400 years that begin in March).
fn date(day: u64) -> String {
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year}-{month:02}-{of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        let cases =
            [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_772, "2026-11-15")];
        for (day, expected) in cases {
            assert_eq!(date(day), expected);
        }
    }
}
