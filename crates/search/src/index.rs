//! All tools of all servers, and which of them a request means.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::document::{Server, Tool};
use crate::dot;
use crate::fuse::{self, ScoreParts};
use crate::lexical::Lexical;
use crate::model::Model;
use crate::scratch::{Scratch, ScratchPool};
use crate::top;
use crate::vector::{self, Vector};

/// Is this tool, of the server under this key, there for whoever asks?
pub type May<'a> = dyn Fn(&str, &str) -> bool + 'a;

/// A request.
#[derive(Clone, Default)]
pub struct Query<'a> {
    pub text: &'a str,
    pub limit: usize,
    /// Only tools of these servers, by key; `None` means all.
    pub servers: Option<&'a [&'a str]>,
    /// Where an embedding endpoint says that the request points: compared with the tools that have
    /// such a vector of the same length, while the model speaks for the others.
    pub vector: Option<&'a Vector>,
    /// Which tools there are at all for whoever asks, by server's key and tool; `None` means all.
    pub may: Option<&'a May<'a>>,
}

impl std::fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { text, limit, servers, vector, may } = self;
        f.debug_struct("Query")
            .field("text", text)
            .field("limit", limit)
            .field("servers", servers)
            .field("vector", vector)
            .field("may", &may.is_some())
            .finish()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit<'a> {
    pub server: &'a str,
    pub tool: &'a str,
    pub score: f32,
    pub parts: ScoreParts,
}

#[derive(Debug)]
pub struct Index {
    model: &'static Model,
    /// The slots of each server's tools.
    servers: BTreeMap<Box<str>, Vec<u32>>,
    slots: Vec<Option<IndexedTool>>,
    free: Vec<u32>,
    /// One row a slot, and what a row's step is worth; 0 where the tool points nowhere.
    rows: Vec<i8>,
    scales: Vec<f32>,
    lexical: Lexical,
    /// Tools by name in lower case.
    names: HashMap<Box<str>, Vec<u32>, FixedState>,
    scratch: ScratchPool,
}

#[derive(Debug)]
struct IndexedTool {
    server: Box<str>,
    /// What the server is called, in lower case.
    called: Arc<str>,
    name: Box<str>,
    /// What clients call it, if that is something else.
    renamed: Option<Box<str>>,
    external: Option<Vector>,
}

impl Index {
    #[must_use]
    pub fn new(model: &'static Model) -> Self {
        Self {
            model,
            servers: BTreeMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            rows: Vec::new(),
            scales: Vec::new(),
            lexical: Lexical::new(),
            names: HashMap::default(),
            scratch: ScratchPool::default(),
        }
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// From now on the server under this key has these tools and no others.
    pub fn replace_server(&mut self, key: &str, server: &Server<'_>, tools: &[Tool<'_>]) {
        self.remove_server(key);
        let called: Arc<str> = server.name.to_lowercase().into();
        let slots = tools.iter().map(|tool| self.insert(key, &called, server, tool)).collect();
        self.servers.insert(key.into(), slots);
    }

    /// Where an embedding endpoint says that a server's tools point, in the order they were given.
    pub fn set_vectors(&mut self, key: &str, vectors: impl IntoIterator<Item = Option<Vector>>) {
        let slots = self.servers.get(key).into_iter().flatten();
        for (slot, vector) in slots.zip(vectors) {
            if let Some(Some(entry)) = self.slots.get_mut(index(*slot)) {
                entry.external = vector;
            }
        }
    }

    pub fn remove_server(&mut self, key: &str) {
        let Some(slots) = self.servers.remove(key) else {
            return;
        };
        self.lexical.remove(&slots);
        for &slot in &slots {
            let at = index(slot);
            let Some(entry) = self.slots.get_mut(at).and_then(Option::take) else {
                continue;
            };
            for name in [Some(&entry.name), entry.renamed.as_ref()].into_iter().flatten() {
                self.forget_name(&name.to_lowercase(), slot);
            }
            self.put_row(at, None);
        }
        self.free.extend(slots);
    }

