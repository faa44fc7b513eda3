//! `Finder`: reads what has changed, and answers.
//!
//! Nothing is read before the first question. From then on only servers whose list, filter, name or
//! description is another one are read again, where the question is asked: never on the thread that
//! moves bytes.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit};
use trunkline_search::{Index, May, Model, Query, Vector};

use crate::embedder::Embedder;
use crate::finder::read::{Read, put, texts};
use crate::limits::SEEKERS;
use crate::lock::{Mutex, RwLock, rank};
use crate::upstream::Server;

/// A question.
#[derive(Clone, Copy)]
pub struct SearchQuery<'a> {
    pub text: &'a str,
    pub limit: usize,
    /// Only of these servers, by id; `None` means all.
    pub servers: Option<&'a [&'a str]>,
    /// Which tools there are for whoever asks: by the server's id and its own name for the tool.
    pub may: &'a May<'a>,
    /// Where an embedding endpoint says that the request points.
    pub vector: Option<&'a Vector>,
}

impl std::fmt::Debug for SearchQuery<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { limit, servers, .. } = self;
        f.debug_struct("Sought").field("limit", limit).field("servers", servers).finish()
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct SearchResult {
    /// The best first.
    pub tools: Vec<FoundTool>,
    /// With how many tools the question was compared.
    pub compared: usize,
    /// The word of the embedding endpoint counted.
    pub by_endpoint: bool,
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
    // Searches read side by side. Building it takes long: only threads that may block wait for it.
    state: RwLock<Option<IndexState>, rank::FinderIndex>,
    /// What somebody else says about servers, by id: before what they say about themselves.
    // Held to copy or replace the `Arc`, not while the index is built.
    described: Mutex<Arc<HashMap<String, String>>, rank::ServerDescriptions>,
    /// For those who search on behalf of clients.
    turns: Turns,
    /// For those who look which name was meant: an answer to a slip does not wait for searches.
    name_turns: Turns,
    /// Somebody has read, or will.
    begun: AtomicBool,
    /// Who is asked before the model in the program is.
    embedder: OnceLock<Arc<dyn Embedder>>,
}

#[derive(Debug)]
struct Turns(Semaphore);

impl Default for Turns {
    fn default() -> Self {
        Self(Semaphore::new(SEEKERS))
    }
}

#[derive(Debug)]
struct IndexState {
    index: Index,
    /// What the index was made of, by the server's id.
    read: HashMap<String, Read>,
    /// The version of the embedder when it was last asked.
    asked: Option<u64>,
    /// Servers of which the embedder has spoken of every tool, by id: what they say is not made
    /// ready for it again.
    spoken_of: HashSet<String>,
}

impl Finder {
    /// Waits until few enough others search. Dropped, it is somebody else's turn.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.0.acquire().await.ok() // it is never closed
    }

    /// Waits until few enough others compare a name with all there are.
    pub(crate) async fn name_turn(&self) -> Option<SemaphorePermit<'_>> {
        self.name_turns.0.acquire().await.ok()
    }

    /// True for the first who asks: nobody has read anything yet.
    pub(crate) fn begin_reading(&self) -> bool {
        // Relaxed: the swap alone decides who is first. What is read is published by the lock of
        // `state`.
        !self.begun.swap(true, Ordering::Relaxed)
    }

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
        let embedder = self.embedder.get();
        let version = embedder.map(|embedder| embedder.version());
        let knows_more = |state: &IndexState| !state.is_covered() && state.asked != version;
        if self.state.read().as_ref().is_some_and(|state| state.is(&now) && !knows_more(state)) {
            return;
        }
        let Ok(model) = Model::embedded() else { return };
        let mut held = self.state.write();
        let state = held.get_or_insert_with(|| IndexState::new(model));
        state.turn_into(now);
        if let Some(embedder) = embedder {
            state.ask(&**embedder, version);
        }
    }

    /// From now on this one is asked where texts point.
    pub(crate) fn set_embedder(&self, embedder: Arc<dyn Embedder>) {
        drop(self.embedder.set(embedder)); // one is enough
    }

    /// Where a question points, if somebody outside says so.
    pub(crate) async fn question(&self, text: &str) -> Option<Vector> {
        self.embedder.get()?.question(text).await
    }

    /// Of what was read last.
    pub(crate) fn search(&self, sought: &SearchQuery<'_>) -> SearchResult {
        let held = self.state.read();
        let Some(state) = held.as_ref() else { return SearchResult::default() };
        // Angles of two models cannot be compared: its word counts once it has spoken of all tools.
        let vector = sought.vector.filter(|_| state.is_covered());
        let query = Query {
            text: sought.text,
            limit: sought.limit,
            servers: sought.servers,
            vector,
            may: Some(sought.may),
        };
        let found = |hit: &trunkline_search::Hit<'_>| {
            let read = state.read.get(hit.server)?;
            let definition = read.source.definition(hit.tool)?;
            let (server, name) = (hit.server.to_owned(), hit.tool.to_owned());
            Some(FoundTool { server, name, definition, score: hit.score })
        };
        let tools = state.index.search(&query).iter().filter_map(found).collect();
        let compared = state.index.count(&query);
        SearchResult { tools, compared, by_endpoint: vector.is_some() }
    }
}

impl IndexState {
    fn new(model: &'static Model) -> Self {
        let (index, read, spoken_of) = (Index::new(model), HashMap::new(), HashSet::new());
        Self { index, read, asked: None, spoken_of }
    }

    /// Has the embedder spoken of every tool?
    fn is_covered(&self) -> bool {
        self.read.len() == self.spoken_of.len()
    }

    /// Gives the tools that the embedder has not spoken of yet the vectors that it has for them now.
    fn ask(&mut self, embedder: &dyn Embedder, version: Option<u64>) {
        for (id, read) in &self.read {
            if self.spoken_of.contains(id) {
                continue;
            }
            let vectors = embedder.tools(&texts(read));
            if vectors.iter().all(Option::is_some) {
                self.spoken_of.insert(id.clone());
            }
            self.index.set_vectors(id, vectors);
        }
        self.asked = version;
    }

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
            self.spoken_of.remove(&id);
        }
        for (id, read) in now {
            if self.read.get(&id).is_some_and(|known| known.is(&read)) {
                continue;
            }
            put(&mut self.index, &id, &read);
            self.spoken_of.remove(&id);
            self.read.insert(id, read);
        }
    }
}
