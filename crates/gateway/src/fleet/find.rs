//! Which tool is meant, for whoever asks from inside.

use std::collections::HashMap;

use super::{CustomInfo, Fleet};
use crate::finder::{Found, Sought};

impl Fleet {
    /// What is said about servers, by id: it counts when tools are looked for.
    pub fn describe(&self, described: HashMap<String, String>) {
        self.registry.finder().describe(described);
    }

    /// Reads what servers offer into the index, as far as that has changed. May take a while: for a
    /// thread of its own.
    pub fn read_tools(&self) {
        let custom = self.custom_tools(None).into_iter().map(CustomInfo::into_parts).collect();
        self.registry.finder().refresh(&self.registry.servers(), custom);
    }

    /// The tools a question means, of those that servers list now. May take a while, too.
    pub fn search_tools(&self, sought: &Sought<'_>) -> Found {
        self.read_tools();
        self.registry.finder().search(sought)
    }
}
