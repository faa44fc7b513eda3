//! The plan and the savings, for people and for programs. They hold no value of any server.

use serde_json::{Value, json};

use super::plan::{FileChange, SetupPlan};
use super::savings::Savings;
use crate::client::{columns, counted, line};
use crate::import::{FileOwner, ImportProblem, Merged, problem_line};
use crate::terminal::Paint;

/// What will be done, with what it saves.
pub(crate) fn plan_words(
    plan: &SetupPlan,
    savings: &Savings,
    width: usize,
    paint: Paint,
) -> String {
    let mut out = String::new();
    if !plan.files.is_empty() {
        out.push_str(&files(plan, width, paint));
    }
    let mut said = String::new();
    for file in &plan.files {
        let title = file.client.title();
        file.problems().for_each(|problem| said.push_str(&problem_line(title, problem, paint)));
    }
    for (client, why) in &plan.unreadable {
        let label = paint.red("left as it is");
        said.push_str(&format!("{label}: {}: {}\n", client.title(), line(why)));
    }
    for note in &plan.notes {
        said.push_str(&format!("{}: {}\n", paint.bold("note"), line(note)));
    }
    for (client, file, count) in &plan.of_project {
        let (title, file) = (client.title(), file.display());
        let servers = counted(*count, "server");
        let label = paint.bold("note");
        said.push_str(&format!(
            "{label}: {title} has {servers} for the project here ({file}), which --project moves, too\n"
        ));
    }
    if !said.is_empty() {
        out.push_str(&format!("\n{said}"));
    }
    if plan.files.is_empty() {
        out.push_str(
            "nothing to do: no client's config was found; `trunkline install CLIENT` makes one\n",
        );
        return out;
    }
    if plan.is_done() {
        out.push_str("\nnothing to do: every server of these clients is behind Trunkline\n");
        return out;
    }
    if plan.moves_nothing() {
        out.push_str(
            "\nno server moves: those of these clients are behind Trunkline already; entries are brought up to date\n",
        );
        return out;
    }
    out.push_str(&servers(plan, width, paint));
    out.push_str(&savings.words(width, paint));
    out
}

/// Each file and how many servers leave it.
fn files(plan: &SetupPlan, width: usize, paint: Paint) -> String {
    let head = ["CLIENT", "SERVERS", "TRUNKLINE", "FILE"].map(str::to_owned);
    let row = |file: &FileChange| {
        let entry = match (file.has_entry, &file.text) {
            (false, _) => "-",
            (true, None) => "is there",
            (true, Some(_)) => "is put in",
        };
        let moved = match file.moved().count() {
            0 => "-".to_owned(),
            count => count.to_string(),
        };
        let title = file.client.title().to_owned();
        [title, moved, entry.to_owned(), line(&file.file.display().to_string())]
    };
    let rows: Vec<_> = std::iter::once(head).chain(plan.files.iter().map(row)).collect();
    headed(&columns(&rows, "", width), paint)
}

/// Each server that goes into the config, and whose it was.
fn servers(plan: &SetupPlan, width: usize, paint: Paint) -> String {
    if plan.new.is_empty() {
        return String::new();
    }
    let (count, config) = (counted(plan.new.len(), "server"), plan.config.display());
    let origin = |name: &str, (owner, own): &(FileOwner, String)| match own == name {
        true => owner.title().to_owned(),
        false => format!("{} (as {})", owner.title(), line(own)),
    };
    let row = |merged: &Merged| {
        let name = &merged.server.name;
        let from: Vec<String> = merged.from.iter().map(|it| origin(name, it)).collect();
        [line(name), from.join(", ")]
    };
    let head = ["SERVER", "FROM"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(plan.new.iter().map(row)).collect();
    let table = headed(&columns(&rows, "", width), paint);
    let doubles = plan.new.iter().filter(|merged| merged.from.len() > 1).count();
    let doubles = match doubles {
        0 => String::new(),
        1 => "1 of them is in several clients and becomes one server\n".to_owned(),
        many => format!("{many} of them are in several clients and become one server each\n"),
    };
    format!("\n{count} will move to {config}:\n\n{table}{doubles}")
}

fn headed(text: &str, paint: Paint) -> String {
    let (head, body) = text.split_once('\n').unwrap_or((text, ""));
    format!("{}\n{body}", paint.bold(head))
}

impl Savings {
    /// What each client sees, and what all of them take.
    pub(crate) fn words(&self, width: usize, paint: Paint) -> String {
        let how = if self.measured { "measured" } else { "estimated" };
        let mut out = String::new();
        if !self.contexts.is_empty() {
            let head = ["CLIENT", "SEES NOW", "CONTEXT", "WILL SEE", "CONTEXT"];
            let head = match self.measured {
                true => ["CLIENT", "SAW", "CONTEXT", "SEES", "CONTEXT"],
                false => head,
            };
            let row = |it: &super::savings::ClientContext| {
                [
                    it.client.title().to_owned(),
                    counted(it.servers.0, "server"),
                    format!("{} tokens", it.tokens.0),
                    counted(it.servers.1, "server"),
                    format!("{} tokens", it.tokens.1),
                ]
            };
            let rows = std::iter::once(head.map(str::to_owned));
            let rows: Vec<_> = rows.chain(self.contexts.iter().map(row)).collect();
            out.push_str(&format!("\n{}", headed(&columns(&rows, "", width), paint)));
        }
        let (before, after) = self.processes;
        let (much, less) = self.megabytes;
        out.push_str(&format!(
            "\nwith all clients running: {before} → {after} server processes, {much} → {less} MB\n"
        ));
        let tokens = |which: fn(&(usize, usize)) -> usize| -> usize {
            self.contexts.iter().map(|it| which(&it.tokens)).sum()
        };
        let (now, then) = (tokens(|it| it.0), tokens(|it| it.1));
        out.push_str(&format!("context of their models together: {now} → {then} tokens\n"));
        if then > now {
            out.push_str(
                "(every client sees every server; with --separate each sees its own only, with --expose \
                 search 4 tools, about 600 tokens, that find the others)\n",
            );
        }
        out.push_str(&format!("these figures are {how}\n"));
        out
    }
}

pub(crate) fn plan_json(plan: &SetupPlan, savings: &Savings) -> Value {
    let file = |file: &FileChange| {
        json!({
            "client": file.client.id(),
            "file": file.file.display().to_string(),
            "moves": file.moved().collect::<Vec<_>>(),
            "trunkline": file.has_entry,
            "changes": file.text.is_some(),
            "problems": file.problems().map(ImportProblem::json).collect::<Vec<_>>(),
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
    let left = |(client, why): &(trunkline_catalog::client::Client, String)| json!({"client": client.id(), "why": why});
    json!({
        "config": plan.config.display().to_string(),
        "files": plan.files.iter().map(file).collect::<Vec<_>>(),
        "servers": plan.new.iter().map(server).collect::<Vec<_>>(),
        "kept": plan.kept,
        "notes": plan.notes,
        "left": plan.unreadable.iter().map(left).collect::<Vec<_>>(),
        "nothing_to_do": plan.is_done(),
        "savings": savings.json(),
    })
}
