//! Reports servers that did not start, those that start slowly, and those that define something anew.

use std::time::Duration;

use trunkline_gateway::{State, Status};

use super::finding::{Finding, Grade};

/// As long as the first list of a client waits unless it is told otherwise.
const LONG: Duration = Duration::from_secs(5);
/// Codex does not wait longer for its servers.
const SOON: Duration = Duration::from_secs(1);

pub(crate) fn start(server: &str, status: &Status) -> Option<Finding> {
    match &status.state {
        State::Failed(failure) => {
            let quoted = failure.quoted().map(|quoted| format!("; {quoted}"));
            let problem = format!("it {}{}", failure.what, quoted.unwrap_or_default());
            let fix = match failure.advice.as_str() {
                "" if failure.stderr.len() > 1 => "read all that it said with `trunkline check`",
                "" => "run its command by hand and read what it says",
                advice => advice,
            };
            Some(Finding::new(Grade::Error, "start", server, problem).fix(fix))
        }
        State::Initializing => {
            let problem = "it did not finish starting".to_owned();
            let fix = "run its command by hand, or give it more time with --start-timeout";
            Some(Finding::new(Grade::Error, "start", server, problem).fix(fix))
        }
        State::Running => slow(server, status.started_in?),
        State::Stopped | State::Idle => None,
    }
}

/// Definitions that have changed since they were approved, or are new, and that nobody has looked at.
pub(crate) fn changed(server: &str, status: &Status) -> Option<Finding> {
    (status.waiting > 0).then(|| {
        let problem = match status.waiting {
            1 => "1 of its definitions has changed since it was approved, or is new".to_owned(),
            many => format!(
                "{many} of its definitions have changed since they were approved, or are new"
            ),
        };
        let fix = "look at the difference with `trunkline review`, then approve or reject it";
        Finding::new(Grade::Warning, "changed", server, problem).fix(fix)
    })
}

fn slow(server: &str, took: Duration) -> Option<Finding> {
    let seconds = took.as_secs_f64();
    if took >= LONG {
        let problem = format!(
            "it takes {seconds:.1} s to start: its tools are missing in the first list of a client"
        );
        let fix = "install its package instead of fetching it at each start (npx -y, uvx), let \
                   `trunkline serve` keep it running, or give --start-timeout";
        return Some(Finding::new(Grade::Warning, "start", server, problem).fix(fix));
    }
    (took >= SOON).then(|| {
        let problem = format!("it takes {seconds:.1} s to start, which Codex does not wait for");
        let fix =
            "write `required = true` in Codex's entry, or let `trunkline serve` keep it running";
        Finding::new(Grade::Note, "start", server, problem).fix(fix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_starters_are_told() {
        for (millis, grade) in
            [(300, None), (1500, Some(Grade::Note)), (7000, Some(Grade::Warning))]
        {
            let found = slow("s", Duration::from_millis(millis)).map(|found| found.grade);
            assert_eq!(found, grade, "{millis}");
        }
        let status = Status::default();
        assert_eq!(start("s", &status).map(|found| found.grade), Some(Grade::Error));
    }
}
