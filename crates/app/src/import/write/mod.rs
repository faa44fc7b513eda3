//! Writes servers as Trunkline's config, or in the words of a client.

mod entry;

use serde_json::{Map, Value, json};
use trunkline_catalog::client::{ConfigFile, FileFormat, Variables};

use super::owner::FileOwner;
use super::read::{ImportProblem, ImportedServer};
use super::variables::inputs;
use crate::install::{COMMENTED, Document};

/// A client's file as it would be with nothing but these servers, and what it cannot say.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) text: String,
    pub(crate) problems: Vec<ImportProblem>,
}

/// Trunkline's config with these servers, added to those of `text`.
pub(crate) fn config_text<'s>(
    text: &str,
    key: &str,
    servers: impl IntoIterator<Item = &'s ImportedServer>,
) -> Option<String> {
    let mut document = Document::parse(text, COMMENTED).ok()?;
    if document.get(&[key]).is_none() {
        document.set(&[key], &json!({})).ok()?;
    }
    for ImportedServer { name, entry } in servers {
        document.set(&[key, name], &Value::Object(entry.clone())).ok()?;
    }
    Some(document.text())
}

/// One server's entry in the words of a client; or why the client cannot have it.
pub(crate) fn client_entry(
    owner: FileOwner,
    name: &str,
    server: &Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    entry::write(owner, name, server).map(|(entry, _)| entry)
}

/// In the words of `owner`.
pub(crate) fn export(owner: FileOwner, servers: &[ImportedServer]) -> Exported {
    let mut troubles = Vec::new();
    let mut written: Map<String, Value> = Map::new();
    for server in servers {
        let about = |words: String, left_out: bool| ImportProblem {
            server: Some(server.name.clone()),
            message: words,
            left_out,
        };
        match entry::write(owner, &server.name, &server.entry) {
            Ok((entry, notes)) => {
                written.insert(server.name.clone(), entry.into());
                troubles.extend(notes.into_iter().map(|note| about(note, false)));
            }
            Err(why) => troubles.push(about(why, true)),
        }
    }
    Exported { text: text(owner, &written), problems: troubles }
}

fn text(owner: FileOwner, servers: &Map<String, Value>) -> String {
    let format = owner.format();
    let Ok(mut document) = Document::parse("", format) else {
        return String::new();
    };
    let asked = asked_for(owner, servers);
    if !asked.is_empty() {
        drop(document.set(&["inputs"], &asked.into()));
    }
    if servers.is_empty() && format != FileFormat::Toml {
        drop(document.set(&[owner.key()], &json!({})));
    }
    // The first goes first, wherever a new one is put.
    let servers = servers.iter();
    let order: Vec<_> =
        if format == FileFormat::Yaml { servers.rev().collect() } else { servers.collect() };
    for (name, entry) in order {
        drop(document.set(&[owner.key(), name], entry));
    }
    document.text()
}

/// The inputs that the client has to ask a person for.
fn asked_for(owner: FileOwner, servers: &Map<String, Value>) -> Vec<Value> {
    let asks = |spec: &ConfigFile| matches!(spec.variables, Variables::Env { inputs: true, .. });
    if !owner.spec().is_some_and(asks) {
        return Vec::new();
    }
    let all = Value::Object(servers.clone()).to_string();
    let mut ids: Vec<&str> = inputs(&all);
    ids.sort_unstable();
    ids.dedup();
    let input =
        |id: &str| json!({"id": id, "type": "promptString", "description": id, "password": true});
    ids.into_iter().map(input).collect()
}
