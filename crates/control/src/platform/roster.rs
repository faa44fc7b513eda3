//! `Roster`: every server there is at one moment, from the store and from the config file.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;

use trunkline_catalog::config::{ServerSpec, Transport};
use trunkline_store::{DesiredState, ServerRecord};

use crate::api::view::Source;
use crate::secrets::{self, Connection};

/// Sorted by name.
#[derive(Debug, Default)]
pub(super) struct Roster {
    entries: BTreeMap<String, Entry>,
    /// Registered servers whose name the config file has taken since.
    pub(super) displaced: Vec<Entry>,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) wanted: bool,
    pub(super) origin: Origin,
}

#[derive(Debug, Clone)]
pub(super) enum Origin {
    File(Transport, Times),
    /// With its connection as it may be shown; none if the record cannot be read.
    Api(Box<ServerRecord>, Option<Connection>),
}

/// When an entry of the config file was first seen, and when it was last another one (ms since 1970).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) first_seen: i64,
    pub(super) changed: i64,
}

impl Entry {
    pub(super) fn of(record: ServerRecord) -> Self {
        let (id, name) = (record.id.clone(), record.name.clone());
        let (wanted, shown) =
            (record.wanted == DesiredState::Connected, secrets::shown(&record).ok());
        Self { id, name, wanted, origin: Origin::Api(Box::new(record), shown) }
    }

    pub(super) fn source(&self) -> Source {
        match self.origin {
            Origin::File(..) => Source::File,
            Origin::Api(..) => Source::Api,
        }
    }

    pub(super) fn times(&self) -> Times {
        match &self.origin {
            Origin::File(_, times) => *times,
            Origin::Api(record, _) => {
                Times { first_seen: record.created_at, changed: record.updated_at }
            }
        }
    }

    pub(super) fn record(&self) -> Option<&ServerRecord> {
        match &self.origin {
            Origin::File(..) => None,
            Origin::Api(record, _) => Some(record),
        }
    }
}

impl Roster {
    pub(super) fn new(
        file: &[ServerSpec],
        is_disconnected: impl Fn(&str) -> bool,
        times: impl Fn(&str) -> Times,
        records: impl IntoIterator<Item = ServerRecord>,
    ) -> Self {
        let mut roster = Self::default();
        for spec in file.iter().filter(|spec| !spec.disabled) {
            let entry = Entry {
                id: spec.id.clone(),
                name: spec.key.clone(),
                wanted: !is_disconnected(&spec.key),
                origin: Origin::File(spec.transport.clone(), times(&spec.id)),
            };
            roster.entries.insert(spec.key.clone(), entry);
        }
        for record in records {
            let entry = Entry::of(record);
            match roster.entries.entry(entry.name.clone()) {
                Place::Occupied(_) => roster.displaced.push(entry),
                Place::Vacant(place) => {
                    place.insert(entry);
                }
            }
        }
        roster
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().chain(&self.displaced)
    }

    /// What the store had to say.
    pub(super) fn records(&self) -> Vec<ServerRecord> {
        self.all().filter_map(Entry::record).cloned().collect()
    }

    /// Those that can be reached under their name.
    pub(super) fn placed(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    pub(super) fn named(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    pub(super) fn of_id(&self, id: &str) -> Option<&Entry> {
        self.all().find(|entry| entry.id == id)
    }

    /// If it can be reached under its name.
    pub(super) fn placed_of_id(&self, id: &str) -> Option<&Entry> {
        let entry = self.of_id(id)?;
        self.named(&entry.name).filter(|placed| placed.id == id)
    }

    /// By its id, or, because people remember those, by its name.
    pub(super) fn find(&self, id: &str) -> Option<&Entry> {
        self.of_id(id).or_else(|| self.named(id))
    }

    /// Does anybody go by this, be it a name or an id?
    pub(super) fn has(&self, name: &str) -> bool {
        self.named(name).is_some() || self.of_id(name).is_some()
    }

    /// The server a namespaced name begins with, and the rest: the longest that fits.
    pub(super) fn split<'a>(&self, name: &'a str) -> Option<(&Entry, &'a str)> {
        let dots = name.match_indices('.').map(|(at, _)| at);
        let mut fitting = dots.filter_map(|at| {
            let (server, tool) = name.split_at_checked(at)?;
            let entry = self.named(server).or_else(|| self.of_id(server))?;
            Some((entry, tool.strip_prefix('.')?))
        });
        fitting.next_back()
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
        let roster = Roster::new(&[], |_| false, |_| Times::default(), records);
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
            let got = roster.split(name).map(|(entry, tool)| (entry.id.as_str(), tool));
            assert_eq!(got, expected, "{name}");
        }
    }

    #[test]
    fn a_server_is_found_by_its_id_and_by_its_name() {
        let roster =
            Roster::new(&[], |_| false, |_| Times::default(), [record("1", "a"), record("a", "b")]);
        assert_eq!(roster.find("1").map(|entry| entry.name.as_str()), Some("a"));
        assert_eq!(roster.find("a").map(|entry| entry.name.as_str()), Some("b"), "ids come first");
        assert_eq!(roster.find("b").map(|entry| entry.name.as_str()), Some("b"));
        assert!(roster.find("c").is_none());
        assert_eq!(roster.all().count(), 2);
    }
}
