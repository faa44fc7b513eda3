//! The report of `import` for people and for programs. It holds no value of any server.

use serde_json::{Value, json};

use super::merge::Merged;
use super::owner::FileOwner;
use super::read::{ImportProblem, Imported};
use crate::client::{columns, line};
use crate::terminal::Paint;

#[derive(Debug)]
pub(crate) struct ImportReport {
    pub(crate) parts: Vec<Imported>,
    pub(crate) merged: Vec<Merged>,
    pub(crate) notes: Vec<String>,
    /// How many projects with servers of their own were not asked for, by client.
    pub(crate) elsewhere: Vec<(FileOwner, usize)>,
}

/// The files, what is in them, and what is wrong with it; `more` are lines about what becomes of it.
pub(crate) fn table(report: &ImportReport, more: &[String], width: usize, paint: Paint) -> String {
    if report.parts.is_empty() {
        return "no client's config was found\n".to_owned();
    }
    let head = ["CLIENT", "SCOPE", "SERVERS", "PROBLEMS", "FILE"].map(str::to_owned);
    let row = |part: &Imported| {
        [
            part.owner.title().to_owned(),
            line(&part.scope),
            part.servers.len().to_string(),
            part.problems.len().to_string(),
            line(&part.file.display().to_string()),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(report.parts.iter().map(row)).collect();
    let text = columns(&rows, "", width);
    let (head, body) = text.split_once('\n').unwrap_or((&text, ""));
    let mut out = format!("{}\n{body}", paint.bold(head));
    let troubles = report.parts.iter().flat_map(|part| {
        let title = part.owner.title();
        part.problems.iter().map(move |trouble| problem_line(title, trouble, paint))
    });
    let notes = report.notes.iter().map(|note| format!("{}: {}\n", paint.bold("note"), line(note)));
    let said: String = troubles.chain(notes).chain(more.iter().cloned()).collect();
    if !said.is_empty() {
        out.push_str(&format!("\n{said}"));
    }
    out.push_str(&summary(report));
    out
}

/// `problem: Cursor: github: …`
pub(crate) fn problem_line(title: &str, trouble: &ImportProblem, paint: Paint) -> String {
    let label = match trouble.left_out {
        true => paint.red("left out"),
        false => paint.yellow("problem"),
    };
    let server = trouble.server.as_deref().map(|name| format!(" `{}`", line(name)));
    format!("{label}: {title}{}: {}\n", server.unwrap_or_default(), line(&trouble.message))
}

fn summary(report: &ImportReport) -> String {
    let all: usize = report.parts.iter().map(|part| part.servers.len()).sum();
    let (files, new) = (report.parts.len(), report.merged.len());
    let plural = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    };
    let mut out = format!("\n{} in {}", plural(all, "server"), plural(files, "place"));
    if new != all {
        out.push_str(&format!(", {new} after putting them together"));
    }
    out.push('\n');
    for (owner, count) in &report.elsewhere {
        let (more, title) = (plural(*count, "other project"), owner.title());
        out.push_str(&format!("{more} of {title} with servers: --all-projects takes them, too\n"));
    }
    out
}

impl ImportReport {
    pub(crate) fn json(&self) -> Value {
        let part = |part: &Imported| {
            json!({
                "client": part.owner.id(),
                "scope": part.scope,
                "file": part.file.display().to_string(),
                "servers": part.servers.iter().map(|server| &server.name).collect::<Vec<_>>(),
                "problems": part.problems.iter().map(ImportProblem::json).collect::<Vec<_>>(),
            })
        };
        let server = |merged: &Merged| {
            let from =
                |(owner, name): &(FileOwner, String)| json!({"client": owner.id(), "name": name});
            json!({
                "name": merged.server.name,
                "from": merged.from.iter().map(from).collect::<Vec<_>>(),
            })
        };
        json!({
            "files": self.parts.iter().map(part).collect::<Vec<_>>(),
            "servers": self.merged.iter().map(server).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

impl ImportProblem {
    pub(crate) fn json(&self) -> Value {
        json!({"server": self.server, "problem": self.message, "left_out": self.left_out})
    }
}