    fn forget_name(&mut self, name: &str, slot: u32) {
        if let Some(same) = self.names.get_mut(name) {
            same.retain(|other| *other != slot);
            if same.is_empty() {
                self.names.remove(name);
            }
        }
    }

    fn insert(
        &mut self,
        key: &str,
        called: &Arc<str>,
        server: &Server<'_>,
        tool: &Tool<'_>,
    ) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| self.new_slot());
        let at = index(slot);
        self.put_row(at, self.model.embed_tool(server, tool).as_ref());
        self.lexical.insert(slot, server, tool);
        for name in [Some(tool.name), tool.renamed].into_iter().flatten() {
            self.names.entry(name.to_lowercase().into()).or_default().push(slot);
        }
        if let Some(place) = self.slots.get_mut(at) {
            let external = tool.vector.clone();
            let (server, called) = (key.into(), Arc::clone(called));
            let (name, renamed) = (tool.name.into(), tool.renamed.map(Into::into));
            *place = Some(IndexedTool { server, called, name, renamed, external });
        }
        slot
    }

    fn new_slot(&mut self) -> u32 {
        let slot = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(None);
        self.scales.push(0.0);
        self.rows.resize(self.rows.len() + self.model.width(), 0);
        slot
    }

    fn put_row(&mut self, at: usize, vector: Option<&Vector>) {
        let width = self.model.width();
        if let Some(scale) = self.scales.get_mut(at) {
            *scale = vector.map_or(0.0, |vector| vector.scale);
        }
        if let (Some(row), Some(vector)) = (self.rows.get_mut(at * width..(at + 1) * width), vector)
        {
            row.copy_from_slice(&vector.values);
        }
    }

    /// The tools a request means, best first. What has nothing to do with it is not among them.
    #[must_use]
    pub fn search(&self, query: &Query<'_>) -> Vec<Hit<'_>> {
        let mut scratch = self.scratch.take();
        let most = self.lexical.search(query.text, &mut scratch.words);
        scratch.words.resize(self.slots.len(), 0.0);
        self.near(query, &mut scratch);
        let exact = self.exact(query.text);
        let Scratch { words, cosines, scores, .. } = &mut scratch;
        fuse::scores(words, most, cosines, scores);
        for slot in &exact {
            if let Some(score) = scores.get_mut(index(*slot)) {
                *score = 1.0;
            }
        }
        let place = |slot| self.entry(slot).map(|entry| (&entry.name, &entry.server));
        let is_open = |slot| self.is_open(slot, query);
        let best = top::best(self.within(query, scores), query.limit, is_open, place);
        let hits = best.into_iter().filter_map(|(slot, score)| {
            let IndexedTool { server, name, .. } = self.entry(slot)?;
            let at = index(slot);
            let parts = ScoreParts::new(*words.get(at)?, most, *cosines.get(at)?);
            let parts = ScoreParts { exact: exact.contains(&slot), ..parts };
            Some(Hit { server, tool: name, score, parts })
        });
        let hits = hits.collect();
        self.scratch.put(scratch);
        hits
    }

    /// How many tools a request is compared with.
    #[must_use]
    pub fn count(&self, query: &Query<'_>) -> usize {
        match (query.servers, query.may) {
            (None, None) => self.len(),
            (None, Some(_)) => self.servers.values().map(|slots| self.open_of(slots, query)).sum(),
            (Some(keys), _) => self.asked(keys).map(|slots| self.open_of(slots, query)).sum(),
        }
    }

    fn open_of(&self, slots: &[u32], query: &Query<'_>) -> usize {
        slots.iter().filter(|slot| self.is_open(**slot, query)).count()
    }

    /// May this tool be found by whoever asks?
    fn is_open(&self, slot: u32, query: &Query<'_>) -> bool {
        query
            .may
            .is_none_or(|may| self.entry(slot).is_some_and(|entry| may(&entry.server, &entry.name)))
    }

    /// The slots of these servers, each server once.
    fn asked<'a>(&'a self, keys: &[&str]) -> impl Iterator<Item = &'a Vec<u32>> + use<'a> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        let slots: Vec<_> = keys.into_iter().filter_map(|key| self.servers.get(key)).collect();
        slots.into_iter()
    }

    /// The slots of the servers that are asked for, with their scores. Slots without a tool score
    /// nothing.
    fn within<'a>(
        &'a self,
        query: &Query<'_>,
        scores: &'a [f32],
    ) -> impl Iterator<Item = (u32, f32)> + use<'a> {
        let all = query.servers.is_none().then(|| (0..).zip(scores.iter().copied()));
        let some = query.servers.map(|keys| self.asked(keys).flatten().copied());
        let some = some.into_iter().flatten();
        let some = some.filter_map(|slot| Some((slot, *scores.get(index(slot))?)));
        all.into_iter().flatten().chain(some)
    }

    /// The cosine with every slot's tool.
    fn near(&self, query: &Query<'_>, scratch: &mut Scratch) {
        let Scratch { products, cosines, .. } = scratch;
        cosines.clear();
        if let Some(vector) = self.model.embed(query.text) {
            dot::products(&vector.values, &self.rows, products);
            vector::cosines(products, vector.scale, &self.scales, cosines);
        }
        cosines.resize(self.slots.len(), 0.0);
        if let Some(vector) = query.vector {
            self.near_outside(vector, cosines);
        }
    }

    fn near_outside(&self, query: &Vector, near: &mut [f32]) {
        let mut product = Vec::new();
        for (score, entry) in near.iter_mut().zip(&self.slots) {
            let vector = entry.as_ref().and_then(|entry| entry.external.as_ref());
            let Some(vector) = vector.filter(|vector| vector.width() == query.width()) else {
                continue;
            };
            dot::products(&query.values, &vector.values, &mut product);
            let sum = product.first().copied().unwrap_or(0);
            *score = vector::cosine(sum, query.scale, vector.scale);
        }
    }

    /// Tools whose name this is, alone or behind its server's key or name.
    fn exact(&self, text: &str) -> Vec<u32> {
        let text = text.trim().to_lowercase();
        let named = |name: &str| self.names.get(name).into_iter().flatten().copied();
        let mut slots: Vec<u32> = named(&text).collect();
        for (at, between) in text.match_indices(['.', ':', '/', '_']) {
            let (Some(server), Some(name)) = (text.get(..at), text.get(at + between.len()..))
            else {
                continue;
            };
            let name = name.trim_start_matches(['_', ':']);
            let of_server = |slot: &u32| {
                self.entry(*slot).is_some_and(|entry| {
                    *entry.called == *server || entry.server.to_lowercase() == server
                })
            };
            slots.extend(named(name).filter(of_server));
        }
        slots
    }

    fn entry(&self, slot: u32) -> Option<&IndexedTool> {
        self.slots.get(index(slot))?.as_ref()
    }
}

