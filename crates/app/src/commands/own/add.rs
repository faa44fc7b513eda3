//! `trunkline add`: a server from the command line, from the clipboard, or from another program's line.

use std::io::{self, IsTerminal as _, Read as _};

use serde_json::{Map, Value, json};

use super::failure::ChangeFailure;
use super::person::{ask, ask_secret};
use super::planned::{ChangeReport, PlannedChange, TargetConfig};
use crate::cli::{Add, EnvPair};
use crate::client::line;
use crate::commands::runtime::start_logging;
use crate::console;
use crate::environment::Environment;
use crate::own_config::{
    ConfigServers, NeededValue, OwnConfigError, PastedServer, add_words, read_pasted,
};

/// More than anybody pastes; a pipe without an end must not fill the memory.
const LARGEST: u64 = 16 << 20;

pub(crate) fn add(asked: &Add, environment: &Environment) -> u8 {
    if let Err(code) = start_logging(&asked.check.log, environment) {
        return code;
    }
    run(asked, environment).unwrap_or_else(|failure| failure.tell(environment))
}

fn run(asked: &Add, environment: &Environment) -> Result<u8, ChangeFailure> {
    let mut servers = given(asked).map_err(ChangeFailure::usage)?;
    let target = TargetConfig::new(&asked.at, environment)?;
    let mut notes = Vec::new();
    let is_alone = servers.len() == 1;
    for server in &mut servers {
        complete(server, asked, is_alone).map_err(ChangeFailure::usage)?;
        settle_needs(server, environment, &mut notes);
        notes.append(&mut server.notes);
    }
    let entries: Vec<(String, Value)> = servers
        .into_iter()
        .map(|server| (server.name.unwrap_or_default(), Value::Object(server.entry)))
        .collect();
    let names: Vec<String> = entries.iter().map(|(name, _)| name.clone()).collect();
    let edit = |text: &str| -> Result<String, OwnConfigError> {
        let mut config = ConfigServers::parse(&target.path, text)?;
        for (name, entry) in &entries {
            let there = config.get(name);
            if there.as_ref() == Some(entry) {
                continue;
            }
            if there.is_some() && !asked.force {
                let (name, file) = (line(name), target.path.display());
                return Err(OwnConfigError::Usage(format!(
                    "there is a server `{name}` in {file} already; choose another name, or replace it with --force"
                )));
            }
            config.set(name, entry)?;
        }
        Ok(config.text())
    };
    let is_on = |entry: &Value| entry.get("disabled") != Some(&Value::Bool(true));
    let start = entries.iter().filter(|(_, entry)| is_on(entry)).map(|(name, _)| name.clone());
    let planned = PlannedChange {
        what: format!("add {}", names.join(" ")),
        edit: &edit,
        start: start.collect(),
    };
    let (changed, rows) = target.make(&planned, Some(&asked.check))?;
    let report = ChangeReport {
        done: ("added", "to"),
        names: &names,
        changed: &changed,
        rows: &rows,
        notes: &notes,
    };
    Ok(target.tell(&report))
}

/// The servers that the command line means.
fn given(asked: &Add) -> Result<Vec<PastedServer>, String> {
    let words: Vec<&str> = asked.words.iter().map(String::as_str).collect();
    let command = &asked.command;
    let mut all = asked.words.clone();
    if !command.is_empty() {
        all.push("--".to_owned());
        all.extend(command.iter().cloned());
    }
    if let Some(read) = add_words(&all) {
        return read;
    }
    match (words.as_slice(), command.is_empty()) {
        ([] | ["-"], true) => read_pasted(&standard_input()?),
        ([text], true) if is_pasted(text) => read_pasted(text),
        ([name] | [name, "-"], true) => named(name, read_pasted(&standard_input()?)?),
        ([name, text], true) if is_pasted(text) => named(name, read_pasted(text)?),
        ([name, url], true) if is_remote(url, asked) => {
            Ok(vec![server(name, [("url", json!(url))])])
        }
        ([], false) => Err("the server has no name: trunkline add NAME -- COMMAND".to_owned()),
        ([name, words @ ..], _) => {
            let mut words = words.iter().map(ToString::to_string).chain(command.iter().cloned());
            let program = words.next().unwrap_or_default();
            let args: Vec<String> = words.collect();
            Ok(vec![server(name, [("command", json!(program)), ("args", json!(args))])])
        }
    }
}

fn server<const N: usize>(name: &str, members: [(&str, Value); N]) -> PastedServer {
    let entry: Map<String, Value> =
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    PastedServer { name: Some(name.to_owned()), entry, ..PastedServer::default() }
}

/// Is this a text with servers in it rather than a name or an address?
fn is_pasted(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['{', '[', '"', '`', '/'])
        || text.contains(" mcp add")
        || text.contains(" --add-mcp ")
}

fn is_remote(word: &str, asked: &Add) -> bool {
    let says = asked.transport.as_deref().is_some_and(|transport| transport != "stdio");
    let lower = word.to_ascii_lowercase();
    says || lower.starts_with("http://") || lower.starts_with("https://")
}

