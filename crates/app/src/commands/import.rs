//! `trunkline import`: shows the servers of clients and writes them into one config.

use std::path::Path;
use std::time::SystemTime;

use serde_json::json;
use trunkline_catalog::config::{self, ConfigSource, Rules};

use crate::cli::Import;
use crate::commands::install::user_folders;
use crate::environment::Environment;
use crate::import::{
    self, Exported, FileOwner, ImportProblem, ImportReport, ImportRequest, ImportedServer,
    Projects, Section, Sources, problem_line,
};
use crate::install::{CurrentFile, WriteOutcome};
use crate::timestamp::file_stamp;
use crate::{FAILED, OK, USAGE, console};

pub(crate) fn run(asked: &Import, environment: &Environment) -> u8 {
    let folders = match user_folders(environment) {
        Ok(folders) => folders,
        Err(code) => return code,
    };
    let request = ImportRequest {
        sources: sources(asked),
        project: asked.project.clone().unwrap_or_else(|| folders.current_dir.clone()),
        projects: if asked.all_projects { Projects::All } else { Projects::This },
        taken: Vec::new(),
        folders,
    };
    let report = match import::import(&request) {
        Ok(report) => report,
        Err(why) => return console::problem(&format!("error: {why}\n"), USAGE),
    };
    let servers: Vec<ImportedServer> =
        report.merged.iter().map(|merged| merged.server.clone()).collect();
    let mut made = match asked.to {
        FileOwner::Trunkline => Exported {
            text: import::config_text("", "mcpServers", &servers).unwrap_or_default(),
            problems: Vec::new(),
        },
        other => import::export(other, &servers),
    };
    if asked.to == FileOwner::Trunkline {
        made.problems.extend(still_missing(&made.text, environment));
    }
    let shown = shown(asked.to, &servers);
    deliver(asked, &report, &made, &shown, environment)
}

/// The text as a person may see it: without what may be a secret.
fn shown(to: FileOwner, servers: &[ImportedServer]) -> String {
    let text = import::config_text("", "mcpServers", servers).unwrap_or_default();
    let masked = config::masked(&text);
    if to == FileOwner::Trunkline {
        return masked;
    }
    let section = Section::main(FileOwner::Trunkline, None);
    let masked = import::read_file(FileOwner::Trunkline, Path::new(""), &masked, &section);
    import::export(to, &masked.servers).text
}

fn sources(asked: &Import) -> Sources {
    match (&asked.file, asked.format) {
        (Some(path), Some(owner)) => Sources::File { path: path.clone(), owner },
        _ if asked.from.is_empty() => Sources::Clients(FileOwner::clients()),
        _ => Sources::Clients(asked.from.clone()),
    }
}

/// What keeps the new config from starting as it is, such as a variable that is not set here.
pub(super) fn still_missing(text: &str, environment: &Environment) -> Vec<ImportProblem> {
    let source = ConfigSource { name: "the new config", text: text.as_bytes() };
    let words = |problem: &config::Problem| match &problem.help {
        Some(help) => format!("{}; {help}", problem.message),
        None => problem.message.clone(),
    };
    let trouble =
        |problem| ImportProblem { server: None, message: words(problem), left_out: false };
    match config::load(&source, Rules::Full, &|name| environment.get(name)) {
        Ok(config) => config.warnings.iter().map(trouble).collect(),
        Err(problems) => problems.iter().map(trouble).collect(),
    }
}

fn deliver(
    asked: &Import,
    report: &ImportReport,
    made: &Exported,
    shown: &str,
    environment: &Environment,
) -> u8 {
    let written = match asked.output.as_deref().filter(|_| !asked.dry_run) {
        Some(path) => match write(path, &made.text, asked.force) {
            Ok(backup) => Some((path, backup)),
            Err(words) => return console::problem(&format!("error: {words}\n"), FAILED),
        },
        None => None,
    };
    if asked.json {
        let mut told = report.json();
        let path = |path: &Path| path.display().to_string();
        if let Some(members) = told.as_object_mut() {
            let troubles: Vec<_> = made.problems.iter().map(ImportProblem::json).collect();
            members.insert("problems".to_owned(), troubles.into());
            members.insert("written".to_owned(), json!(written.as_ref().map(|(to, _)| path(to))));
            let backup = written.as_ref().and_then(|(_, backup)| backup.as_deref()).map(path);
            members.insert("backup".to_owned(), json!(backup));
        }
        return console::out(&format!("{told}\n"));
    }
    // Where the config goes to standard output, it has that for itself.
    let aside = asked.output.is_none() && !asked.dry_run;
    let paint = if aside { environment.paint_stderr() } else { environment.paint() };
    let width = if aside { console::stderr_width() } else { console::width() };
    let title = match asked.to {
        FileOwner::Trunkline => "the new config",
        other => other.title(),
    };
    let more: Vec<String> =
        made.problems.iter().map(|trouble| problem_line(title, trouble, paint)).collect();
    let mut words = import::table(report, &more, width, paint);
    if let Some((path, backup)) = &written {
        words.push_str(&format!("written: {}\n", path.display()));
        if let Some(backup) = backup {
            words.push_str(&format!("backup:  {}\n", backup.display()));
        }
        if asked.to == FileOwner::Trunkline {
            let path = path.display();
            words.push_str(&format!(
                "next:    trunkline check --config {path}\n\
                 then:    trunkline install CLIENT --config {path}, which takes these servers out of the \
                 client's own file, so that none is there twice\n"
            ));
        }
    }
    match (aside, asked.dry_run) {
        // To a pipe as it is; to a terminal without what may be a secret.
        (true, _) => {
            console::problem(&words, OK);
            console::out(if console::stdout_is_terminal() { shown } else { &made.text })
        }
        (false, true) => console::out(&format!("{words}\n{shown}")),
        (false, false) => console::out(&words),
    }
}

/// Private, and never over something that is there unless that is wanted.
fn write(path: &Path, text: &str, force: bool) -> Result<Option<std::path::PathBuf>, String> {
    let found = CurrentFile::read(path).map_err(|error| error.to_string())?;
    if found.content().is_some() && !force {
        return Err(format!(
            "{} is there already; --force writes over it, with a backup",
            path.display()
        ));
    }
    match found.write_private(text, &file_stamp(SystemTime::now())) {
        Ok(WriteOutcome::Done { backup }) => Ok(backup),
        Ok(WriteOutcome::Overtaken) => {
            Err(format!("{} was changed just now; try again", path.display()))
        }
        Err(error) => Err(error.to_string()),
    }
}
