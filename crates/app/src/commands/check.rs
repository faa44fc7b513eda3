//! `trunkline check`: starts every server of a config, reports the state of each, stops them.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};
use trunkline_catalog::Exposure;
use trunkline_catalog::config::{Config, Style};
use trunkline_catalog::scan::Finding;
use trunkline_control::figures::millis;
use trunkline_gateway::{Declared, Failure, Gateway, KnownListings, State, Status};

use crate::cli::Check;
use crate::client::{columns, counted};
use crate::commands::runtime::{block_on, broke, refuse, start_logging};
use crate::commands::starting::settled;
use crate::environment::Environment;
use crate::scan_view;
use crate::settings::{self, SettingsError, StartOptions};
use crate::terminal::{Paint, StatusLine};
use crate::{FAILED, OK, USAGE, console};

/// Longer than a client's first list waits: `check` shows how long a slow start takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// One line of the table.
pub(super) struct Row {
    pub(super) key: String,
    /// `None`: disabled in the config.
    status: Option<Status>,
    /// How many of its tools clients see.
    exposed: usize,
    /// What the scanner found that is worth showing.
    findings: Vec<Finding>,
}

pub(crate) fn run(check: &Check, environment: &Environment) -> u8 {
    if let Err(code) = start_logging(&check.servers.log, environment) {
        return code;
    }
    let named = check.servers.config.as_deref();
    let path = match check.simple {
        true => settings::given_config_path(named, environment),
        false => settings::config_path(named, environment),
    };
    let path = match path {
        Ok(path) => path,
        Err(error) => return refuse(&error, environment),
    };
    match examine(check, &path, environment) {
        Ok(Ok(rows)) => tell(check, &path, &rows, environment.paint()),
        Ok(Err(error)) => broke(&error),
        Err(SettingsError::Invalid(problems)) if check.json => {
            console::out(&(problems.to_json() + "\n"));
            USAGE
        }
        Err(error) => refuse(&error, environment),
    }
}

fn examine(
    check: &Check,
    path: &Path,
    environment: &Environment,
) -> Result<std::io::Result<Vec<Row>>, SettingsError> {
    let wanted = StartOptions {
        simple: check.simple,
        patience: Some(PATIENCE),
        exposure: Exposure::Auto,
        declared: if check.simple { Declared::nothing() } else { Declared::everything() },
        ..StartOptions::once(&check.servers)
    };
    let config = settings::load(path, &wanted, environment)?;
    if !config.warnings.is_empty() {
        console::problem(&config.warnings.render(Style::Plain), OK);
    }
    let scans = !check.simple;
    let look = |gateway: &Gateway| if scans { gateway.scan() } else { Vec::new() };
    let started = started_and(&wanted, path, config, environment, None, look)?;
    Ok(started.map(|(mut rows, found)| {
        for server in found {
            if let Some(row) = rows.iter_mut().find(|row| row.key == server.key) {
                row.findings = server.findings.into_iter().filter(Finding::is_shown).collect();
            }
        }
        rows
    }))
}

/// Starts the servers of a config, looks at them, stops them. `listings`: where to remember what they list.
pub(super) fn started_and<T>(
    wanted: &StartOptions<'_>,
    path: &Path,
    config: Config,
    environment: &Environment,
    listings: Option<KnownListings>,
    look: impl FnOnce(&Gateway) -> T,
) -> Result<std::io::Result<(Vec<Row>, T)>, SettingsError> {
    let keys: Vec<_> =
        config.servers.iter().map(|spec| (spec.key.clone(), spec.disabled)).collect();
    let mut options = settings::options(wanted, path, config, environment)?;
    options.caller_tells_failures = true; // in the table
    options.listings = listings;
    let progress = StatusLine::new();
    let statuses = block_on(async {
        let gateway = Gateway::start(options)?;
        settled(&gateway, &progress, Duration::ZERO).await;
        let statuses: Vec<_> = gateway.statuses().into_iter().zip(gateway.exposed()).collect();
        let seen = look(&gateway);
        gateway.stop().await;
        Ok((statuses, seen))
    });
    progress.clear();
    Ok(statuses.and_then(|it| it).map(|(statuses, seen)| (rows(&keys, statuses), seen)))
}

