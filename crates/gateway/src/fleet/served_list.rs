//! `ServedList`: the list of tools that one kind of client is served: its names and its length.

use std::sync::Arc;

use trunkline_catalog::{ListKind, ToolRoute};
use trunkline_wire::{decode, elements, member};

use crate::registry::Snapshot;

/// The list of tools as one kind of client is served it at one moment.
#[derive(Clone, Debug)]
pub struct ServedList(pub(super) Arc<Snapshot>);

impl ServedList {
    pub fn tools(&self) -> usize {
        self.0.catalog.count(ListKind::Tools)
    }

    /// Of the result of `tools/list`.
    pub fn bytes(&self) -> usize {
        self.0.catalog.list(ListKind::Tools).len()
    }

    /// The tools of a server that can be called, as the server calls them and as clients do, whether the
    /// list shows them or they have to be searched for.
    pub fn names_of(&self, id: &str) -> Vec<(String, String)> {
        let catalog = &self.0.catalog;
        let Some(place) = self.0.place_of_id(id) else { return Vec::new() };
        if let Some(behind) = catalog.behind() {
            let names = behind.names_of(Some(place));
            return names.map(|(own, name)| (own.to_owned(), name.to_owned())).collect();
        }
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
