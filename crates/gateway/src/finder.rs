//! `Finder`: the index beside the catalog: which tool is meant, of those that servers list now.
//!
//! Nothing is read before the first question. From then on only servers whose list, filter, name or
//! description is another one are read again, where the question is asked: never on the thread that
//! moves bytes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use trunkline_catalog::Listing;
use trunkline_catalog::config::ToolFilter;
use trunkline_search::{Definition, Index, May, Model, Query, Server as Words, Vector};

use crate::upstream::Server;

/// A question.
#[derive(Clone, Copy)]
pub struct Sought<'a> {
    pub text: &'a str,
    pub limit: usize,
    /// Only of these servers, by id; `None` means all.
    pub servers: Option<&'a [&'a str]>,
    /// Which tools there are for whoever asks: by the server's id and its own name for the tool.
    pub may: &'a May<'a>,
    /// Where an embedding endpoint says that the request points.
    pub vector: Option<&'a Vector>,
}

impl std::fmt::Debug for Sought<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { limit, servers, .. } = self;
        f.debug_struct("Sought").field("limit", limit).field("servers", servers).finish()
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The best first.
    pub tools: Vec<FoundTool>,
    /// With how many tools the question was compared.
    pub compared: usize,
}

#[derive(Clone, Debug)]
pub struct FoundTool {
    /// The server's id.
    pub server: String,
    /// As its server calls it.
    pub name: String,
    /// Byte for byte.
    pub definition: Bytes,
    /// From 0 to 1, and means the same for every question.
    pub score: f32,
}

/// The id that custom tools are found under: they are no server's.
pub(crate) const CUSTOM: &str = "custom-tools";

#[derive(Debug, Default)]
pub(crate) struct Finder {
    state: RwLock<Option<State>>,
    /// What somebody else says about servers, by id: before what they say about themselves.
    described: Mutex<Arc<HashMap<String, String>>>,
}

#[derive(Debug)]
struct State {
    index: Index,
    /// What the index was made of, by the server's id.
    read: HashMap<String, Read>,
}

#[derive(Clone, Debug)]
struct Read {
    source: Source,
    name: Arc<str>,
    description: String,
}

#[derive(Clone, Debug)]
enum Source {
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

    fn definition(&self, name: &str) -> Option<Bytes> {
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
    fn of(server: &Server, described: &HashMap<String, String>) -> Option<Self> {
        let said = described.get(&**server.key.id()).filter(|text| !text.is_empty()).cloned();
        let own = || server.live().and_then(|live| live.hello.instructions.clone());
        Some(Self {
            source: Source::Server(server.listing()?, server.filter()),
            name: server.key.name(),
            description: said.or_else(own).unwrap_or_default(),
        })
    }

    fn is(&self, other: &Self) -> bool {
        let same_words = self.name == other.name && self.description == other.description;
        same_words && self.source.is(&other.source)
    }

    fn custom(tools: Vec<(String, Bytes)>) -> Self {
        let (source, name) = (Source::Custom(tools), "custom".into());
        Self { source, name, description: String::new() }
    }
}

impl Finder {
    /// What is said about servers, by id.
    pub(crate) fn describe(&self, described: HashMap<String, String>) {
        *self.described.lock() = Arc::new(described);
    }

    /// Reads what has changed since the last time. May take a while.
    pub(crate) fn refresh(&self, servers: &[Arc<Server>], custom: Vec<(String, Bytes)>) {
        let described = Arc::clone(&self.described.lock());
        let mut now: HashMap<String, Read> = servers
            .iter()
            .filter_map(|server| Some((server.key.id().to_string(), Read::of(server, &described)?)))
            .collect();
        if !custom.is_empty() {
            now.insert(CUSTOM.to_owned(), Read::custom(custom));
        }
        if self.state.read().as_ref().is_some_and(|state| state.is(&now)) {
            return;
        }
        let Ok(model) = Model::embedded() else { return };
        let mut held = self.state.write();
        let state =
            held.get_or_insert_with(|| State { index: Index::new(model), read: HashMap::new() });
        state.turn_into(now);
    }

    /// Of what was read last.
    pub(crate) fn search(&self, sought: &Sought<'_>) -> Found {
        let held = self.state.read();
        let Some(state) = held.as_ref() else { return Found::default() };
        let query = Query {
            text: sought.text,
            limit: sought.limit,
            servers: sought.servers,
            vector: sought.vector,
            may: Some(sought.may),
        };
        let found = |hit: &trunkline_search::Hit<'_>| {
            let read = state.read.get(hit.server)?;
            let definition = read.source.definition(hit.tool)?;
            let (server, name) = (hit.server.to_owned(), hit.tool.to_owned());
            Some(FoundTool { server, name, definition, score: hit.score })
        };
        let tools = state.index.search(&query).iter().filter_map(found).collect();
        Found { tools, compared: state.index.count(&query) }
    }
}

impl State {
    fn is(&self, now: &HashMap<String, Read>) -> bool {
        let same = |(id, read): (&String, &Read)| now.get(id).is_some_and(|now| now.is(read));
        self.read.len() == now.len() && self.read.iter().all(same)
    }

    fn turn_into(&mut self, now: HashMap<String, Read>) {
        let gone: Vec<String> =
            self.read.keys().filter(|id| !now.contains_key(*id)).cloned().collect();
        for id in gone {
            self.index.remove_server(&id);
            self.read.remove(&id);
        }
        for (id, read) in now {
            if self.read.get(&id).is_some_and(|known| known.is(&read)) {
                continue;
            }
            put(&mut self.index, &id, &read);
            self.read.insert(id, read);
        }
    }
}

fn put(index: &mut Index, id: &str, read: &Read) {
    let definitions: Vec<Definition> = read
        .source
        .tools()
        .into_iter()
        .map(|(name, json)| Definition { name: name.to_owned(), ..Definition::read(json) })
        .collect();
    let tools: Vec<_> = definitions.iter().map(Definition::tool).collect();
    let words = Words { name: &read.name, description: &read.description };
    index.replace_server(id, &words, &tools);
}
