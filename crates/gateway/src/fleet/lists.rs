//! What the list of tools is for each kind of client: under which names, and how long it is.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use trunkline_catalog::name::{Client, Naming};
use trunkline_catalog::{ListKind, ToolRoute};
use trunkline_wire::{decode, elements, member};

use super::Fleet;
use crate::gate::Grant;
use crate::registry::{Snapshot, View};

/// The list of tools as one kind of client gets it at one moment.
#[derive(Clone, Debug)]
pub struct Listed(Arc<Snapshot>);

/// Views are made when they are first asked for, and then as other views are: once for each change.
#[derive(Debug)]
pub(super) struct Lists {
    separator: String,
    views: Mutex<HashMap<Option<&'static str>, Arc<View>>>,
}

impl Lists {
    pub(super) fn new(naming: &Naming) -> Self {
        Self { separator: naming.separator().to_owned(), views: Mutex::default() }
    }

    fn naming(&self, client: Option<Client>) -> Naming {
        match client {
            Some(client) => Naming::for_client(&*self.separator, client),
            None => Naming::canonical(&*self.separator),
        }
    }
}

/// Sees all. What is looked at here is looked at elsewhere, too, where its warnings belong.
#[derive(Debug)]
struct Onlooker;

impl Grant for Onlooker {
    fn allows(&self, _server: &str, _tool: &str) -> bool {
        true
    }

    fn all_of(&self, _server: &str) -> bool {
        true
    }

    fn id(&self) -> u64 {
        0
    }
}

impl Fleet {
    /// For this kind of client, or for those that are of none; and for who may see only so much.
    pub fn listed(&self, client: Option<Client>, grant: Option<Arc<dyn Grant>>) -> Listed {
        let new = |grant| {
            let naming = self.lists.naming(client);
            Arc::new(View::seen_by(Arc::clone(&self.registry), naming, grant))
        };
        let view = match grant {
            Some(grant) => new(grant),
            None => {
                let mut views = self.lists.views.lock();
                let key = client.map(Client::id);
                Arc::clone(views.entry(key).or_insert_with(|| new(Arc::new(Onlooker))))
            }
        };
        Listed(view.snapshot())
    }
}

impl Listed {
    pub fn tools(&self) -> usize {
        self.0.catalog.count(ListKind::Tools)
    }

    /// Of the result of `tools/list`.
    pub fn bytes(&self) -> usize {
        self.0.catalog.list(ListKind::Tools).len()
    }

    /// The tools of a server, as it calls them and as they are listed.
    pub fn names_of(&self, id: &str) -> Vec<(String, String)> {
        let catalog = &self.0.catalog;
        let Some(place) = self.0.place_of_id(id) else { return Vec::new() };
        let list = member(catalog.list(ListKind::Tools), "tools").unwrap_or_default();
        let names = elements(list).filter_map(|at| member(at.of(list), "name").and_then(decode));
        let own = names.filter_map(|name| match catalog.route(&name)? {
            ToolRoute::Server(route) if route.server == place => {
                Some((decode(&route.name_token)?.into_owned(), name.into_owned()))
            }
            _ => None,
        });
        own.collect()
    }
}
