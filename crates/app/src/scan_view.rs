//! Findings of the scanner as a page, as JSON, and as findings of `doctor`.

use serde_json::{Value, json};
use trunkline_catalog::scan::{Confidence, Finding, Severity};

use crate::client::{counted, line};
use crate::doctor;
use crate::doctor::Grade;
use crate::terminal::Paint;

pub(crate) fn json(finding: &Finding) -> Value {
    let confidence = match finding.confidence {
        Confidence::Rule => "rule",
        Confidence::Combined => "combined",
    };
    json!({
        "rule": finding.rule.id,
        "severity": finding.severity.word(),
        "confidence": confidence,
        "kind": finding.kind.word(),
        "item": finding.item,
        "pointer": finding.pointer,
        "excerpt": finding.excerpt,
        "signs": finding.signs,
        "reason": finding.rule.reason,
        "mend": finding.rule.mend,
    })
}

/// One finding in two lines.
pub(crate) fn words(finding: &Finding, paint: Paint) -> String {
    let Finding { rule, severity, pointer, excerpt, .. } = finding;
    let word = match severity {
        Severity::High => paint.red(severity.word()),
        Severity::Medium => paint.yellow(severity.word()),
        Severity::Low | Severity::Info => severity.word().to_owned(),
    };
    let item = format!("{} {}", finding.kind.word(), line(&finding.item));
    let signs = match finding.signs.is_empty() {
        true => String::new(),
        false => format!(" ({})", finding.signs.join(", ")),
    };
    format!(
        "    {word}[{}] {item} {}: {}{signs}\n      {} {}\n",
        rule.id,
        line(pointer),
        line(excerpt),
        rule.reason,
        rule.mend
    )
}

/// `2 high, 1 medium`
pub(crate) fn summary(findings: &[Finding]) -> String {
    let count = |of: Severity| findings.iter().filter(|it| it.severity == of).count();
    let counts = Severity::ALL.iter().rev().map(|of| (count(*of), of.word()));
    let told: Vec<_> =
        counts.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if told.is_empty() { counted(0, "finding") } else { told.join(", ") }
}

pub(crate) fn for_doctor(server: &str, finding: &Finding) -> doctor::Finding {
    let Finding { rule, severity, excerpt, .. } = finding;
    let (kind, item) = (finding.kind.word(), &finding.item);
    let problem = format!("{severity} {}: {kind} `{item}`: {} \"{excerpt}\"", rule.id, rule.reason);
    let fix = format!(
        "read it with `trunkline scan {server}`; hide the tool with hiddenTools, set \"scan\": \"hold\", or \
         accept it with \"scanAllow\": [\"{item}:{}\"]",
        rule.id
    );
    doctor::Finding::new(Grade::Warning, "scan", server, problem).fix(fix)
}
