//! What a file says about scanning the texts of servers: `scan` and `scanAllow`.

use super::checker::{ConfigChecker, find, wrong_type};
use super::path::Path;
use super::problem::Problem;
use super::shape::{ConfigKey, Takes};
use super::spec::Rules;
use crate::jsonc::{JsonMember, Value};
use crate::scan::{ScanMode, ScanPolicy, rule};

const SCAN: &str = "scan";
const SCAN_ALLOW: &str = "scanAllow";
const SCAN_RESULTS: &str = "scanResults";

/// Beside the servers: what holds for those that do not say it themselves.
pub(crate) const SCAN_DEFAULTS: [ConfigKey; 3] = [
    ConfigKey::new(
        SCAN,
        Takes::Word(&ScanMode::WORDS),
        "What is done about texts that lie, for servers that do not say it themselves.",
    ),
    ConfigKey::new(
        SCAN_ALLOW,
        Takes::Texts,
        "Findings of the scanner that are accepted everywhere.",
    ),
    ConfigKey::new(
        SCAN_RESULTS,
        Takes::Flag,
        "Whether results are scanned, too, of servers that do not say it themselves.",
    ),
];

/// Of one server.
pub(crate) const SCANNING: [ConfigKey; 3] = [
    ConfigKey::new(
        SCAN,
        Takes::Word(&ScanMode::WORDS),
        "What is done about texts that lie: nothing (off), they are told (report), what nobody can see is \
         taken out (strip), tools with a finding of severity high are withheld (hold).",
    ),
    ConfigKey::new(
        SCAN_ALLOW,
        Takes::Texts,
        "Findings of the scanner that are accepted: \"RULE\", \"TOOL:RULE\" or \"TOOL:*\".",
    ),
    ConfigKey::new(
        SCAN_RESULTS,
        Takes::Flag,
        "Whether results of tools, resources and prompts are scanned, too. They are never changed or held up; what \
         is found is told.",
    ),
];

const SCAN_HELP: &str = "write \"off\", \"report\", \"strip\" or \"hold\"";
const ALLOW_HELP: &str = "write [\"RULE\", \"TOOL:RULE\"], as `trunkline scan` names them";

pub(crate) fn scan_policy(
    check: &mut ConfigChecker<'_>,
    members: &[JsonMember],
    at: &Path,
) -> ScanPolicy {
    if check.rules == Rules::Simple {
        return ScanPolicy::default();
    }
    ScanPolicy {
        mode: scan_mode(check, members, at),
        allow: scan_allow(check, members, at),
        results: scan_results(check, members, at),
    }
}

fn scan_results(check: &mut ConfigChecker<'_>, members: &[JsonMember], at: &Path) -> Option<bool> {
    let member = find(members, SCAN_RESULTS)?;
    let Value::Bool(flag) = member.value.value else {
        let at = at.key(SCAN_RESULTS);
        check.report(wrong_type(&member.value, &at, "`scanResults`", "true or false"));
        return None;
    };
    Some(flag)
}

fn scan_mode(check: &mut ConfigChecker<'_>, members: &[JsonMember], at: &Path) -> Option<ScanMode> {
    let member = find(members, SCAN)?;
    let at = at.key(SCAN);
    let Value::String(text) = &member.value.value else {
        let problem = wrong_type(&member.value, &at, "`scan`", "a string");
        check.report(problem.help(SCAN_HELP));
        return None;
    };
    let mode = ScanMode::read(&text.value);
    if mode.is_none() {
        let problem = Problem::schema(&at, text.span, "this way to `scan` is not known");
        check.report(problem.help(SCAN_HELP));
    }
    mode
}

fn scan_allow(check: &mut ConfigChecker<'_>, members: &[JsonMember], at: &Path) -> Vec<String> {
    let Some(member) = find(members, SCAN_ALLOW) else { return Vec::new() };
    let at = at.key(SCAN_ALLOW);
    let Value::Array(items) = &member.value.value else {
        let problem = wrong_type(&member.value, &at, "`scanAllow`", "an array of strings");
        check.report(problem.help(ALLOW_HELP));
        return Vec::new();
    };
    let mut allow = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let at = at.index(index);
        let Value::String(text) = &item.value else {
            let what = format!("`scanAllow[{index}]`");
            check.report(wrong_type(item, &at, &what, "a string").help(ALLOW_HELP));
            continue;
        };
        let (of, named) = text.value.rsplit_once(':').unwrap_or(("", &text.value));
        if rule(named).is_none() && (named != "*" || of.is_empty()) {
            let message = "the scanner has no such rule; this accepts nothing";
            check.report(Problem::warning(&at, text.span, message).help(ALLOW_HELP));
        }
        allow.push(text.value.clone());
    }
    allow
}
