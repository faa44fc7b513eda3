//! `View`: the registry as clients of one kind see it: under the names they can use, and as much of
//! it as they may.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use trunkline_catalog::config::{SelectedTools, ToolFilter};
use trunkline_catalog::name::Naming;
use trunkline_catalog::{
    Catalog, Exposure, ListKind, Listing, Offer, Route, Scope, SeenParts, ServerWords, instructions,
};
use trunkline_wire::members;

use crate::gate::Grant;
use crate::limiter::ToolMeters;
use crate::limits::KNOWN_NAMES;
use crate::lock::{Mutex, MutexGuard, rank};
use crate::policy::{PolicyGrant, PolicyTarget};
use crate::registry::call_rules::{CallRule, CallRules};
use crate::registry::custom::{granted, selected};
use crate::registry::{Registry, WantedServers};
use crate::upstream::{Connection, OfferChanges, Server, holds_texts, object_of};

#[derive(Debug)]
pub(crate) struct View {
    pub(crate) registry: Arc<Registry>,
    /// The registry's own: it is looked at for every message.
    offers: Arc<OfferChanges>,
    pub(crate) naming: Naming,
    /// How much of it the list of tools shows.
    pub(crate) exposure: Exposure,
    /// The preset that chooses among servers and tools; `None`: the one the config gives the client, if any.
    preset: Option<Arc<str>>,
    /// `None`: all of it.
    grant: Option<Arc<dyn Grant>>,
    // Above the registry's and the servers' locks: the view is assembled from them under it.
    current: Mutex<Current, rank::ViewCurrent>,
}

/// The catalog of one moment and the servers its routes lead to.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) catalog: Catalog,
    servers: Arc<[Arc<Server>]>,
    /// By the servers' places.
    connections: Vec<Option<Arc<Connection>>>,
    /// How much of each server is seen, by the servers' places.
    sights: Vec<Sight>,
    /// The limits of tools, by the servers' places.
    tool_meters: Vec<Option<Arc<ToolMeters>>>,
    /// Which calls policies refuse or want to look at.
    call_rules: CallRules,
}

/// How much of a server is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sight {
    Whole,
    /// These tools, by its own names.
    Tools(BTreeSet<String>),
    /// What policies leave of it.
    Parts(SeenParts),
}

impl Sight {
    fn scope(&self) -> Scope<'_> {
        match self {
            Self::Whole => Scope::Whole,
            Self::Tools(tools) => Scope::Tools(tools),
            Self::Parts(parts) => Scope::Parts(parts),
        }
    }

    fn is_whole(&self) -> bool {
        match self {
            Self::Whole => true,
            Self::Tools(_) => false,
            Self::Parts(parts) => parts.is_whole,
        }
    }
}

impl Snapshot {
    pub(crate) fn connection(&self, server: usize) -> Option<&Arc<Connection>> {
        self.connections.get(server)?.as_ref()
    }

    /// The tools of this server that have limits; `None`: none of them has.
    pub(crate) fn tool_meters(&self, server: usize) -> Option<&ToolMeters> {
        self.tool_meters.get(server)?.as_deref()
    }

    pub(crate) fn server(&self, server: usize) -> Option<&Arc<Server>> {
        self.servers.get(server)
    }

    /// How many servers there are; their places are the numbers below.
    pub(crate) fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Where the server of this key stands.
    pub(crate) fn place_of(&self, key: &str) -> Option<usize> {
        self.servers.iter().position(|server| server.key.is_called(key))
    }

    /// Where the server with this id stands.
    pub(crate) fn place_of_id(&self, id: &str) -> Option<usize> {
        self.servers.iter().position(|server| **server.key.id() == *id)
    }

    /// May whoever sees this have anything of the server, not only some tools?
    pub(crate) fn is_whole(&self, server: usize) -> bool {
        self.sights.get(server).is_some_and(Sight::is_whole)
    }

    /// What policies say about calls of this tool; `None`: whoever sees it may call it.
    pub(crate) fn call_rule(&self, tool: &Route) -> Option<&CallRule> {
        self.call_rules.get(tool)
    }