/// The only server under this name, or the one of this name.
fn named(name: &str, servers: Vec<PastedServer>) -> Result<Vec<PastedServer>, String> {
    let mut servers = servers;
    if servers.len() > 1 {
        servers.retain(|server| server.name.as_deref() == Some(name));
        if servers.is_empty() {
            return Err(format!("none of the servers in the text is called `{}`", line(name)));
        }
    }
    for server in &mut servers {
        server.name = Some(name.to_owned());
    }
    Ok(servers)
}

fn standard_input() -> Result<String, String> {
    if io::stdin().is_terminal() {
        return Err("say what to add: trunkline add NAME -- COMMAND, trunkline add NAME URL, or pipe in what \
                    was copied (`trunkline add --help` has examples)"
            .to_owned());
    }
    let mut text = String::new();
    let read = io::stdin().lock().take(LARGEST + 1).read_to_string(&mut text);
    match read {
        Ok(read) if read as u64 > LARGEST => {
            Err(format!("standard input has more than {} MiB", LARGEST >> 20))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(format!("standard input cannot be read: {error}")),
    }
}

/// Adds what the flags say.
fn complete(server: &mut PastedServer, asked: &Add, is_alone: bool) -> Result<(), String> {
    if server.name.as_ref().is_none_or(String::is_empty) {
        return Err("the text does not name the server: trunkline add NAME TEXT".to_owned());
    }
    let says = !asked.env.is_empty() || !asked.header.is_empty() || asked.cwd.is_some();
    if says && !is_alone {
        return Err(
            "--env, --header and --cwd are for one server, and the text has several".to_owned()
        );
    }
    let is_command = server.entry.contains_key("command");
    for EnvPair { name, value } in &asked.env {
        if let Some(at) = server.needs.iter().position(|need| need.name == *name) {
            server.needs.remove(at);
            fill(&mut server.entry, name, value);
        } else if is_command {
            put(&mut server.entry, "env", name, value);
        } else {
            return Err("--env is for a command; a URL takes --header".to_owned());
        }
    }
    for header in &asked.header {
        if is_command {
            return Err("--header is for a URL; a command takes --env".to_owned());
        }
        put(&mut server.entry, "headers", &header.name, &header.value);
    }
    match (&asked.cwd, is_command) {
        (Some(cwd), true) => drop(server.entry.insert("cwd".to_owned(), json!(cwd))),
        (Some(_), false) => return Err("--cwd is for a command".to_owned()),
        (None, _) => {}
    }
    match asked.transport.as_deref() {
        Some(kind @ ("http" | "sse")) if !is_command => {
            server.entry.insert("type".to_owned(), json!(kind));
        }
        Some("http" | "sse") => return Err("--transport http and sse are for a URL".to_owned()),
        _ => {}
    }
    if asked.disabled {
        server.entry.insert("disabled".to_owned(), json!(true));
    }
    Ok(())
}

fn put(entry: &mut Map<String, Value>, member: &str, name: &str, value: &str) {
    let pairs = entry.entry(member).or_insert_with(|| json!({}));
    if let Value::Object(pairs) = pairs {
        pairs.insert(name.to_owned(), value.into());
    }
}

/// Asks for what the server needs and nobody has set. What stays open is a reference, and the server off: one
/// variable that is not set would keep every other server from starting.
fn settle_needs(server: &mut PastedServer, environment: &Environment, notes: &mut Vec<String>) {
    let needs = std::mem::take(&mut server.needs);
    let unset = needs.into_iter().filter(|need| environment.get(&need.name).is_none());
    let mut open = Vec::new();
    for need in unset {
        match answer(&need).filter(|value| !value.is_empty()) {
            Some(value) => fill(&mut server.entry, &need.name, &value),
            None => open.push(need.name),
        }
    }
    if open.is_empty() {
        return;
    }
    server.entry.insert("disabled".to_owned(), json!(true));
    let name = server.name.as_deref().unwrap_or_default();
    notes.push(format!(
        "`{name}` needs {}, which is not set: it is written as a reference and switched off; set it, then \
         `trunkline enable {name}` (or add it again with --env NAME=VALUE --force)",
        open.join(", ")
    ));
}

fn answer(need: &NeededValue) -> Option<String> {
    if !console::person_is_there() {
        return None;
    }
    let about =
        if need.about.is_empty() { String::new() } else { format!(" ({})", line(&need.about)) };
    let question = format!("{}{about}, empty to set it later: ", line(&need.name));
    if need.is_secret { ask_secret(&question) } else { ask(&question) }
}

/// Puts the value in place of the reference, everywhere in the entry.
fn fill(entry: &mut Map<String, Value>, name: &str, value: &str) {
    let reference = format!("${{{name}}}");
    for member in entry.values_mut() {
        fill_value(member, &reference, value);
    }
}

fn fill_value(member: &mut Value, reference: &str, value: &str) {
    match member {
        Value::String(text) => *text = text.replace(reference, value),
        Value::Array(items) => items.iter_mut().for_each(|it| fill_value(it, reference, value)),
        Value::Object(members) => {
            members.values_mut().for_each(|it| fill_value(it, reference, value));
        }
        _ => {}
    }
}
