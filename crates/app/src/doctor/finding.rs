//! One finding, and all of them as a page or as JSON.

use serde_json::{Value, json};

use crate::client::{counted, line};
use crate::terminal::Paint;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grade {
    /// It does not work.
    Error,
    /// It may not work, or not for everybody.
    Warning,
    /// Good to know.
    Note,
}

impl Grade {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) grade: Grade,
    /// Which of the checks: `config`, `command`, `start`, `changed`, `names`, `results`, `client`,
    /// `double`, `port`, `open`, `data`, `sandbox`, `scan`.
    pub(crate) check: &'static str,
    /// The server, client or file it is about.
    pub(crate) about: String,
    pub(crate) problem: String,
    pub(crate) fix: String,
}

impl Finding {
    pub(crate) fn new(grade: Grade, check: &'static str, about: &str, problem: String) -> Self {
        Self { grade, check, about: about.to_owned(), problem, fix: String::new() }
    }

    pub(crate) fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: fix.into(), ..self }
    }
}

/// Everything, the worst first. `looked` says what was looked at.
pub(crate) fn words(findings: &[Finding], looked: &[String], paint: Paint) -> String {
    let mut out = String::new();
    for what in looked {
        out.push_str(&format!("{} {}\n", paint.green("looked at"), line(what)));
    }
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| finding.grade);
    for finding in sorted {
        let label = match finding.grade {
            Grade::Error => paint.red("error"),
            Grade::Warning => paint.yellow("warning"),
            Grade::Note => paint.bold("note"),
        };
        let (check, about) = (finding.check, line(&finding.about));
        out.push_str(&format!("\n{label}[{check}] {about}: {}\n", line(&finding.problem)));
        if !finding.fix.is_empty() {
            out.push_str(&format!("  fix: {}\n", line(&finding.fix)));
        }
    }
    let count = |grade: Grade| findings.iter().filter(|finding| finding.grade == grade).count();
    let (errors, warnings) = (count(Grade::Error), count(Grade::Warning));
    out.push_str(&match (errors, warnings) {
        (0, 0) => format!("\n{}\n", paint.green("all is well")),
        _ => format!("\n{}, {}\n", counted(errors, "error"), counted(warnings, "warning")),
    });
    out
}

pub(crate) fn json(findings: &[Finding], looked: &[String]) -> Value {
    let one = |finding: &Finding| {
        json!({
            "grade": finding.grade.word(),
            "check": finding.check,
            "about": finding.about,
            "problem": finding.problem,
            "fix": finding.fix,
        })
    };
    let is_well = findings.iter().all(|finding| finding.grade != Grade::Error);
    json!({
        "ok": is_well,
        "looked_at": looked,
        "findings": findings.iter().map(one).collect::<Vec<_>>(),
    })
}