    /// The policies that hold for whoever sees this.
    pub(crate) fn policies(&self) -> Option<&dyn PolicyGrant> {
        self.call_rules.policies()
    }

    /// The place of the only server, if there is only one.
    pub(crate) fn only(&self) -> Option<usize> {
        (self.servers.len() == 1).then_some(0)
    }
}

#[derive(Debug, Default)]
struct Current {
    snapshot: Arc<Snapshot>,
    /// The version of the registry it was made of; none yet is 0.
    version: u64,
    warned: Vec<String>,
    /// The snapshot has warnings that were not logged yet.
    is_untold: bool,
    /// Every name each server has offered so far, by its id.
    known: HashMap<Arc<str>, Known>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    tools: BTreeSet<String>,
    prompts: BTreeSet<String>,
}

impl Known {
    fn extend(&mut self, listing: &Listing) {
        for (names, kind) in
            [(&mut self.tools, ListKind::Tools), (&mut self.prompts, ListKind::Prompts)]
        {
            let room = KNOWN_NAMES.saturating_sub(names.len());
            let entries = listing.entries(kind).iter();
            names.extend(entries.map(|entry| entry.name.clone()).take(room));
        }
    }
}

impl View {
    pub(crate) fn new(registry: Arc<Registry>, naming: Naming) -> Self {
        let exposure = Exposure::Full;
        let (offers, current) = (Arc::clone(&registry.offers), Mutex::default());
        Self { registry, offers, naming, exposure, preset: None, grant: None, current }
    }

    /// A view of what this preset takes.
    pub(crate) fn preset(self, preset: Option<Arc<str>>) -> Self {
        Self { preset, ..self }
    }

    /// A view for clients of which nobody asks who they are.
    pub(crate) fn granted(self, grant: Option<Arc<dyn Grant>>) -> Self {
        Self { grant, ..self }
    }

    pub(crate) fn grant(&self) -> Option<&Arc<dyn Grant>> {
        self.grant.as_ref()
    }

    /// A view whose list of tools shows only so much.
    pub(crate) fn exposing(self, exposure: Exposure) -> Self {
        Self { exposure, ..self }
    }

    /// A view for those who may not see all of it, under the same names.
    pub(crate) fn narrowed(&self, grant: Arc<dyn Grant>) -> Self {
        self.report(); // what there is now is known from now on
        let known = self.current.lock().known.clone();
        let current = Mutex::new(Current { known, ..Current::default() });
        let (registry, naming) = (Arc::clone(&self.registry), self.naming.clone());
        let (offers, exposure) = (Arc::clone(&self.offers), self.exposure);
        let preset = self.preset.clone();
        Self { registry, offers, naming, exposure, preset, grant: Some(grant), current }
    }

    pub(crate) fn preset_name(&self) -> Option<Arc<str>> {
        self.preset.clone()
    }

