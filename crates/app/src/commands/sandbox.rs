//! `trunkline sandbox`: prints the walls around a server of the config, or learns them.

use serde_json::{Value, json};
use trunkline_catalog::config::ServerSpec;
use trunkline_gateway::SandboxReport;
use trunkline_keeper::{Access, Network, support};

use crate::cli::{SandboxArgs, SandboxCommand, ShowSandbox};
use crate::client::did_you_mean;
use crate::commands::learn;
use crate::commands::runtime::{refuse, start_logging};
use crate::environment::Environment;
use crate::settings::{self, SettingsError, StartOptions};
use crate::{FAILED, console, walls};

pub(crate) fn run(asked: &SandboxArgs, environment: &Environment) -> u8 {
    let show = match &asked.command {
        SandboxCommand::Show(show) => show,
        SandboxCommand::Learn(learn) => return learn::run(learn, environment),
    };
    if let Err(code) = start_logging(&show.servers.log, environment) {
        return code;
    }
    match look(show, environment) {
        Ok(Ok(text)) => console::out(&text),
        Ok(Err(what)) => console::problem(&format!("error: {what}\n"), FAILED),
        Err(error) => refuse(&error, environment),
    }
}

/// What to print, or why there is nothing.
fn look(
    show: &ShowSandbox,
    environment: &Environment,
) -> Result<Result<String, String>, SettingsError> {
    let wanted = StartOptions::once(&show.servers);
    let path = settings::config_path(show.servers.config.as_deref(), environment)?;
    let config = settings::load(&path, &wanted, environment)?;
    let Some(server) = config.servers.iter().find(|server| server.key == show.server) else {
        let near = did_you_mean(&show.server, config.servers.iter().map(|it| it.key.as_str()));
        return Ok(Err(format!("the config has no server `{}`{near}", show.server)));
    };
    let mut inherited = settings::inherited(&wanted, environment);
    let absolute = std::fs::canonicalize(&path).unwrap_or(path);
    inherited.sandbox = walls::policy(Some(&absolute), environment);
    inherited.sandbox.default = show.sandbox.unwrap_or(inherited.sandbox.default);
    let report = inherited.sandbox_of(server);
    Ok(Ok(match show.json {
        true => format!("{}\n", in_json(server, report.as_deref())),
        false => in_words(server, report.as_deref()),
    }))
}

fn in_words(server: &ServerSpec, report: Option<&SandboxReport>) -> String {
    let Some(report) = report else {
        return format!(
            "{}: no sandbox; give it one with \"sandbox\": \"standard\" (on a platform it has that one: see \
             --sandbox standard)\n",
            server.key
        );
    };
    if let Some(line) = &report.container {
        let notes = notes(report);
        return format!("{}: container\ncommand: {}\n{notes}", server.key, line.join(" "));
    }
    let sandbox = &report.sandbox;
    let mut text = format!("{}: sandbox {} ({})\n", server.key, report.profile.word(), support());
    let network = match sandbox.network {
        Network::Open => "open".to_owned(),
        Network::None => "none".to_owned(),
        Network::Proxy(_) => report.hosts().join(", "),
    };
    text.push_str(&format!("network: {network}\n"));
    let sockets = if sandbox.unix_sockets { "allowed" } else { "refused" };
    text.push_str(&format!("sockets of this machine: {sockets}\n"));
    for (title, paths) in lists(report) {
        text.push_str(&format!("{title}:\n"));
        paths.iter().for_each(|path| text.push_str(&format!("  {path}\n")));
    }
    text.push_str(&notes(report));
    if let Some(gap) = support().gap() {
        text.push_str(&format!("missing: {gap}\n"));
    }
    text
}

fn notes(report: &SandboxReport) -> String {
    report.notes.iter().map(|note| format!("note: {note}\n")).collect()
}

fn in_json(server: &ServerSpec, report: Option<&SandboxReport>) -> Value {
    let Some(report) = report else { return json!({ "server": server.key, "sandbox": "off" }) };
    let mut all = json!({
        "server": server.key,
        "sandbox": report.profile.word(),
        "network": report.sandbox.network == Network::Open,
        "hosts": report.hosts(),
        "container": report.container,
        "notes": report.notes,
        "unixSockets": report.sandbox.unix_sockets,
        "missing": support().gap(),
    });
    for (title, paths) in lists(report) {
        if let Some(members) = all.as_object_mut() {
            members.insert(title.to_owned(), json!(paths));
        }
    }
    all
}

/// What is there of what it may read and write, and what it is never given.
fn lists(report: &SandboxReport) -> [(&'static str, Vec<String>); 4] {
    let sandbox = &report.sandbox;
    let of = |access| {
        let paths = sandbox.allowed.iter().filter(move |it| it.access == access);
        let mut paths: Vec<String> =
            paths.filter(|it| it.path.exists()).map(|it| it.path.display().to_string()).collect();
        paths.sort();
        paths.dedup();
        paths
    };
    let shown = |paths: &[std::path::PathBuf]| -> Vec<String> {
        paths.iter().map(|path| path.display().to_string()).collect()
    };
    [
        ("reads", of(Access::Read)),
        ("writes", of(Access::Write)),
        ("own", shown(&sandbox.own)),
        ("never", shown(&sandbox.never)),
    ]
}
