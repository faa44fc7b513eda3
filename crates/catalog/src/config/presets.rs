//! `presets` and `clients` of the file: which servers and tools each of them is shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::checker::{ConfigChecker, find, wrong_type};
use super::custom::{Placed, Servers};
use super::escape::shown;
use super::harmless::shown_key;
use super::keys::{Keys, NONE};
use super::near::nearest;
use super::path::Path;
use super::problem::Problem;
use super::selection::{ClientSelection, Selection, ToolPatterns};
use super::shape::{ConfigKey, Takes};
use super::spec::ServerSpec;
use crate::client::Client;
use crate::jsonc::{JsonMember, Node, Value};

pub(crate) const CLIENT: Keys<'_> = Keys {
    known: &[
        ConfigKey::new("preset", Takes::Name, "The preset whose tools this client is shown."),
        ConfigKey::new(
            "hiddenTools",
            Takes::ToolNames,
            "Not offered to this client: servers, or tools as SERVER:TOOL; * is anything.",
        ),
    ],
    spellings: &[
        ("preset", "preset"),
        ("presets", "preset"),
        ("hiddenTools", "hiddenTools"),
        ("hideTools", "hiddenTools"),
        ("disabledTools", "hiddenTools"),
    ],
    ..NONE
};

const PRESETS_EXAMPLE: &str = "write {\"NAME\": [\"SERVER\", \"SERVER:TOOL\", …]}";

const ENTRIES_EXAMPLE: &str = "write [\"SERVER\", \"SERVER:TOOL\", …]; * in TOOL is anything";

const CLIENTS_EXAMPLE: &str =
    "write {\"CLIENT\": {\"preset\": \"NAME\", \"hiddenTools\": [\"SERVER:TOOL\", …]}}";

/// Between a server and its tool: as stdio clients, `serve` and clients that take neither see it.
const SEPARATORS: [&str; 3] = [":", ".", "__"];

/// What an entry of a preset may name.
pub(crate) struct Nameable<'n> {
    /// The keys of all servers, also of those that have problems of their own.
    pub(crate) servers: Vec<&'n str>,
    pub(crate) custom: Vec<&'n str>,
}

/// What the entries of one list name, by server; custom tools count as whole.
type NamedTools = BTreeMap<String, ToolPatterns>;

impl ConfigChecker<'_> {
    /// Gives every server and custom tool its selection. Returns the names of the presets.
    pub(crate) fn selections(
        &mut self,
        members: &[JsonMember],
        nameable: &Nameable<'_>,
        servers: &mut [ServerSpec],
        custom: &mut [Placed],
    ) -> Vec<String> {
        let (presets, clients) = (find(members, "presets"), find(members, "clients"));
        if presets.is_none() && clients.is_none() {
            return Vec::new();
        }
        let mut checker = SelectionChecker { check: self, nameable };
        let presets = presets.map(|member| checker.presets(member)).unwrap_or_default();
        let names: Vec<String> = presets.iter().map(|(name, _)| name.clone()).collect();
        let clients = clients.map(|member| checker.clients(member, &names));
        let clients = clients.unwrap_or_default();
        let selection = |key: &str| {
            let of = |named: &NamedTools| named.get(key).cloned();
            let taken = presets.iter().filter_map(|(name, named)| Some((name.clone(), of(named)?)));
            let rules = clients.iter().map(|(client, preset, hidden)| {
                let hidden = of(hidden).unwrap_or_default();
                (*client, ClientSelection { preset: preset.clone(), hidden })
            });
            Some(Arc::new(Selection { presets: taken.collect(), clients: rules.collect() }))
        };
        for server in servers {
            server.filter.selection = selection(&server.key);
        }
        for placed in custom {
            placed.tool.selection = selection(&placed.tool.name);
        }
        names
    }
}

/// Checks the two keys; what is found goes to the checker of the file.
struct SelectionChecker<'s, 'c, 'n> {
    check: &'s mut ConfigChecker<'c>,
    nameable: &'s Nameable<'n>,
}

