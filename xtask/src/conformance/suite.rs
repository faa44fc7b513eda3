//! The suite itself: what it is told, and what its verdict is taken from.

use std::path::Path;
use std::process::{Command, Output};

use super::report;
use crate::peers;

/// Every scenario a revision requires, before the server at this URL. With a file of expected
/// failures the suite counts what only should be as what must be, and an entry that passes fails.
pub(super) fn every_scenario(
    revision: &str,
    url: &str,
    expected: &Path,
    place: &Path,
) -> Result<(), String> {
    let required = required(revision)?;
    let mut command = suite("server", place);
    command.args(["--url", url, "--requirements", revision]);
    let done = output(command.arg("--expected-failures").arg(expected))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let summary = report::summary(&said, &required);
    // A suite that ran nothing would be content, too.
    if summary.scenarios != required.len() || !done.status.success() {
        print_faults(&done, place);
        return Err(format!("not conformant to {revision} ({summary})"));
    }
    println!("{summary}");
    Ok(())
}

/// One scenario that is not required, before the server at this URL.
pub(super) fn one_scenario(
    scenario: &str,
    revision: &str,
    url: &str,
    expected: &Path,
    place: &Path,
) -> Result<(), String> {
    let mut command = suite("server", place);
    command.args(["--url", url, "--scenario", scenario, "--spec-version", revision]);
    let done = output(command.arg("--expected-failures").arg(expected))?;
    let passed = String::from_utf8_lossy(&done.stdout).contains("Baseline check passed");
    if !done.status.success() || !passed {
        print_faults(&done, place);
        return Err(format!("{scenario} failed"));
    }
    println!("{scenario}: passed");
    Ok(())
}

/// One scenario, with this command as the client.
pub(super) fn one_client_scenario(
    scenario: &str,
    revision: &str,
    client: &str,
    place: &Path,
) -> Result<(), String> {
    let mut command = suite("client", place);
    command.args(["--command", client, "--scenario", scenario, "--spec-version", revision]);
    let done = output(&mut command)?;
    // One that does not apply would be skipped, and be content.
    let passed = String::from_utf8_lossy(&done.stderr).contains("OVERALL: PASSED");
    if done.status.success() && passed {
        return Ok(());
    }
    println!("{scenario}");
    // The table of all checks is coloured; below it is why those that failed have.
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    said.lines().filter(|line| !line.starts_with('\u{1b}')).for_each(|line| println!("  {line}"));
    Err(scenario.to_owned())
}

/// The scenarios a revision requires of servers.
fn required(revision: &str) -> Result<Vec<String>, String> {
    let done = output(node().args(["list", "--requirements", revision]))?;
    let required = report::required(&String::from_utf8_lossy(&done.stdout));
    if required.is_empty() {
        return Err(format!("the suite requires nothing for {revision}"));
    }
    Ok(required)
}

/// Says what failed, as far as the suite does.
fn print_faults(done: &Output, place: &Path) {
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let faults = report::faults(&said);
    if faults.is_empty() {
        println!("{}\n{}", said.trim(), String::from_utf8_lossy(&done.stderr).trim());
    }
    for line in faults.iter().chain(&report::failed_checks(place, &faults)) {
        println!("  {line}");
    }
}

fn suite(leg: &str, place: &Path) -> Command {
    let mut command = node();
    command.arg(leg).arg("--output-dir").arg(place.join("checks"));
    command
}

fn node() -> Command {
    let modules = peers::place().join("node_modules");
    let mut command = Command::new(modules.join(".bin/node"));
    command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
    command
}

fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|error| format!("cannot run the suite: {error}"))
}
