//! `trunkline logs`: prints records of the audit log and changes of server states.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::Logs;
use crate::commands::running_serve::{ServeError, find, run as reach, servers};
use crate::commands::runtimes::no_server;
use crate::commands::server_words::print_stderr;
use crate::environment::Environment;
use crate::rest::{Rest, Unanswered, escaped};
use crate::serve_view::{ServerLine, change, record_line};
use crate::settings::ADMIN_TOKEN;
use crate::shared::control::Runtimes;
use crate::terminal::Paint;
use crate::timestamp::rfc3339;
use crate::{FAILED, OK, console};

/// How often is looked for something new.
const PAUSE: Duration = Duration::from_millis(500);
/// So many records at once; more are read over several.
const PAGE: u16 = 500;

pub(crate) fn run(asked: &Logs, environment: &Environment) -> u8 {
    let (elsewhere, nowhere) = match of_runtime(asked, environment) {
        OfRuntime::Done(code) => return code,
        OfRuntime::Unknown(why) => (Some(why), None),
        OfRuntime::None(why) => (None, Some(why)),
        OfRuntime::NotMeant => (None, None),
    };
    reach(&asked.at, environment, async |rest| {
        let paint = environment.paint();
        if let Some(why) = nowhere
            && let Err(Unanswered::Away(_)) = rest.get("/api/v1/audit?limit=1").await
        {
            return Err(ServeError::Failed(format!(
                "{why}, and no platform answers at {} (name one with --url URL or --data-dir DIR)",
                rest.address()
            )));
        }
        let found = first_records(rest, asked).await;
        // Nobody has named this `serve`: what is wrong is the name of the server.
        let (records, newest) = match (found, elsewhere) {
            (Err(ServeError::Failed(_)), Some(why)) => return Err(ServeError::Failed(why)),
            (found, _) => found?,
        };
        let mut last = print(asked, &records, 0, paint)?.max(newest);
        if !asked.follow {
            return Ok(OK);
        }
        let mut before: Option<Vec<ServerLine>> = None;
        loop {
            let now: Vec<ServerLine> = servers(rest).await?.iter().map(ServerLine::read).collect();
            if let Some(before) = &before {
                tell_changes(asked, before, &now, paint)?;
            }
            before = Some(now);
            last = print(asked, &since(rest, asked, last).await?, last, paint)?;
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// The newest records; an error if a server is meant that has none and is not there.
async fn first_records(rest: &Rest, asked: &Logs) -> Result<(Vec<Value>, u64), ServeError> {
    let (records, newest) = past(rest, asked).await?;
    if let Some(name) = asked.server.as_deref().filter(|_| newest == 0) {
        // A server that is gone has its records still; one without any has to be there.
        find(&servers(rest).await?, name)?;
    }
    Ok((records, newest))
}

/// What came of looking for a server among the shared runtimes.
enum OfRuntime {
    Done(u8),
    /// None has it, and why; a `serve` may.
    Unknown(String),
    /// There is none, or it is not said which server is meant; a `serve` may be there.
    None(String),
    /// A `serve` is meant, because it is named or no server is.
    NotMeant,
}

const NONE_RUNS: &str = "no shared runtime is running";

/// What a server of a shared runtime wrote last to its standard error.
fn of_runtime(asked: &Logs, environment: &Environment) -> OfRuntime {
    let failed = |why: &str| OfRuntime::Done(console::problem(&format!("error: {why}\n"), FAILED));
    if asked.server.is_none() && asked.runtime.is_some() {
        return failed("name a server: `trunkline logs SERVER --runtime …`");
    }
    let at = &asked.at;
    let is_of_serve = at.url.is_some() || at.token.is_some() || at.data_dir.is_some();
    let is_audit = asked.tool.is_some() || asked.outcome.is_some();
    let has_token = environment.filled(ADMIN_TOKEN).is_some() && asked.runtime.is_none();
    if is_of_serve || is_audit || has_token {
        return OfRuntime::NotMeant;
    }
    let found = match Runtimes::find(None, environment) {
        Ok(found) => found,
        Err(_) if asked.runtime.is_none() => return OfRuntime::NotMeant,
        Err(why) => return failed(&why),
    };
    let Some(server) = asked.server.as_deref() else {
        return OfRuntime::None(match found.running.is_empty() {
            true => NONE_RUNS.to_owned(),
            false => "no server is named (`trunkline logs SERVER`)".to_owned(),
        });
    };
    let chosen = match asked.runtime.as_deref().map(|which| found.choose(which)) {
        Some(Err(why)) => return failed(&why),
        Some(Ok(chosen)) => chosen,
        None => found.running.iter().collect(),
    };
    let with_it: Vec<_> = chosen.into_iter().filter(|it| it.has_server(server)).collect();
    match with_it.is_empty() {
        true if found.running.is_empty() => OfRuntime::None(NONE_RUNS.to_owned()),
        true if asked.runtime.is_some() => failed(&no_server(server, &found)),
        true => OfRuntime::Unknown(no_server(server, &found)),
        false => OfRuntime::Done(print_stderr(asked, server, &found, &with_it)),
    }
}

/// The newest records, the oldest of them first; and the number of the newest, also if none is wanted.
async fn past(rest: &Rest, asked: &Logs) -> Result<(Vec<Value>, u64), ServeError> {
    let wanted = usize::from(asked.lines);
    let (mut records, mut next) = page(rest, asked, asked.lines.clamp(1, PAGE), None).await?;
    while let Some(cursor) = next.filter(|_| records.len() < wanted) {
        let more;
        (more, next) = page(rest, asked, PAGE, Some(&cursor)).await?;
        records.extend(more);
    }
    let newest = records.first().map(seq).unwrap_or_default();
    records.truncate(wanted);
    records.reverse();
    Ok((records, newest))
}

/// Everything behind the record of this number, the oldest first.
async fn since(rest: &Rest, asked: &Logs, last: u64) -> Result<Vec<Value>, ServeError> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let (records, next) = page(rest, asked, PAGE.min(100), cursor.as_deref()).await?;
        let new = records.iter().take_while(|record| seq(record) > last).count();
        let is_all = new < records.len() || next.is_none() || last == 0;
        found.extend(records.into_iter().take(new));
        cursor = next;
        if is_all {
            found.reverse();
            return Ok(found);
        }
    }
}

async fn page(
    rest: &Rest,
    asked: &Logs,
    limit: u16,
    cursor: Option<&str>,
) -> Result<(Vec<Value>, Option<String>), ServeError> {
    let mut path = format!("/api/v1/audit?limit={limit}");
    let filters = [
        ("server", asked.server.as_deref()),
        ("tool", asked.tool.as_deref()),
        ("outcome", asked.outcome.as_deref()),
        ("cursor", cursor),
    ];
    for (name, value) in filters {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", escaped(value)));
        }
    }
    let page = rest.get(&path).await?;
    let records = page.get("records").and_then(Value::as_array).cloned().unwrap_or_default();
    let next = page.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
    Ok((records, next))
}

fn seq(record: &Value) -> u64 {
    record.get("seq").and_then(Value::as_u64).unwrap_or_default()
}

/// Prints what is newer than `last`; the newest of all.
fn print(asked: &Logs, records: &[Value], last: u64, paint: Paint) -> Result<u64, ServeError> {
    let new: Vec<&Value> = records.iter().filter(|record| seq(record) > last).collect();
    let text: String = match asked.at.json {
        true => new.iter().map(|record| format!("{record}\n")).collect(),
        false => new.iter().map(|record| record_line(record, console::width(), paint)).collect(),
    };
    said(&text)?;
    Ok(new.iter().map(|record| seq(record)).max().unwrap_or_default().max(last))
}

fn tell_changes(
    asked: &Logs,
    before: &[ServerLine],
    now: &[ServerLine],
    paint: Paint,
) -> Result<(), ServeError> {
    let at = rfc3339(std::time::SystemTime::now());
    let wanted = |name: &String| asked.server.as_ref().is_none_or(|wanted| wanted == name);
    let changes = change(before, now).into_iter().filter(|(name, _)| wanted(name));
    let line = |(name, what): (String, String)| match asked.at.json {
        true => format!("{}\n", json!({"at": at, "server": name, "change": what})),
        false => format!("{}  {}  {name} {what}\n", paint.dim(&at), paint.yellow("state     ")),
    };
    said(&changes.map(line).collect::<String>())
}

/// The reader of standard output has gone, so the command ends.
fn said(text: &str) -> Result<(), ServeError> {
    match text.is_empty() || console::reaches(text) {
        true => Ok(()),
        false => Err(ServeError::Gone),
    }
}