fn index(slot: u32) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Listing<'a> = (&'a str, &'a [(&'a str, &'a str)]);

    const GITHUB: Listing<'_> = (
        "github",
        &[
            ("create_issue", "Create a new issue in a repository"),
            ("create_pull_request", "Propose changes of a branch for review and merging"),
            ("search_code", "Search code across repositories"),
        ],
    );
    const JIRA: Listing<'_> = (
        "jira",
        &[("create_issue", "Create a ticket in a project"), ("transition", "Move a ticket")],
    );
    const WEATHER: Listing<'_> =
        ("open-meteo", &[("forecast", "Temperature and rain for the next days")]);

    fn put(index: &mut Index, (key, tools): Listing<'_>) {
        let tools: Vec<Tool<'_>> = tools
            .iter()
            .map(|&(name, description)| Tool { name, description, ..Tool::default() })
            .collect();
        index.replace_server(key, &Server { name: key, description: "" }, &tools);
    }

    fn filled(listings: &[Listing<'_>]) -> Index {
        let mut index = Index::new(Model::embedded().unwrap());
        listings.iter().for_each(|listing| put(&mut index, *listing));
        index
    }

    fn asked<'a>(text: &'a str) -> Query<'a> {
        Query { text, limit: 10, ..Query::default() }
    }

    fn first(index: &Index, text: &str) -> String {
        let hits = index.search(&asked(text));
        hits.first().map_or_else(String::new, |hit| format!("{}.{}", hit.server, hit.tool))
    }

    #[test]
    fn a_request_finds_the_tool_it_means() {
        let index = filled(&[GITHUB, JIRA, WEATHER]);
        let cases = [
            ("open a PR", "github.create_pull_request"),
            ("will it be cold tomorrow? I need the temperature", "open-meteo.forecast"),
            ("find code in my repos", "github.search_code"),
            ("create a ticket in jira", "jira.create_issue"),
        ];
        for (text, expected) in cases {
            assert_eq!(first(&index, text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_scores_one_alone_and_behind_its_server() {
        let index = filled(&[GITHUB, JIRA, WEATHER]);
        let exact = |text: &str| {
            let hits = index.search(&asked(text));
            let exact = hits.iter().filter(|hit| hit.parts.exact && hit.score >= 1.0);
            exact.map(|hit| format!("{}.{}", hit.server, hit.tool)).collect::<Vec<_>>().join(" ")
        };
        let cases = [
            ("Create_Issue", "github.create_issue jira.create_issue"),
            (" forecast ", "open-meteo.forecast"),
            ("jira.create_issue", "jira.create_issue"),
            ("GitHub__create_issue", "github.create_issue"),
            ("github:search_code", "github.search_code"),
            ("gitlab.create_issue", ""),
            ("create", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(exact(text), expected, "{text}");
        }
    }

    #[test]
    fn a_tool_with_another_name_is_found_by_both_and_by_neither_when_it_is_gone() {
        let mut index = filled(&[GITHUB, WEATHER]);
        let renamed = Some("getAttachment");
        let tool = Tool { name: "read_file", renamed, description: "Bytes", ..Tool::default() };
        index.replace_server("jira", &Server { name: "jira", description: "" }, &[tool]);
        for text in ["read_file", "jira.read_file", "getattachment", "jira:getAttachment"] {
            let hits = index.search(&asked(text));
            let hit = hits.first().map(|hit| (hit.server, hit.tool, hit.parts.exact));
            assert_eq!(hit, Some(("jira", "read_file", true)), "{text}");
        }
        assert_eq!(first(&index, "fetch the attachment"), "jira.read_file");
        index.remove_server("jira");
        for text in ["read_file", "getattachment"] {
            assert!(index.search(&asked(text)).iter().all(|hit| !hit.parts.exact), "{text}");
        }
    }

    #[test]
    fn a_filter_leaves_the_other_servers_out() {
        let index = filled(&[GITHUB, JIRA, WEATHER]);
        let query = Query { servers: Some(&["jira", "jira", "gone"]), ..asked("create an issue") };
        let hits = index.search(&query);
        assert!(!hits.is_empty());
        assert!(hits.iter().all(|hit| hit.server == "jira"), "{hits:?}");
        assert_eq!(index.search(&Query { servers: Some(&[]), ..asked("issue") }), []);
    }

    #[test]
    fn what_may_not_be_seen_is_neither_found_nor_counted() {
        let index = filled(&[GITHUB, JIRA, WEATHER]);
        let may = |server: &str, tool: &str| server == "github" && tool != "create_issue";
        let query = Query { may: Some(&may), ..asked("create_issue") };
        let found: Vec<&str> = index.search(&query).iter().map(|hit| hit.tool).collect();
        assert!(!found.is_empty() && !found.contains(&"create_issue"), "{found:?}");
        assert_eq!(index.count(&query), 2);
        assert_eq!(index.count(&asked("create_issue")), 6);
        let narrow = Query { servers: Some(&["jira"]), ..query };
        assert_eq!((index.count(&narrow), index.search(&narrow)), (0, Vec::new()));
    }

    #[test]
    fn a_server_is_known_by_its_key_and_by_its_name() {
        let mut index = Index::new(Model::embedded().unwrap());
        let tools = [Tool { name: "create_issue", ..Tool::default() }];
        let server = Server { name: "GitHub-MCP", description: "" };
        index.replace_server("4f1c", &server, &tools);
        for (text, exact) in [
            ("github-mcp.create_issue", true),
            ("4F1C.create_issue", true),
            ("x.create_issue", false),
        ] {
            let hits = index.search(&asked(text));
            assert_eq!(hits.iter().any(|hit| hit.parts.exact), exact, "{text}");
        }
    }

    #[test]
    fn what_was_removed_is_not_found_and_what_came_in_its_place_is() {
        let mut index = filled(&[GITHUB, JIRA]);
        index.remove_server("github");
        index.remove_server("github");
        assert_eq!(index.len(), 2);
        assert!(index.search(&asked("search code")).iter().all(|hit| hit.server == "jira"));
        put(&mut index, WEATHER);
        assert_eq!(first(&index, "rain"), "open-meteo.forecast");
        put(&mut index, ("jira", &[]));
        assert_eq!(index.len(), 1);
        assert!(index.search(&asked("ticket")).iter().all(|hit| hit.server != "jira"));
    }

    #[test]
    fn a_vector_from_outside_counts_where_both_have_one() {
        let mut index = Index::new(Model::embedded().unwrap());
        let tool = |name, vector| Tool { name, vector, ..Tool::default() };
        let north = Vector::new(&[0.0, 1.0]);
        let tools = [
            tool("alpha", north.clone()),
            tool("beta", Vector::new(&[1.0, 0.0, 0.0])),
            tool("gamma", None),
        ];
        index.replace_server("s", &Server::default(), &tools);
        let query = Query { vector: north.as_ref(), ..asked("zzz") };
        let hits = index.search(&query);
        let near: Vec<&str> =
            hits.iter().filter(|hit| hit.parts.semantic > 0.99).map(|hit| hit.tool).collect();
        assert_eq!(near, ["alpha"]);
        index.set_vectors("s", [None, north.clone(), None]);
        let hits = index.search(&query);
        let near: Vec<&str> =
            hits.iter().filter(|hit| hit.parts.semantic > 0.99).map(|hit| hit.tool).collect();
        assert_eq!(near, ["beta"], "they can be given later");
    }

    #[test]
    fn nothing_is_found_for_nothing() {
        let index = filled(&[GITHUB]);
        for text in ["", "  ", "\u{1F980}", "the of a"] {
            assert!(
                index.search(&asked(text)).iter().all(|hit| hit.parts.lexical <= 0.0),
                "{text:?}"
            );
        }
        assert_eq!(filled(&[]).search(&asked("issue")), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn an_index_changed_step_by_step_says_what_a_new_one_says(
            steps in prop::collection::vec((0usize..3, any::<bool>()), 0..12),
            text in "(create|ticket|code|rain|pr|merge| ){1,4}",
        ) {
            let listings = [GITHUB, JIRA, WEATHER];
            let mut changed = filled(&[]);
            let mut there = [false; 3];
            for (which, add) in steps {
                match add {
                    true => put(&mut changed, listings[which]),
                    false => changed.remove_server(listings[which].0),
                }
                there[which] = add;
            }
            let kept: Vec<Listing<'_>> =
                listings.iter().zip(there).filter(|(_, there)| *there).map(|(l, _)| *l).collect();
            let built = filled(&kept);
            prop_assert_eq!(changed.len(), built.len());
            prop_assert_eq!(changed.search(&asked(&text)), built.search(&asked(&text)));
        }

        #[test]
        fn any_request_scores_between_nothing_and_all(text in any::<String>()) {
            for hit in filled(&[GITHUB, JIRA]).search(&asked(&text)) {
                prop_assert!((0.0..=1.0).contains(&hit.score), "{:?}", hit);
            }
        }
    }
}