    /// What there is at this moment. Built when it is first asked for after a change, so that fifty
    /// servers that start together cost one assembly.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let mut current = self.renewed();
        if current.is_untold {
            current.is_untold = false;
            for warning in &current.snapshot.catalog.warnings {
                tracing::warn!("{warning}");
            }
            current.warned = current.snapshot.catalog.warnings.clone();
        }
        Arc::clone(&current.snapshot)
    }

    /// What a client would be served at this moment. Its warnings are left to the first client that is
    /// served it: there may never be one.
    pub(crate) fn report(&self) -> Arc<Snapshot> {
        Arc::clone(&self.renewed().snapshot)
    }

    fn renewed(&self) -> MutexGuard<'_, Current> {
        let mut current = self.current.lock();
        let version = self.offers.version.load(Ordering::Acquire);
        if current.version != version {
            current.version = version;
            let snapshot = self.assemble(&mut current.known);
            // Who sees less has nothing to warn of that others have not.
            current.is_untold = self.grant.is_none() && snapshot.catalog.warnings != current.warned;
            current.snapshot = Arc::new(snapshot);
        }
        current
    }

    fn assemble(&self, known: &mut HashMap<Arc<str>, Known>) -> Snapshot {
        let WantedServers { servers, custom, .. } = self.registry.wanted.lock().clone();
        let custom = granted(custom, self.grant.as_deref());
        let custom = selected(custom, self.naming.client(), self.preset.as_deref());
        let live: Vec<_> = servers.iter().map(|server| server.live()).collect();
        let listings: Vec<_> = servers.iter().map(|server| server.listing()).collect();
        let filters: Vec<_> = servers.iter().map(|server| server.filter()).collect();
        let selections: Vec<_> = filters.iter().map(|filter| self.selected(filter)).collect();
        let names: Vec<_> = servers.iter().map(|server| server.key.name()).collect();
        for (server, listing) in servers.iter().zip(&listings) {
            let known = known.entry(Arc::clone(server.key.id())).or_default();
            if let Some(listing) = listing {
                known.extend(listing);
            }
        }
        let nothing = Known::default();
        let sights: Vec<_> = servers
            .iter()
            .zip(&names)
            .zip(&selections)
            .map(|((server, name), selected)| match selected.is_nothing() {
                true => Sight::Tools(BTreeSet::new()),
                false => self.sight(name, known.get(server.key.id()).unwrap_or(&nothing)),
            })
            .collect();
        let sights = self.within_policies(sights, &names, &listings);
        let chosen = filters.iter().zip(&selections).zip(&sights);
        let parts = servers.iter().zip(&names).zip(&listings).zip(chosen);
        let offers: Vec<_> = parts
            .enumerate()
            .map(|(place, (((server, name), listing), ((filter, selected), sight)))| {
                let known = known.get(server.key.id()).unwrap_or(&nothing);
                Offer {
                    server: place,
                    key: name,
                    listing: listing.as_deref(),
                    known: &known.tools,
                    known_prompts: &known.prompts,
                    filter,
                    selected,
                    scope: sight.scope(),
                }
            })
            .collect();
        let catalog = Catalog::exposing(self.exposure, &offers, &custom, &self.naming);
        let connections = live.into_iter().map(|live| Some(live?.connection)).collect();
        let metered = servers.iter().zip(&listings);
        let tool_meters = metered
            .map(|(server, listing)| server.definition.meters.of_listing(listing.as_deref()?))
            .collect();
        let call_rules = CallRules::of(self.grant.as_ref(), names.iter().zip(&listings));
        Snapshot { catalog, servers, connections, sights, tool_meters, call_rules }
    }

    fn sight(&self, key: &str, known: &Known) -> Sight {
        let Some(grant) = &self.grant else { return Sight::Whole };
        let is_whole = grant.all_of(key);
        let tools = || known.tools.iter().filter(|tool| grant.allows(key, tool)).cloned().collect();
        match (is_whole, grant.policies()) {
            (true, None) => Sight::Whole,
            (false, None) => Sight::Tools(tools()),
            (is_whole, Some(_)) => {
                Sight::Parts(SeenParts { tools: tools(), is_whole, hidden: BTreeSet::new() })
            }
        }
    }

    /// Takes out the resources, templates and prompts that policies hide.
    fn within_policies(
        &self,
        mut sights: Vec<Sight>,
        names: &[Arc<str>],
        listings: &[Option<Arc<Listing>>],
    ) -> Vec<Sight> {
        let Some(policies) = self.grant.as_ref().and_then(|grant| grant.policies()) else {
            return sights;
        };
        for ((sight, server), listing) in sights.iter_mut().zip(names).zip(listings) {
            let (Sight::Parts(parts), Some(listing)) = (sight, listing) else { continue };
            for kind in [ListKind::Resources, ListKind::Templates, ListKind::Prompts] {
                let is_hidden = |name: &str| {
                    !policies.shows(match kind {
                        ListKind::Prompts => PolicyTarget::Prompt { server, prompt: name },
                        _ => PolicyTarget::Resource { server, uri: name },
                    })
                };
                let entries = listing.entries(kind).iter().filter(|entry| is_hidden(&entry.name));
                parts.hidden.extend(entries.map(|entry| (kind, entry.name.clone())));
            }
        }
        sights
    }

    /// What the preset and the config's rules for the client leave of a server's tools.
    fn selected(&self, filter: &ToolFilter) -> SelectedTools {
        filter.seen_by(self.naming.client(), self.preset.as_deref())
    }

    /// The tools that servers list and whoever sees this cannot call, as `SERVER:TOOL` with the servers' own
    /// names: hidden by the config, by the preset, or for this kind of client.
    pub(crate) fn switched_off(&self) -> Vec<String> {
        let servers = self.registry.servers();
        let of = |server: &Arc<Server>| {
            let (filter, key) = (server.filter(), server.key.name());
            let selected = self.selected(&filter);
            let listing = server.listing();
            let tools = listing.iter().flat_map(|listing| listing.tools());
            let off = tools.filter(|tool| !filter.shows(&tool.name) || !selected.shows(&tool.name));
            let name = |tool: &str| format!("{key}{}{tool}", self.naming.separator());
            off.map(|tool| name(&tool.name)).collect::<Vec<_>>()
        };
        servers.iter().flat_map(of).collect()
    }

    /// Is anything of this server to be seen?
    fn touches(&self, server: &Server, key: &str) -> bool {
        if self.selected(&server.filter()).is_nothing() {
            return false;
        }
        let Some(grant) = &self.grant else { return true };
        let current = self.current.lock();
        let known = current.known.get(server.key.id());
        grant.all_of(key)
            || known.is_some_and(|known| known.tools.iter().any(|tool| grant.allows(key, tool)))
    }

    /// The extensions of the servers that are wholly seen and of the stateless era, as an object: it is theirs
    /// to understand them.
    pub(crate) fn extensions(&self) -> Vec<u8> {
        let is_whole = |key: &str| self.grant.as_ref().is_none_or(|grant| grant.all_of(key));
        let servers = self.registry.servers();
        let is_chosen = |server: &Server| !self.selected(&server.filter()).is_nothing();
        let whole = |server: &&Arc<Server>| is_chosen(server) && is_whole(&server.key.name());
        let seen = servers.iter().filter(whole);
        let said: Vec<_> = seen.filter_map(|server| server.hello()).collect();
        union(said.iter().filter_map(|hello| hello.passed_extensions()))
    }

    /// What all servers together say about themselves.
    pub(crate) fn instructions(&self) -> String {
        let snapshot = self.snapshot(); // servers that have just started are known from now on
        let seen = self.seen();
        let said: Vec<_> = seen.iter().map(|(server, _)| server.hello()).collect();
        let words: Vec<_> = seen
            .iter()
            .zip(&said)
            .map(|((server, name), said)| ServerWords {
                key: name,
                // A title is not pinned: where texts are held, it is not told.
                title: said
                    .as_ref()
                    .and_then(|it| it.title.as_deref())
                    .filter(|_| !holds_texts(server)),
                instructions: said.as_ref().and_then(|hello| hello.instructions.as_deref()),
            })
            .collect();
        instructions(&words, &self.naming, snapshot.catalog.behind().map(|behind| &behind.names))
    }

    /// The servers of which anything is to be seen, with their names.
    pub(crate) fn seen(&self) -> Vec<(Arc<Server>, Arc<str>)> {
        let servers = self.registry.servers();
        let named = servers.iter().map(|server| (Arc::clone(server), server.key.name()));
        named.filter(|(server, name)| self.touches(server, name)).collect()
    }

    /// Is not everything to be seen?
    pub(crate) fn is_narrow(&self) -> bool {
        let is_chosen = |server: &Arc<Server>| !self.selected(&server.filter()).is_everything();
        self.grant.is_some() || self.registry.servers().iter().any(is_chosen)
    }

    /// The server whose key the exposed name starts with (the longest such key). One that is out of
    /// sight is none, but for a tool of it that may be called once it has started.
    pub(crate) fn by_prefix(&self, name: &str) -> Option<Arc<Server>> {
        let may = |server: &Server, key: &str, tool: &str| {
            let is_granted = || self.grant.as_ref().is_some_and(|grant| grant.allows(key, tool));
            let is_chosen = || self.selected(&server.filter()).shows(tool);
            self.touches(server, key) || (is_granted() && is_chosen())
        };
        // How much of the name is the server's, if it is one of its.
        let fit = |server: &Server| {
            let key = server.key.name();
            let tool = name.strip_prefix(&*key)?.strip_prefix(self.naming.separator())?;
            may(server, &key, tool).then_some(key.len())
        };
        let servers = self.registry.servers();
        let matching = servers.iter().filter_map(|server| Some((fit(server)?, server)));
        matching.max_by_key(|(length, _)| *length).map(|(_, server)| Arc::clone(server))
    }
}