impl SelectionChecker<'_, '_, '_> {
    fn presets(&mut self, member: &JsonMember) -> Vec<(String, NamedTools)> {
        let at = Path::root().key(&member.key.value);
        let Value::Object(presets) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, "`presets`", "an object of lists");
            self.check.report(problem.help(PRESETS_EXAMPLE));
            return Vec::new();
        };
        self.check.duplicates(presets, &at);
        let mut known = Vec::new();
        for preset in presets {
            let (name, at) = (&preset.key.value, at.key(&preset.key.value));
            if name.is_empty() || name.contains(char::is_control) {
                let message = "the name of a preset is empty or has control characters";
                self.check.report(Problem::schema(&at, preset.key.span, message));
            }
            if matches!(&preset.value.value, Value::Array(items) if items.is_empty()) {
                let message = format!("the preset `{}` is empty: it shows nothing", shown(name));
                self.check.report(Problem::warning(&at, preset.value.span, message));
            }
            known.push((name.clone(), self.entries(preset, &at)));
        }
        known
    }

    fn clients(
        &mut self,
        member: &JsonMember,
        presets: &[String],
    ) -> Vec<(Client, Option<String>, NamedTools)> {
        let at = Path::root().key(&member.key.value);
        let Value::Object(clients) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, "`clients`", "an object of clients");
            self.check.report(problem.help(CLIENTS_EXAMPLE));
            return Vec::new();
        };
        self.check.duplicates(clients, &at);
        let mut known = Vec::new();
        for entry in clients {
            let at = at.key(&entry.key.value);
            let client = entry.key.value.parse::<Client>();
            if client.is_err() {
                let name = shown_key(&entry.key.value);
                let message = format!("`{name}` is not a client that Trunkline knows");
                let all = Client::ALL.map(|client| (client.id(), client.id()));
                let help = match nearest(&entry.key.value, &all) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known are {}", Client::ALL.map(Client::id).join(", ")),
                };
                self.check.report(Problem::schema(&at, entry.key.span, message).help(help));
            }
            let Value::Object(rules) = &entry.value.value else {
                let problem = wrong_type(&entry.value, &at, "a client", "an object");
                self.check.report(problem.help(CLIENTS_EXAMPLE));
                continue;
            };
            self.check.duplicates(rules, &at);
            self.check.other_keys(rules, &at, &CLIENT, None);
            let preset = find(rules, "preset");
            let preset = preset.and_then(|member| self.known_preset(member, &at, presets));
            let hidden = find(rules, "hiddenTools");
            let hidden = hidden
                .map(|member| self.entries(member, &at.key("hiddenTools")))
                .unwrap_or_default();
            known.extend(client.ok().map(|client| (client, preset, hidden)));
        }
        known
    }

    fn known_preset(
        &mut self,
        member: &JsonMember,
        at: &Path,
        presets: &[String],
    ) -> Option<String> {
        let name = self.check.string(member, at)?;
        if !presets.contains(&name) {
            let message = format!("there is no preset `{}`", shown(&name));
            let all: Vec<_> = presets.iter().map(|name| (name.as_str(), name.as_str())).collect();
            let help = match (nearest(&name, &all), presets.is_empty()) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, true) => format!("add `presets` beside `clients`: {PRESETS_EXAMPLE}"),
                (None, false) => format!("the presets of this file are {}", presets.join(", ")),
            };
            let problem = Problem::schema(&at.key("preset"), member.value.span, message);
            self.check.report(problem.help(help));
        }
        Some(name)
    }

    /// A list of servers and tools.
    fn entries(&mut self, member: &JsonMember, at: &Path) -> NamedTools {
        let mut named = NamedTools::new();
        let Value::Array(items) = &member.value.value else {
            let what = format!("`{}`", shown_key(&member.key.value));
            let problem = wrong_type(&member.value, at, &what, "an array of servers and tools");
            self.check.report(problem.help(ENTRIES_EXAMPLE));
            return named;
        };
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            let Value::String(text) = &item.value else {
                let problem = wrong_type(item, &at, "an entry", "a string");
                self.check.report(problem.help(ENTRIES_EXAMPLE));
                continue;
            };
            match self.nameable.resolve(&text.value) {
                Some((name, None)) => named.entry(name.to_owned()).or_default().whole = true,
                Some((name, Some(tool))) => {
                    named.entry(name.to_owned()).or_default().tools.push(tool.to_owned());
                }
                None => self.not_nameable(&text.value, item, &at),
            }
        }
        named
    }

    fn not_nameable(&mut self, entry: &str, item: &Node, at: &Path) {
        let message = "there is no server or custom tool of this name in the file";
        let (server, tool) = split_first(entry);
        let names = self.nameable.servers.iter().chain(&self.nameable.custom);
        let all: Vec<_> = names.map(|name| (*name, *name)).collect();
        let help = match nearest(server, &all) {
            Some(near) => format!("did you mean `{}{}`?", shown_key(near), shown(tool)),
            None => Servers { keys: self.nameable.servers.clone(), specs: &[] }.meant(server),
        };
        self.check.report(Problem::schema(at, item.span, message).help(help));
    }
}

impl<'n> Nameable<'n> {
    /// The server or custom tool, and the pattern of tools where it does not mean the whole.
    pub(crate) fn resolve<'e>(&self, entry: &'e str) -> Option<(&'n str, Option<&'e str>)> {
        let mut whole = self.servers.iter().chain(&self.custom);
        if let Some(name) = whole.find(|name| **name == entry) {
            return Some((name, None));
        }
        // The longest key: `a:b` may be a server of its own beside `a`.
        let parts = self.servers.iter().filter_map(|key| {
            let rest = entry.strip_prefix(*key)?;
            let tool = SEPARATORS.iter().find_map(|separator| rest.strip_prefix(separator))?;
            (!tool.is_empty()).then_some((*key, Some(tool)))
        });
        parts.max_by_key(|(key, _)| key.len())
    }
}

/// What stands before the first separator, and the rest with it.
fn split_first(entry: &str) -> (&str, &str) {
    let first = SEPARATORS.iter().filter_map(|separator| entry.find(separator)).min();
    entry.split_at_checked(first.unwrap_or(entry.len())).unwrap_or((entry, ""))
}
