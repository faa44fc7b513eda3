//! `ServerDirectory`: every server there is at one moment, from the store and from the config file.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap};

use trunkline_catalog::config::{CallRules, OnChange, SandboxRules, ServerSpec, Transport};
use trunkline_store::{DesiredState, ServerRecord};

use crate::secrets::{self, Connection};

/// The group that custom tools are shown in. No registered server has this id or name; one of the config
/// file may.
pub(crate) const CUSTOM_GROUP_ID: &str = "custom-tools";
pub(crate) const CUSTOM_GROUP_NAME: &str = "custom";

/// Replaced as a whole, never changed. Sorted by name.
#[derive(Debug, Default)]
pub(crate) struct ServerDirectory {
    entries: BTreeMap<String, ServerEntry>,
    /// The name under which the server with this id can be reached.
    names: HashMap<String, String>,
    /// Registered servers whose name the config file has taken since.
    pub(crate) displaced: Vec<ServerEntry>,
}

/// One server: what is wanted of it, and who says so.
#[derive(Debug, Clone)]
pub(crate) struct ServerEntry {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) wanted: bool,
    pub(crate) origin: ServerOrigin,
}

#[derive(Debug, Clone)]
pub(crate) enum ServerOrigin {
    File {
        /// As it may be shown: every role sees it.
        transport: Transport,
        calls: CallRules,
        on_change: Option<OnChange>,
        sandbox: Option<SandboxRules>,
        times: EntryTimes,
    },
    /// With its connection as it may be shown; none if the record cannot be read.
    Api(Box<ServerRecord>, Option<Connection>),
}

/// When an entry of the config file was first seen, and when it was last another one (ms since 1970).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EntryTimes {
    pub(crate) first_seen: i64,
    pub(crate) changed: i64,
}

impl ServerEntry {
    pub(crate) fn of(record: ServerRecord) -> Self {
        let (id, name) = (record.id.clone(), record.name.clone());
        let (wanted, shown) =
            (record.wanted == DesiredState::Connected, secrets::shown(&record).ok());
        Self { id, name, wanted, origin: ServerOrigin::Api(Box::new(record), shown) }
    }

    pub(crate) fn is_from_file(&self) -> bool {
        matches!(self.origin, ServerOrigin::File { .. })
    }

    pub(crate) fn times(&self) -> EntryTimes {
        match &self.origin {
            ServerOrigin::File { times, .. } => *times,
            ServerOrigin::Api(record, _) => {
                EntryTimes { first_seen: record.created_at, changed: record.updated_at }
            }
        }
    }

    pub(crate) fn record(&self) -> Option<&ServerRecord> {
        match &self.origin {
            ServerOrigin::File { .. } => None,
            ServerOrigin::Api(record, _) => Some(record),
        }
    }
}

/// How an entry of the config file is reached, without secrets: arguments and addresses may have values of variables.
/// (Values of `env` and headers are never shown.)
fn shown(spec: &ServerSpec) -> Transport {
    let mut transport = spec.transport.clone();
    match &mut transport {
        Transport::Stdio { args, .. } => {
            args.iter_mut().for_each(|arg| *arg = masked(&spec.secrets.redact(arg)));
        }
        Transport::Remote { url, .. } => *url = masked(&spec.secrets.redact(url)),
    }
    transport
}

