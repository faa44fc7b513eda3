//! Tables as Markdown, and what was promised beside what was seen.

use std::time::Duration;

use crate::caller::Outcome;
use crate::crowd::Call;

#[derive(Debug, Default)]
pub struct Report {
    checks: Vec<Vec<String>>,
    broken: usize,
}

impl Report {
    /// What was promised, and whether it was kept.
    pub fn check(&mut self, what: &str, limit: &str, seen: impl ToString, kept: bool) {
        let (seen, verdict) = (seen.to_string(), if kept { "ok" } else { "MISS" });
        println!("{verdict:4} {what}: {seen}, limit {limit}");
        self.checks.push(vec![what.to_owned(), limit.to_owned(), seen, verdict.to_owned()]);
        self.broken += usize::from(!kept);
    }

    /// Something that nobody has promised, to be read beside what was.
    pub fn note(&mut self, what: &str, seen: impl ToString) {
        let seen = seen.to_string();
        println!("     {what}: {seen}");
        self.checks.push([what, "–", &seen, "–"].map(str::to_owned).to_vec());
    }

    /// None of these must be there; the first few are shown.
    pub fn none<T: std::fmt::Debug>(&mut self, what: &str, found: &[T]) {
        for one in found.iter().take(5) {
            println!("     {what}: {one:?}");
        }
        self.check(what, "0", found.len(), found.is_empty());
    }

    pub fn table(&self, title: &str, header: &[&str], rows: &[Vec<String>]) {
        println!("\n### {title}\n");
        let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
        print(&header, rows);
        println!();
    }

    /// All limits once more; true if all were kept.
    pub fn verdict(&self) -> bool {
        println!();
        print(&["promise", "limit", "seen", "verdict"].map(str::to_owned), &self.checks);
        self.broken == 0
    }
}

fn print(header: &[String], rows: &[Vec<String>]) {
    let all = || std::iter::once(header).chain(rows.iter().map(Vec::as_slice));
    let width = |column: usize| {
        all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    for (number, row) in all().enumerate() {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!(" {cell:width$} "));
        println!("|{}|", cells.collect::<Vec<_>>().join("|"));
        if number == 0 {
            let lines = widths.iter().map(|width| "-".repeat(width + 2));
            println!("|{}|", lines.collect::<Vec<_>>().join("|"));
        }
    }
}

/// A line about these calls: how many, how many rightly answered, and how fast.
pub fn row(name: &str, calls: &[Call]) -> Vec<String> {
    let right = calls.iter().filter(|call| call.outcome == Outcome::Right).count();
    let figures = [0.5, 0.99, 1.0].map(|q| millis(quantile(&times(calls), q)));
    let counts = [calls.len(), right].map(|count| count.to_string());
    [vec![name.to_owned()], counts.to_vec(), figures.to_vec()].concat()
}

pub fn times(calls: &[Call]) -> Vec<Duration> {
    calls.iter().map(|call| call.time).collect()
}

/// Of the p99 of the second to that of the first.
pub fn ratio(quiet: &[Call], loud: &[Call]) -> f64 {
    let p99 = |calls: &[Call]| quantile(&times(calls), 0.99).as_secs_f64();
    p99(loud) / p99(quiet)
}

/// A quantile of some times.
pub fn quantile(times: &[Duration], q: f64) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    let at = (sorted.len().saturating_sub(1)) as f64 * q;
    sorted.get(at.round() as usize).copied().unwrap_or_default()
}

pub fn millis(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}
