//! Custom tools as they are listed.

use std::sync::Arc;

use bytes::Bytes;
use trunkline_catalog::name::Naming;
use trunkline_catalog::{ListKind, ToolRoute};
use trunkline_wire::{decode, elements, member};

use super::{Registry, View};

impl View {
    /// Names and definitions of those that can be called now, by name.
    pub(crate) fn custom_tools(&self) -> Vec<(String, Bytes)> {
        if !self.registry.has_custom() {
            return Vec::new();
        }
        let catalog = &self.snapshot().catalog;
        let page = catalog.list(ListKind::Tools);
        let list = member(page, "tools").unwrap_or_default();
        let entries = elements(list).map(|at| at.of(list)).filter_map(|definition| {
            let name = member(definition, "name").and_then(decode)?;
            let is_custom = matches!(catalog.route(&name), Some(ToolRoute::Custom(_)));
            is_custom.then(|| (name.into_owned(), Bytes::copy_from_slice(definition)))
        });
        entries.collect()
    }
}

/// Reads what servers offer into the index, as far as that has changed. May take a while: for a
/// thread of its own.
pub(crate) fn read_tools(registry: &Arc<Registry>) {
    let custom = View::new(Arc::clone(registry), Naming::default()).custom_tools();
    registry.finder().refresh(&registry.servers(), custom);
}
