//! What failed tests have said, one file each: the run's own output is long, and soon gone.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::conformance;

/// The last lines of a program that are kept for tests of which nothing was heard.
const LAST: usize = 500;

/// Where they lie.
pub(super) fn place() -> PathBuf {
    conformance::target().join("failed-tests")
}

/// Nothing of the run before is taken for this one's.
pub(super) fn clear() {
    // It may not be there.
    drop(fs::remove_dir_all(place()));
}

/// Keeps this; where it lies. A log that cannot be written costs the list of failures nothing.
pub(super) fn keep(name: &str, text: &str) -> Option<PathBuf> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_-".contains(char);
    let name: String = name.chars().map(|it| if is_plain(it) { it } else { '.' }).collect();
    let path = place().join(format!("{}.log", name.replace("..", ".")));
    fs::create_dir_all(place()).ok()?;
    fs::write(&path, text).ok()?;
    Some(path.canonicalize().unwrap_or(path))
}

/// By its name, what a failed test has said: `---- NAME stdout ----` stands before it, and the list of
/// names behind the last.
pub(super) fn of_tests(lines: &[String]) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut current = None;
    for line in lines {
        let heading = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(test) = heading {
            // `NAME - should panic` is no other test.
            current = Some(test.split(" - ").next().unwrap_or(test).to_owned());
        } else if line == "failures:" {
            current = None;
        }
        if let Some(test) = &current {
            let text = texts.entry(test.clone()).or_default();
            text.push_str(line);
            text.push('\n');
        }
    }
    texts
}

/// The end of what a program has said.
pub(super) fn tail(lines: &[String]) -> String {
    lines[lines.len().saturating_sub(LAST)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failed_test_has_its_own_words() {
        let lines = "failures:\n\n---- a::one stdout ----\nx\n---- b stdout ----\ny\n\nz\n\nfailures:\n    a::one\n    b\n";
        let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
        let texts = of_tests(&lines);
        assert_eq!(texts.keys().collect::<Vec<_>>(), ["a::one", "b"]);
        assert_eq!(texts["a::one"], "---- a::one stdout ----\nx\n");
        assert_eq!(texts["b"], "---- b stdout ----\ny\n\nz\n\n");
        assert_eq!(tail(&lines), lines.join("\n"));
    }
}