fn rows(keys: &[(String, bool)], statuses: Vec<((String, Status), usize)>) -> Vec<Row> {
    let mut statuses = statuses.into_iter();
    let row = |(key, disabled): &(String, bool)| {
        let known = if *disabled { None } else { statuses.next() };
        let exposed = known.as_ref().map_or(0, |(_, exposed)| *exposed);
        let status = known.map(|((_, status), _)| status);
        Row { key: key.clone(), status, exposed, findings: Vec::new() }
    };
    keys.iter().map(row).collect()
}

fn tell(check: &Check, path: &Path, rows: &[Row], paint: Paint) -> u8 {
    let good = rows.iter().all(Row::is_good);
    let text = if check.json {
        let servers: Vec<Value> = rows.iter().map(Row::json).collect();
        let config = path.to_string_lossy();
        format!("{}\n", json!({ "ok": good, "config": config, "servers": servers }))
    } else {
        table(rows, paint)
    };
    let told = console::out(&text);
    if good { told } else { FAILED }
}

impl Row {
    pub(super) fn is_good(&self) -> bool {
        self.status.as_ref().is_none_or(|status| status.state == State::Running)
    }

    pub(super) fn is_running(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.state == State::Running)
    }

    /// Would it run if somebody logged in there?
    pub(super) fn needs_login(&self) -> bool {
        let status = self.status.as_ref();
        matches!(status.map(|it| &it.state), Some(State::Failed(failure)) if failure.needs_login)
    }

    /// `12 tools, started in 412 ms`
    pub(super) fn summary(&self) -> String {
        let Some(status) = &self.status else { return "disabled".to_owned() };
        if self.needs_login() {
            return format!("wants a login: run `trunkline login {}`", self.key);
        }
        let tools = match share(self.exposed, status.tools) {
            one if one == "1" => "1 tool".to_owned(),
            many => format!("{many} tools"),
        };
        let time = status.started_in.map(|time| millis(Some(time.as_secs_f64() * 1000.0)));
        time.map_or(tools.clone(), |time| format!("{tools}, started in {time}"))
    }

    fn state(&self) -> &'static str {
        self.status.as_ref().map_or("disabled", |status| status.state.word())
    }

    /// Why it is not running, and what to do about it.
    fn trouble(&self) -> Option<(String, String)> {
        match &self.status.as_ref()?.state {
            State::Failed(failure) => Some((failure.what.clone(), advice(failure))),
            State::Initializing => Some((
                "has not finished starting".to_owned(),
                "give it more time with --start-timeout, or run its command by hand".to_owned(),
            )),
            State::Running | State::Stopped | State::Idle => None,
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut row = Map::new();
        let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
        put("name", json!(self.key));
        put("state", json!(self.state()));
        if let Some(status) = &self.status {
            put("protocol", json!(status.protocol));
            put("server", json!(status.identity));
            put("tools", json!(self.exposed));
            put("offered", json!(status.tools));
            put("waiting", json!(status.waiting));
            if let Some(proxy) = &status.proxy {
                put("proxy", json!(proxy));
            }
            put("start_ms", json!(status.started_in.map(|time| time.as_secs_f64() * 1000.0)));
            if let State::Failed(failure) = &status.state {
                put("phase", json!(failure.phase.to_string()));
                put("stderr", json!(failure.stderr));
            }
        }
        if !self.findings.is_empty() {
            put("findings", self.findings.iter().map(scan_view::json).collect());
        }
        if let Some((reason, hint)) = self.trouble() {
            put("reason", json!(reason));
            put("hint", json!(hint));
        }
        Value::Object(row)
    }
}

fn advice(failure: &Failure) -> String {
    if failure.advice.is_empty() && !failure.stderr.is_empty() {
        return "see what it wrote to stderr".to_owned();
    }
    failure.advice.clone()
}

const HEAD: [&str; 5] = ["SERVER", "STATE", "PROTOCOL", "TOOLS", "START"];

