//! What the suite prints and writes down, read.

use std::fmt;
use std::fs;
use std::path::Path;

/// What a run came to; scenarios that are not required are left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) scenarios: usize,
    passed: usize,
    /// Entries of the file of expected failures.
    expected: Vec<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenarios, passed, expected } = self;
        write!(f, "{scenarios} scenarios: {passed} passed, {} failed", scenarios - passed)?;
        match expected.as_slice() {
            [] => Ok(()),
            expected => write!(f, "; as expected: {}", expected.join(", ")),
        }
    }
}

pub(super) fn summary(said: &str, required: &[String]) -> Summary {
    let table = said.split_once("=== SUMMARY ===").map_or("", |(_, table)| table);
    let rows = table.lines().filter_map(|line| {
        let (mark, rest) = line.split_once(' ')?;
        let name = rest.split(':').next()?;
        required.iter().any(|required| required == name).then_some(mark)
    });
    let marks: Vec<&str> = rows.collect();
    Summary {
        scenarios: marks.len(),
        passed: marks.iter().filter(|mark| **mark == "✓").count(),
        expected: after(said, "Expected failures"),
    }
}

/// The scenarios required of servers, from the suite's list.
pub(super) fn required(said: &str) -> Vec<String> {
    let lines = said.lines().skip_while(|line| !line.starts_with("Server scenarios")).skip(1);
    let names = lines.map_while(|line| line.trim().strip_prefix("- ").map(str::to_owned));
    names.collect()
}

/// What decided against the run: failures nobody expected, and expected ones that passed.
pub(super) fn faults(said: &str) -> Vec<String> {
    let failed = after(said, "Unexpected failures (").into_iter();
    let stale = after(said, "Stale baseline entries").into_iter();
    failed.chain(stale.map(|entry| format!("{entry} (passes, though expected to fail)"))).collect()
}

/// The entries under a heading: two blanks, a mark, the entry.
fn after(said: &str, heading: &str) -> Vec<String> {
    let lines = said.lines().skip_while(|line| !line.contains(heading)).skip(1);
    let entries = lines.map_while(|line| line.strip_prefix("  ")?.split_once(' '));
    entries.map(|(_, entry)| entry.to_owned()).collect()
}

/// What the suite wrote down about the checks that failed in these scenarios.
pub(super) fn failed_checks(place: &Path, faults: &[String]) -> Vec<String> {
    let folders = fs::read_dir(place.join("checks")).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for folder in folders {
        let name = folder.file_name().to_string_lossy().into_owned();
        let scenario = faults.iter().find_map(|fault| {
            let scenario = fault.split([':', ' ']).next()?;
            // A time follows the name, and no scenario's name goes on with a year.
            name.starts_with(&format!("server-{scenario}-20")).then_some(scenario)
        });
        let checks = fs::read_to_string(folder.path().join("checks.json")).unwrap_or_default();
        for check in scenario.into_iter().flat_map(|_| failed(&checks)) {
            found.push(format!("{}: {check}", scenario.unwrap_or_default()));
        }
    }
    found.sort();
    found
}

/// The suite indents its JSON, so that a check's own members stand four blanks from the left.
fn failed(checks: &str) -> Vec<String> {
    let member = |check: &str, name: &str| {
        let prefix = format!("    \"{name}\": \"");
        let line = check.lines().find_map(|line| line.strip_prefix(&prefix))?;
        Some(line.trim_end_matches(',').trim_end_matches('"').to_owned())
    };
    let failed = checks.split("\n  {\n").filter_map(|check| {
        let status = member(check, "status")?;
        let id = member(check, "id")?;
        let why = member(check, "errorMessage").or_else(|| member(check, "description"))?;
        matches!(status.as_str(), "FAILURE" | "WARNING").then(|| format!("{id}: {why}"))
    });
    failed.collect()
}

#[cfg(test)]
mod tests {
    const SAID: &str = "\
=== SUMMARY ===
✓ a: 2 passed, 0 failed
✗ b: 1 passed, 1 failed
✗ tasks: 0 passed, 9 failed

Total: 3 passed, 10 failed

Expected failures (in baseline):
  ~ b:check-1

Stale baseline entries (now passing - remove from baseline):
  ✓ a

Unexpected failures (not in baseline):
  ✗ b:check-2
  ✗ c

Unexpected failures detected: these are not in your expected-failures baseline.
";

    #[test]
    fn only_what_is_required_counts() {
        let required = ["a".to_owned(), "b".to_owned()];
        let summary = super::summary(SAID, &required);
        let expected = "2 scenarios: 1 passed, 1 failed; as expected: b:check-1";
        assert_eq!(summary.to_string(), expected);
    }

    #[test]
    fn what_decides_is_what_nobody_expected() {
        let faults = ["b:check-2", "c", "a (passes, though expected to fail)"];
        assert_eq!(super::faults(SAID), faults);
        assert!(super::faults("=== SUMMARY ===\n✓ a: 2 passed, 0 failed\n").is_empty());
    }

    #[test]
    fn the_list_ends_where_the_clients_begin() {
        let said = "Required\n\nServer scenarios (x):\n  - a\n  - b\n\nClient scenarios:\n  - c\n";
        assert_eq!(super::required(said), ["a", "b"]);
    }

    #[test]
    fn a_failed_check_says_why() {
        let checks = r#"[
  {
    "id": "one",
    "status": "FAILURE",
    "errorMessage": "because",
    "specReferences": [
      {
        "id": "not this"
      }
    ]
  },
  {
    "id": "two",
    "status": "SUCCESS",
    "description": "fine"
  },
  {
    "id": "three",
    "description": "should be",
    "status": "WARNING"
  }
]"#;
        assert_eq!(super::failed(checks), ["one: because", "three: should be"]);
    }
}
