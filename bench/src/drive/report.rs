//! Tables and targets, as padded Markdown that reads well in a terminal too.

use super::stats::Series;
use std::fmt::{self, Display, Formatter};

#[derive(Debug, Default)]
pub(super) struct Report {
    tables: Vec<Table>,
    checks: Vec<Check>,
    /// Peers, and paths between the eras, that failed in a scenario.
    left_out: Vec<String>,
    /// Scenarios that could not be finished.
    pub(super) failures: Vec<String>,
}

/// One scenario's figures.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) title: String,
    /// What was measured, in a sentence or two.
    pub(super) text: String,
    pub(super) rows: Rows,
}

/// A header and its rows.
#[derive(Debug, Default)]
pub(super) struct Rows(pub(super) Vec<Vec<String>>);

/// One target of the issue.
#[derive(Debug)]
struct Check {
    what: String,
    target: String,
    figure: String,
    met: bool,
}

impl Report {
    pub(super) fn table(&mut self, title: &str, text: &str, rows: Rows) {
        let table = Table { title: title.to_owned(), text: text.to_owned(), rows };
        println!("\n{table}");
        self.tables.push(table);
    }

    pub(super) fn at_most(&mut self, what: &str, series: &Series, limit: f64, unit: &str) {
        let met = series.median() <= limit;
        self.check(what, &format!("≤ {limit}{unit}"), &format!("{}{unit}", series.show()), met);
    }

    pub(super) fn at_least(&mut self, what: &str, series: &Series, limit: f64, unit: &str) {
        let met = series.median() >= limit;
        self.check(what, &format!("≥ {limit}{unit}"), &format!("{}{unit}", series.show()), met);
    }

    /// A ratio to the other build, where less is better: at least a quarter of the rounds must reach 1.
    pub(super) fn not_more(&mut self, what: &str, ratio: &Series) {
        let met = ratio.quantile(0.25) <= 1.0;
        self.check(what, "1 within the quartiles", &format!("{}×", ratio.show()), met);
    }

    /// A ratio to the other build, where more is better.
    pub(super) fn not_less(&mut self, what: &str, ratio: &Series) {
        let met = ratio.quantile(0.75) >= 1.0;
        self.check(what, "1 within the quartiles", &format!("{}×", ratio.show()), met);
    }

    /// Notes an optional contender's failure; only its first line is for readers of the report.
    pub(super) fn leave_out(&mut self, error: String) {
        eprintln!("bench: left out: {error}");
        let first = error.lines().next().unwrap_or_default();
        if !self.left_out.iter().any(|noted| noted == first) {
            self.left_out.push(first.to_owned());
        }
    }

    pub(super) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    pub(super) fn all_met(&self) -> bool {
        self.failures.is_empty() && self.checks.iter().all(|check| check.met)
    }

    /// The targets, one line each.
    pub(super) fn targets(&self) -> Rows {
        let mut rows = Rows::with_header(&["target", "limit", "measured", "verdict"]);
        for check in &self.checks {
            let verdict = if check.met { "ok" } else { "MISS" };
            rows.push([&check.what, &check.target, &check.figure, verdict]);
        }
        rows
    }

    pub(super) fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn check(&mut self, what: &str, target: &str, figure: &str, met: bool) {
        println!("{} {what}: {figure}, target {target}", if met { "ok  " } else { "MISS" });
        let (what, target, figure) = (what.to_owned(), target.to_owned(), figure.to_owned());
        self.checks.push(Check { what, target, figure, met });
    }
}

impl Rows {
    pub(super) fn with_header(header: &[&str]) -> Self {
        Self(vec![header.iter().map(|&cell| cell.to_owned()).collect()])
    }

    pub(super) fn push<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.0.push(cells.into_iter().map(|cell| cell.as_ref().to_owned()).collect());
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "### {}\n\n{}\n\n{}", self.title, self.text, self.rows)
    }
}

impl Display for Rows {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = self.0.first().map_or(0, Vec::len);
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let width =
            |column| self.0.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (number, row) in self.0.iter().enumerate() {
            for (column, width) in widths.iter().enumerate() {
                write!(f, "| {:width$} ", cell(row, column))?;
            }
            writeln!(f, "|")?;
            if number == 0 {
                let lines: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
                writeln!(f, "|{}|", lines.join("|"))?;
            }
        }
        Ok(())
    }
}