pub(super) fn table(rows: &[Row], paint: Paint) -> String {
    let cells: Vec<[String; 5]> =
        std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    let text = columns(&cells, "", usize::MAX);
    let mut lines = text.lines();
    let mut out = lines.next().map(|head| format!("{}\n", paint.bold(head))).unwrap_or_default();
    for (row, line) in rows.iter().zip(lines) {
        let line = if row.is_good() { line.to_owned() } else { paint.red(line) };
        out.push_str(&format!("{line}\n"));
        if let Some(proxy) = row.status.as_ref().and_then(|status| status.proxy.as_ref()) {
            out.push_str(&format!("    through the proxy {proxy}\n"));
        }
        trouble(row, &mut out);
        for finding in &row.findings {
            out.push_str(&scan_view::words(finding, paint));
        }
    }
    let running = rows.iter().filter(|row| row.state() == "running").count();
    let offered = rows.iter().filter_map(|row| Some(row.status.as_ref()?.tools)).sum();
    let tools = share(rows.iter().map(|row| row.exposed).sum(), offered);
    let waiting: usize = rows.iter().filter_map(|row| Some(row.status.as_ref()?.waiting)).sum();
    out.push_str(&format!("\n{running} of {} servers running, {tools} tools\n", rows.len()));
    if waiting > 0 {
        let (what, verb) =
            (counted(waiting, "definition"), if waiting == 1 { "waits" } else { "wait" });
        out.push_str(&format!("{what} {verb} to be looked at: trunkline review\n"));
    }
    out
}

/// `3 of 5` tools, where a filter keeps some back.
fn share(exposed: usize, offered: usize) -> String {
    if exposed == offered { offered.to_string() } else { format!("{exposed} of {offered}") }
}

fn cells(row: &Row) -> [String; 5] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let status = row.status.as_ref();
    let start = status.and_then(|status| status.started_in);
    let tools = status.filter(|status| status.state == State::Running);
    [
        row.key.clone(),
        row.state().to_owned(),
        or_dash(status.and_then(|status| status.protocol.clone())),
        or_dash(tools.map(|status| share(row.exposed, status.tools))),
        or_dash(start.map(|time| millis(Some(time.as_secs_f64() * 1000.0)))),
    ]
}

fn trouble(row: &Row, out: &mut String) {
    let Some((reason, hint)) = row.trouble() else {
        return;
    };
    out.push_str(&format!("    {reason}\n"));
    if !hint.is_empty() {
        out.push_str(&format!("    help: {hint}\n"));
    }
    if let Some(Status { state: State::Failed(failure), .. }) = &row.status {
        for line in &failure.stderr {
            out.push_str(&format!("    | {line}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(key: &str, tools: usize, exposed: usize) -> Row {
        let status = Status { state: State::Running, tools, ..Status::default() };
        Row { key: key.to_owned(), status: Some(status), exposed, findings: Vec::new() }
    }

    #[test]
    fn what_is_kept_back_is_counted_apart() {
        let rows = [running("all", 4, 4), running("some", 5, 3)];
        let text = table(&rows, Paint::new(false));
        assert!(text.contains("\nall     running  -         4       -\n"), "{text}");
        assert!(text.contains("\nsome    running  -         3 of 5  -\n"), "{text}");
        assert!(text.ends_with("\n2 of 2 servers running, 7 of 9 tools\n"), "{text}");
        let json = running("some", 5, 3).json();
        assert_eq!((&json["tools"], &json["offered"]), (&json!(3), &json!(5)));
    }

    #[test]
    fn disabled_servers_have_no_status() {
        let status = || Status { state: State::Running, tools: 2, ..Status::default() };
        let keys = [("a".to_owned(), true), ("b".to_owned(), false)];
        let rows = rows(&keys, vec![(("b".to_owned(), status()), 1)]);
        let seen: Vec<_> = rows.iter().map(|row| (row.state(), row.exposed)).collect();
        assert_eq!(seen, [("disabled", 0), ("running", 1)]);
    }
}
