//! Custom tools, for whoever calls from inside.

use bytes::Bytes;

use super::{Fleet, ToolInfo};
use crate::gate::Grant;

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
}

impl Fleet {
    /// Those that can be called now, as they are listed to whoever has this grant, by name.
    pub fn custom_tools(&self, grant: Option<&dyn Grant>) -> Vec<CustomInfo> {
        let made = |(name, definition)| CustomInfo { name, definition };
        self.registry.custom_tools(grant).into_iter().map(made).collect()
    }
}