/// `[redacted NAME]` as `***`, which is how the API shows all that is secret, and which an address may hold.
fn masked(redacted: &str) -> String {
    let (mut out, mut rest) = (String::new(), redacted);
    while let Some((before, after)) = rest.split_once("[redacted ") {
        out.push_str(before);
        out.push_str("***");
        rest = after.split_once(']').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out
}

impl ServerDirectory {
    pub(crate) fn new(
        file: &[ServerSpec],
        is_disconnected: impl Fn(&str) -> bool,
        times: impl Fn(&str) -> EntryTimes,
        records: impl IntoIterator<Item = ServerRecord>,
    ) -> Self {
        let mut directory = Self::default();
        for spec in file.iter().filter(|spec| !spec.disabled) {
            let entry = ServerEntry {
                id: spec.id.clone(),
                name: spec.key.clone(),
                wanted: !is_disconnected(&spec.key),
                origin: ServerOrigin::File {
                    transport: shown(spec),
                    calls: spec.calls,
                    on_change: spec.texts.on_change,
                    sandbox: spec.sandbox.clone(),
                    times: times(&spec.id),
                },
            };
            directory.names.insert(spec.id.clone(), spec.key.clone());
            directory.entries.insert(spec.key.clone(), entry);
        }
        for record in records {
            let entry = ServerEntry::of(record);
            match directory.entries.entry(entry.name.clone()) {
                Slot::Occupied(_) => directory.displaced.push(entry),
                Slot::Vacant(place) => {
                    directory.names.insert(entry.id.clone(), entry.name.clone());
                    place.insert(entry);
                }
            }
        }
        directory
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &ServerEntry> {
        self.entries.values().chain(&self.displaced)
    }

    /// What the store said.
    pub(crate) fn records(&self) -> Vec<ServerRecord> {
        self.all().filter_map(ServerEntry::record).cloned().collect()
    }

    /// Those that can be reached under their name.
    pub(crate) fn reachable(&self) -> impl Iterator<Item = &ServerEntry> {
        self.entries.values()
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&ServerEntry> {
        self.entries.get(name)
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&ServerEntry> {
        let placed = self.names.get(id).and_then(|name| self.entries.get(name));
        // Those that are displaced are few.
        placed.or_else(|| self.displaced.iter().find(|entry| entry.id == id))
    }

    /// If it can be reached under its name.
    pub(crate) fn reachable_by_id(&self, id: &str) -> Option<&ServerEntry> {
        let entry = self.by_id(id)?;
        self.by_name(&entry.name).filter(|placed| placed.id == id)
    }

    /// By its id, or, because people remember those, by its name.
    pub(crate) fn find(&self, id: &str) -> Option<&ServerEntry> {
        self.by_id(id).or_else(|| self.by_name(id))
    }

    /// Is this the name or the id of a server?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name(name).is_some() || self.by_id(name).is_some()
    }

    /// The server a namespaced name begins with, and the rest: the longest that fits.
    pub(crate) fn split_name<'a>(&self, name: &'a str) -> Option<(&ServerEntry, &'a str)> {
        let dots = name.match_indices('.').map(|(at, _)| at);
        let mut fitting = dots.filter_map(|at| {
            let (server, tool) = name.split_at_checked(at)?;
            let entry = self.by_name(server).or_else(|| self.by_id(server))?;
            Some((entry, tool.strip_prefix('.')?))
        });
        // Both names and tools may hold dots: the longest name of a server wins.
        fitting.next_back()
    }

    /// The name that a tool is called by over REST: `server.tool`; where that means another server's tool,
    /// the server's id instead of its name.
    pub(crate) fn qualified_name(&self, id: &str, server: &str, tool: &str) -> String {
        if id == CUSTOM_GROUP_ID {
            return tool.to_owned();
        }
        let name = format!("{server}.{tool}");
        match self.split_name(&name) {
            Some((found, rest)) if found.id == id && rest == tool => name,
            _ => format!("{id}.{tool}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use trunkline_store::Transport as Kind;

    use super::*;

    fn record(id: &str, name: &str) -> ServerRecord {
        ServerRecord {
            id: id.to_owned(),
            name: name.to_owned(),
            description: String::new(),
            transport: Kind::Http,
            config: r#"{"url":"https://h/","kind":"http","headers":[]}"#.to_owned(),
            auto_connect: true,
            wanted: DesiredState::Connected,
            health_check_url: None,
            created_at: 0,
            updated_at: 0,
            revision: 1,
        }
    }

    #[test]
    fn the_longest_name_that_fits_is_the_server() {
        let records = [record("1", "a"), record("2", "a.b"), record("3", "c")];
        let directory = ServerDirectory::new(&[], |_| false, |_| EntryTimes::default(), records);
        for (name, expected) in [
            ("a.x", Some(("1", "x"))),
            ("a.b.x", Some(("2", "x"))),
            ("a.b", Some(("1", "b"))),
            ("a.b.x.y", Some(("2", "x.y"))),
            ("c.", Some(("3", ""))),
            ("d.x", None),
            ("a", None),
            (".x", None),
        ] {
            let got = directory.split_name(name).map(|(entry, tool)| (entry.id.as_str(), tool));
            assert_eq!(got, expected, "{name}");
        }
    }

    #[test]
    fn a_server_is_found_by_its_id_and_by_its_name() {
        let directory = ServerDirectory::new(
            &[],
            |_| false,
            |_| EntryTimes::default(),
            [record("1", "a"), record("a", "b")],
        );
        assert_eq!(directory.find("1").map(|entry| entry.name.as_str()), Some("a"));
        assert_eq!(
            directory.find("a").map(|entry| entry.name.as_str()),
            Some("b"),
            "ids come first"
        );
        assert_eq!(directory.find("b").map(|entry| entry.name.as_str()), Some("b"));
        assert!(directory.find("c").is_none());
        assert_eq!(directory.all().count(), 2);
    }
}