/// The members of all objects; of those with the same name, the first.
fn union<'a>(objects: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut known = BTreeSet::new();
    let all =
        objects.flat_map(|object| members(object).map(|(key, value)| (key, value.of(object))));
    object_of(all.filter(|(key, _)| known.insert(key.clone())))
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::{CallRules, Secrets, ServerSpec, Share, ToolFilter, Transport};

    use super::*;
    use crate::upstream::Services;

    /// Reads what `alpha` has, and anything of `beta`.
    #[derive(Debug)]
    struct Reader;

    impl Grant for Reader {
        fn allows(&self, server: &str, tool: &str) -> bool {
            server == "beta" || (server, tool) == ("alpha", "read")
        }
        fn all_of(&self, server: &str) -> bool {
            server == "beta"
        }
        fn id(&self) -> u64 {
            1
        }
    }

    fn stopped(key: &str) -> Arc<Server> {
        let (command, id, key) = ("x".to_owned(), key.to_owned(), key.to_owned());
        let transport = Transport::Stdio { command, args: vec![], env: vec![], cwd: None };
        let (secrets, filter, share) = (Secrets::new(), ToolFilter::default(), Share::Shared);
        let (guarded, calls) = (false, CallRules::default());
        let (disabled, login, era) = (false, None, Default::default());
        let spec = ServerSpec {
            id,
            key,
            transport,
            disabled,
            secrets,
            filter,
            share,
            era,
            guarded,
            login,
            calls,
            tool_limits: Vec::new(),
            run: Default::default(),
            texts: Default::default(),
            sandbox: None,
        };
        Arc::new(Server::new(spec, Arc::default(), &Services::default()))
    }

    #[test]
    fn a_server_out_of_sight_is_not_there_even_if_it_does_not_run() {
        let registry = Arc::new(Registry::new(Arc::default()));
        registry.set(["alpha", "beta", "gamma"].map(stopped).to_vec(), Vec::new());
        let all = View::new(registry, Naming::default());
        let some = all.narrowed(Arc::new(Reader));
        for (name, expected) in [
            ("alpha:read", true),
            ("alpha:write", false),
            ("beta:anything", true),
            ("gamma:read", false),
            ("nobody:read", false),
        ] {
            assert_eq!(some.by_prefix(name).is_some(), expected, "{name}");
            assert_eq!(all.by_prefix(name).is_some(), !name.starts_with("nobody"), "{name}");
        }
        let snapshot = some.snapshot();
        assert_eq!([0, 1, 2, 3].map(|place| snapshot.is_whole(place)), [false, true, false, false]);
        let words = some.instructions();
        assert!(words.contains("- beta") && !words.contains("gamma"), "{words}");
        assert!(all.instructions().contains("- gamma"));
    }

    #[test]
    fn extensions_are_joined() {
        for (objects, expected) in [
            (vec![], "{}"),
            (vec!["{}", r#"{"a/x":{ "n":1.0 }}"#], r#"{"a/x":{ "n":1.0 }}"#),
            (
                vec![r#"{"a/x":{},"b/y":{}}"#, r#"{"a/x":{"later":1},"c/z":{}}"#],
                r#"{"a/x":{},"b/y":{},"c/z":{}}"#,
            ),
        ] {
            let joined = union(objects.iter().map(|object| object.as_bytes()));
            assert_eq!(String::from_utf8(joined).unwrap(), expected);
        }
    }
}
