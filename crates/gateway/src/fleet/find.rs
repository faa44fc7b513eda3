//! Which tool is meant, for whoever asks from inside.

use std::collections::HashMap;
use std::sync::Arc;

use super::Fleet;
use crate::embedder::Embedder;
use crate::finder::{SearchQuery, SearchResult};
use crate::registry::read_tools;

impl Fleet {
    /// What is said about servers, by id: it counts when tools are looked for.
    pub fn describe(&self, described: HashMap<String, String>) {
        self.registry.finder().describe(described);
    }

    /// Who says from now on where tools and questions point, before the model in the program does.
    pub fn set_embedder(&self, embedder: Arc<dyn Embedder>) {
        self.registry.finder().set_embedder(embedder);
    }

    /// Reads what servers offer into the index, as far as that has changed. May take a while: for a
    /// thread of its own.
    pub fn read_tools(&self) {
        read_tools(&self.registry);
    }

    /// Waits until few enough others search, clients of all kinds together: what searches may take of
    /// the processors is bounded, and the rest is for calls. Dropped, it is somebody else's turn.
    pub async fn search_turn(&self) -> impl Sized {
        self.registry.finder().turn().await
    }

    /// The tools a question means, of those that servers list now. May take a while, too.
    pub fn search_tools(&self, sought: &SearchQuery<'_>) -> SearchResult {
        self.read_tools();
        self.registry.finder().search(sought)
    }
}
