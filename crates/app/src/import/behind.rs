//! Finds the servers that a client has although they are behind Trunkline, and those a config has twice.
//! Pure.

use std::path::Path;

use serde_json::{Map, Value};

use super::merge::is_same;
use super::owner::FileOwner;
use super::read::{ImportedServer, Section, read_file};
use crate::install::{COMMENTED, Document};

/// One server under two names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Double {
    /// Its name in the client's file, or the later one in the config.
    pub(crate) name: String,
    /// Its name in the config, the earlier one.
    pub(crate) known_as: String,
}

/// The servers of a client's file that the config has, too.
pub(crate) fn behind(
    owner: FileOwner,
    file: &Path,
    text: &str,
    section: &Section,
    config: &[ImportedServer],
) -> Vec<Double> {
    let there = read_file(owner, file, text, section).servers;
    let double = |server: &ImportedServer| {
        let known_as = known_as(server, config)?.to_owned();
        Some(Double { name: server.name.clone(), known_as })
    };
    there.iter().filter_map(double).collect()
}

/// The name under which a config has this server.
pub(crate) fn known_as<'c>(
    server: &ImportedServer,
    config: &'c [ImportedServer],
) -> Option<&'c str> {
    config.iter().find(|known| is_same(known, server)).map(|known| known.name.as_str())
}

/// The servers that a config has under two names.
pub(crate) fn twice(config: &[ImportedServer]) -> Vec<Double> {
    let double = |(at, server): (usize, &ImportedServer)| {
        let known = config.iter().take(at).find(|known| is_same(known, server))?;
        Some(Double { name: server.name.clone(), known_as: known.name.clone() })
    };
    config.iter().enumerate().filter_map(double).collect()
}

/// The key under which a config of Trunkline has its servers, and those it has.
pub(crate) fn config_servers(text: &str) -> (&'static str, Vec<ImportedServer>) {
    let document = Document::parse(text, COMMENTED).ok();
    let servers = |key: &str| document.as_ref().and_then(|document| document.get(&[key]));
    let key = if servers("servers").is_some() { "servers" } else { "mcpServers" };
    let members: Map<String, Value> = match servers(key) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let server = |(name, entry): (String, Value)| match entry {
        Value::Object(entry) => Some(ImportedServer { name, entry }),
        _ => None,
    };
    (key, members.into_iter().filter_map(server).collect())
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::client::Client;

    use super::*;

    #[test]
    fn a_server_is_known_by_what_it_starts_not_by_its_name() {
        let config = r#"{"mcpServers": {
            "git": {"command": "npx", "args": ["-y", "git"], "env": {"T": "${T:-}"}},
            "git-2": {"command": "npx", "args": ["git"], "env": {"T": "${T}"}},
            "web": {"url": "https://h/mcp"}}}"#;
        let (key, config) = config_servers(config);
        assert_eq!((key, config.len()), ("mcpServers", 3));
        let text = r#"{"mcpServers": {
            "mine": {"command": "npx", "args": ["git"], "env": {"T": "${env:T}"}},
            "web": {"url": "https://other/mcp"},
            "trunkline": {"command": "/x/trunkline"}}}"#;
        let cursor = FileOwner::Client(Client::Cursor);
        let section = Section::main(cursor, None);
        let found = behind(cursor, Path::new("mcp.json"), text, &section, &config);
        let double = |name: &str, known_as: &str| Double {
            name: name.to_owned(),
            known_as: known_as.to_owned(),
        };
        assert_eq!(found, [double("mine", "git")]);
        assert_eq!(twice(&config), [double("git-2", "git")]);
    }
}
