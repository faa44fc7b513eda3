//! Custom tools as they are listed under their own names.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use trunkline_catalog::client::Client;
use trunkline_catalog::config::{CustomTool, SelectedTools};
use trunkline_catalog::{Offer, Scope, custom_tools};

use super::{Registry, WantedServers};
use crate::gate::Grant;

impl Registry {
    /// Names and definitions of those that can be called now, by name, as they are for whoever has
    /// this grant; `None`: all of them.
    pub(crate) fn custom_tools(&self, grant: Option<&dyn Grant>) -> Vec<(String, Bytes)> {
        let WantedServers { servers, custom, .. } = self.wanted.lock().clone();
        if custom.is_empty() {
            return Vec::new();
        }
        let names: Vec<_> = servers.iter().map(|server| server.key.name()).collect();
        let listings: Vec<_> = servers.iter().map(|server| server.listing()).collect();
        let filters: Vec<_> = servers.iter().map(|server| server.filter()).collect();
        let (none, everything) = (BTreeSet::new(), SelectedTools::default());
        let parts = names.iter().zip(&listings).zip(&filters);
        let offers: Vec<_> = parts
            .enumerate()
            .map(|(server, ((key, listing), filter))| Offer {
                server,
                key,
                listing: listing.as_deref(),
                known: &none,
                known_prompts: &none,
                filter,
                selected: &everything,
                scope: Scope::Whole,
            })
            .collect();
        let made = custom_tools(&offers, &granted(custom, grant)).into_iter();
        made.map(|(name, definition)| (name, definition.into())).collect()
    }
}

/// The custom tools with those subtools that may be called: one that has none left is not there.
pub(super) fn granted(custom: Arc<[CustomTool]>, grant: Option<&dyn Grant>) -> Arc<[CustomTool]> {
    let Some(grant) = grant else { return custom };
    let mut custom = custom.to_vec();
    for tool in &mut custom {
        tool.subtools.retain(|subtool| grant.allows(&subtool.server, &subtool.tool));
    }
    custom.into()
}

/// The custom tools that clients of this kind are shown. One that they are not keeps its name and loses its
/// subtools, so that nobody else's name changes.
pub(super) fn selected(
    mut custom: Arc<[CustomTool]>,
    client: Option<Client>,
    preset: Option<&str>,
) -> Arc<[CustomTool]> {
    let is_hidden = |tool: &CustomTool| {
        let selection = tool.selection.as_ref();
        selection.is_some_and(|it| it.seen_by(client, preset).is_nothing())
    };
    if custom.iter().any(is_hidden) {
        let tools = Arc::make_mut(&mut custom).iter_mut();
        tools.filter(|tool| is_hidden(tool)).for_each(|tool| tool.subtools.clear());
    }
    custom
}

/// Reads what servers offer into the index, as far as that has changed. May take a while: for a
/// thread of its own.
pub(crate) fn read_tools(registry: &Registry) {
    registry.finder().refresh(&registry.servers(), registry.custom_tools(None));
}
