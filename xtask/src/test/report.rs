//! What a run came to: what failed and how to run it alone, where the time went, and the count.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::harness::Ended;
use crate::{conformance, run};

/// How many of the slowest tests are shown, and how long one takes to be shown.
const SLOWEST: usize = 15;
const SLOW: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct Report {
    passed: usize,
    failed: Vec<Failed>,
    steps: Vec<(String, Duration)>,
    tests: Vec<(String, Duration)>,
}

struct Failed {
    what: String,
    /// What runs it alone.
    command: String,
    /// What it has said; `None`: that stands above.
    log: Option<PathBuf>,
}

impl Report {
    /// A step without which the others make no sense.
    pub(super) fn timed<T>(
        &mut self,
        name: &str,
        step: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let start = Instant::now();
        let outcome = step();
        self.took(name, start.elapsed());
        outcome
    }

    /// A check that may fail; the command runs it alone. One that passes is no test, and not counted as one.
    pub(super) fn step(
        &mut self,
        name: &str,
        command: &str,
        check: impl FnOnce() -> Result<(), String>,
    ) {
        match self.timed(name, check) {
            Ok(()) => {}
            Err(message) => {
                println!("{message}");
                self.failed(name, command, None);
            }
        }
    }

    pub(super) fn took(&mut self, name: &str, time: Duration) {
        self.steps.push((name.to_owned(), time));
    }

    pub(super) fn test(&mut self, label: &str, ended: &Ended) {
        let Ended { test, passed, took, log } = ended;
        self.tests.push((format!("{label}: {test}"), *took));
        match passed {
            true => self.passed(),
            false => {
                self.failed(
                    &format!("{label}: {test}"),
                    &format!("cargo xtask test --exact {test}"),
                    log.clone(),
                );
            }
        }
    }

    pub(super) fn passed(&mut self) {
        self.passed += 1;
    }

    pub(super) fn failed(&mut self, what: &str, command: &str, log: Option<PathBuf>) {
        self.failed.push(Failed { what: what.to_owned(), command: command.to_owned(), log });
    }

    /// Says all of it. The last line is the count, alone. An error has been told.
    pub(super) fn close(mut self, outcome: Result<(), String>) -> Result<(), String> {
        if let Err(message) = outcome {
            println!("{message}");
            let what = message.lines().next().unwrap_or_default().to_owned();
            self.failed(&format!("stopped: {what}"), "cargo xtask test", None);
        }
        self.show_times();
        if !self.failed.is_empty() {
            run::announce("failed, how to run each alone, and what it has said");
        }
        for Failed { what, command, log } in &self.failed {
            println!("{what}\n    {command}");
            if let Some(log) = log {
                println!("    {}", log.display());
            }
        }
        println!("{} passed, {} failed", self.passed, self.failed.len());
        if self.failed.is_empty() { Ok(()) } else { Err(String::new()) }
    }

    fn show_times(&mut self) {
        run::announce("where the time went");
        for (name, time) in self.steps.iter().filter(|(_, time)| time.as_secs() >= 1) {
            println!("{:>8.1} s  {name}", time.as_secs_f64());
        }
        self.tests.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        let all =
            self.tests.iter().map(|(name, time)| format!("{:.1} {name}\n", time.as_secs_f64()));
        // For whoever wants to make them faster; the tests have run, with or without it.
        drop(std::fs::write(conformance::target().join("test-times"), all.collect::<String>()));
        for (name, time) in self.tests.iter().take(SLOWEST).filter(|(_, time)| *time >= SLOW) {
            println!("{:>8.1} s  {name}", time.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_are_counted_as_passed_and_every_failure_as_failed() {
        let mut report = Report::default();
        let ended =
            |passed| Ended { test: "a".to_owned(), passed, took: Duration::ZERO, log: None };
        report.test("program", &ended(true));
        report.step("a check", "command", || Ok(()));
        assert_eq!((report.passed, report.failed.len()), (1, 0));
        report.test("program", &ended(false));
        report.step("a check", "command", || Err("why".to_owned()));
        assert_eq!((report.passed, report.failed.len()), (1, 2));
    }
}
