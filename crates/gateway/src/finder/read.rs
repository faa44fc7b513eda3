//! What the index is made of: what one server lists, its name, and what is said about it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use trunkline_catalog::Listing;
use trunkline_catalog::config::ToolFilter;
use trunkline_search::{Definition, Index, Server as Words, tool_text};

use crate::upstream::Server;

#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) source: Source,
    name: Arc<str>,
    description: String,
}

#[derive(Clone, Debug)]
pub(super) enum Source {
    Server(Arc<Listing>, Arc<ToolFilter>),
    /// Tools that are made of those of servers: names and definitions.
    Custom(Vec<(String, Bytes)>),
}

impl Source {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Server(list, filter), Self::Server(other, filter_of_other)) => {
                Arc::ptr_eq(list, other) && Arc::ptr_eq(filter, filter_of_other)
            }
            (Self::Custom(tools), Self::Custom(others)) => tools == others,
            _ => false,
        }
    }

    /// What clients call this tool, if that is something else.
    fn renamed(&self, own: &str) -> Option<&str> {
        let Self::Server(_, filter) = self else { return None };
        let exposed = filter.exposed.iter().flatten().find(|tool| tool.original == own)?;
        exposed.exposed.as_deref().filter(|name| *name != own)
    }

    /// Those that are there for clients.
    fn tools(&self) -> Vec<(&str, &[u8])> {
        let mut known = HashSet::new();
        let mut tools: Vec<(&str, &[u8])> = match self {
            Self::Server(listing, filter) => {
                let shown = listing.tools().iter().filter(|tool| filter.shows(&tool.name));
                shown.map(|tool| (tool.name.as_str(), &*tool.definition)).collect()
            }
            Self::Custom(tools) => tools.iter().map(|(name, it)| (name.as_str(), &**it)).collect(),
        };
        // A server that names a tool twice means the first.
        tools.retain(|(name, _)| known.insert(*name));
        tools
    }

    pub(super) fn definition(&self, name: &str) -> Option<Bytes> {
        match self {
            Self::Server(listing, _) => {
                let tool = listing.tools().iter().find(|tool| tool.name == name)?;
                Some(Bytes::copy_from_slice(&tool.definition))
            }
            Self::Custom(tools) => {
                tools.iter().find(|(known, _)| known == name).map(|(_, it)| it.clone())
            }
        }
    }
}

impl Read {
    pub(super) fn of(server: &Server, described: &HashMap<String, String>) -> Option<Self> {
        let said = described.get(&**server.key.id()).filter(|text| !text.is_empty()).cloned();
        let own = || server.hello().and_then(|hello| hello.instructions.clone());
        Some(Self {
            source: Source::Server(server.listing()?, server.filter()),
            name: server.key.name(),
            description: said.or_else(own).unwrap_or_default(),
        })
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        let same_words = self.name == other.name && self.description == other.description;
        same_words && self.source.is(&other.source)
    }

    pub(super) fn custom(tools: Vec<(String, Bytes)>) -> Self {
        let (source, name) = (Source::Custom(tools), "custom".into());
        Self { source, name, description: String::new() }
    }
}

fn definitions(read: &Read) -> Vec<Definition> {
    let tools = read.source.tools().into_iter();
    let definition = |(name, json): (&str, &[u8])| {
        let renamed = read.source.renamed(name).map(str::to_owned);
        Definition { name: name.to_owned(), renamed, ..Definition::read(json) }
    };
    tools.map(definition).collect()
}

pub(super) fn put(index: &mut Index, id: &str, read: &Read) {
    let definitions = definitions(read);
    let tools: Vec<_> = definitions.iter().map(Definition::tool).collect();
    index.replace_server(id, &words(read), &tools);
}

fn words(read: &Read) -> Words<'_> {
    Words { name: &read.name, description: &read.description }
}

/// What an embedder gets of each tool, in the order of the index.
pub(super) fn texts(read: &Read) -> Vec<String> {
    let definitions = definitions(read);
    definitions.iter().map(|definition| tool_text(&words(read), &definition.tool())).collect()
}
