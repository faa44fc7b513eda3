//! Custom tools, for whoever calls from inside.

use std::sync::Arc;

use bytes::Bytes;
use trunkline_catalog::name::Naming;
use trunkline_catalog::{ListKind, ToolRoute};
use trunkline_wire::{decode, elements, member};

use super::{Fleet, ToolInfo};
use crate::gate::Grant;
use crate::registry::View;

/// A custom tool as it is listed.
#[derive(Clone, Debug)]
pub struct CustomInfo {
    name: String,
    definition: Bytes,
}

impl CustomInfo {
    pub fn tool(&self) -> ToolInfo<'_> {
        ToolInfo { name: &self.name, definition: &self.definition }
    }

    pub(super) fn into_parts(self) -> (String, Bytes) {
        (self.name, self.definition)
    }
}

impl Fleet {
    /// Those that can be called now, as they are listed to whoever has this grant, by name.
    pub fn custom_tools(&self, grant: Option<Arc<dyn Grant>>) -> Vec<CustomInfo> {
        if !self.registry.has_custom() {
            return Vec::new();
        }
        let whole = View::new(Arc::clone(&self.registry), Naming::default());
        let view = match grant {
            Some(grant) => whole.narrowed(grant),
            None => whole,
        };
        let catalog = &view.snapshot().catalog;
        let page = catalog.list(ListKind::Tools);
        let list = member(page, "tools").unwrap_or_default();
        let entries = elements(list).map(|at| at.of(list)).filter_map(|definition| {
            let name = member(definition, "name").and_then(decode)?;
            let is_custom = matches!(catalog.route(&name), Some(ToolRoute::Custom(_)));
            is_custom.then(|| CustomInfo {
                name: name.into_owned(),
                definition: Bytes::copy_from_slice(definition),
            })
        });
        entries.collect()
    }
}
