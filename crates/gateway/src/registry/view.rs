//! `View`: the registry as clients of one kind see it: under the names they can use, and as much of
//! it as they may.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;
use tokio::time::timeout;
use trunkline_catalog::config::{SelectedTools, ToolFilter};
use trunkline_catalog::name::Naming;
use trunkline_catalog::{
    Catalog, Exposure, ListKind, Listing, Offer, SeenParts, ServerWords, instructions,
};
use trunkline_wire::members;

use crate::gate::Grant;
use crate::limits::{WAITING_TIME, shortened};
use crate::lock::{Mutex, rank};
use crate::policy::PolicyTarget;
use crate::registry::assembler::wait_for_test;
use crate::registry::call_rules::CallRules;
use crate::registry::custom::{granted, selected};
use crate::registry::known_names::{Known, KnownNames};
use crate::registry::snapshot::{Published, Sight, Snapshot};
use crate::registry::{Registry, WantedServers};
use crate::upstream::{OfferChanges, Server, holds_texts, object_of};

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
    /// The view that this one is narrowed from: what is known there, is known here.
    origin: Option<Arc<View>>,
    /// The warnings that were logged last.
    // Held while the view is assembled. Above the registry's and the servers' locks: it is assembled from them.
    assembling: Mutex<Vec<String>, rank::ViewAssembling>,
    /// What is served.
    // Never held while anything is assembled: every call takes it.
    published: Mutex<Published, rank::ViewPublished>,
    /// One more than the settings that it was last assembled by; 0: it never was.
    // Relaxed: stored under `published`, and read there where an old number must not be trusted.
    assembled_by: AtomicU64,
    /// Wakes those who wait for it to be assembled.
    renewed: Notify,
}

impl View {
    pub(crate) fn new(registry: Arc<Registry>, naming: Naming) -> Self {
        let offers = Arc::clone(&registry.offers);
        Self {
            registry,
            offers,
            naming,
            exposure: Exposure::Full,
            preset: None,
            grant: None,
            origin: None,
            assembling: Mutex::default(),
            published: Mutex::default(),
            assembled_by: AtomicU64::new(0),
            renewed: Notify::new(),
        }
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

    /// A view for those who may not see all of it, under the same names. It is assembled when it is first asked for.
    pub(crate) fn narrowed(self: &Arc<Self>, grant: Arc<dyn Grant>) -> Self {
        let new = Self::new(Arc::clone(&self.registry), self.naming.clone());
        let new = new.exposing(self.exposure).preset(self.preset.clone());
        Self { origin: Some(Arc::clone(self)), ..new.granted(Some(grant)) }
    }

    pub(crate) fn preset_name(&self) -> Option<Arc<str>> {
        self.preset.clone()
    }

    /// What there is at this moment. Assembled when it is first asked for after a change, so that fifty servers that
    /// start together cost one assembly: at once where there is little, else beside the caller, who gets what was
    /// there before, over the connections of now.
    pub(crate) fn snapshot(self: &Arc<Self>) -> Arc<Snapshot> {
        let version = self.offers.version.load(Ordering::Acquire);
        let published = self.published.lock();
        if published.version == version && !published.is_untold {
            return Arc::clone(&published.snapshot);
        }
        drop(published);
        self.newer_snapshot()
    }

    #[cold]
    fn newer_snapshot(self: &Arc<Self>) -> Arc<Snapshot> {
        // First: warnings that are to be logged are no reason to assemble it again.
        if self.is_behind()
            && !(self.has_former() && self.registry.assembler.accepts(self) && self.reconnect())
        {
            self.renew();
        }
        let mut published = self.published.lock();
        let snapshot = Arc::clone(&published.snapshot);
        let is_untold = mem::take(&mut published.is_untold);
        drop(published);
        if is_untold {
            for warning in &snapshot.catalog.warnings {
                tracing::warn!("{warning}");
            }
        }
        snapshot
    }

    /// What a client would be served at this moment. May assemble it, and so take a while: not for a thread that moves
    /// bytes. Its warnings are left to the first client that is served it: there may never be one.
    pub(crate) fn report(&self) -> Arc<Snapshot> {
        self.renew();
        Arc::clone(&self.published.lock().snapshot)
    }

    fn is_behind(&self) -> bool {
        let version = self.registry.version();
        self.published.lock().version != version
    }

    /// Is there something to serve until all changes up to now are taken up? Not after a change of settings: what
    /// they hide must not be served any more.
    fn has_former(&self) -> bool {
        self.registry.is_large() && self.is_by_settings()
    }

    /// Was it assembled by the settings of now?
    fn is_by_settings(&self) -> bool {
        self.assembled_by.load(Ordering::Relaxed) == self.offers.settings() + 1
    }

    /// Would its next reader have to assemble it, although that takes long? Who can wait waits until it is assembled.
    pub(crate) fn must_be_awaited(&self) -> bool {
        self.registry.is_large() && self.registry.assembler.is_open() && !self.is_by_settings()
    }

    /// The version of the registry that it has to be assembled of before it shows everything; `None`: it does.
    pub(crate) fn awaited_version(&self) -> Option<u64> {
        let version = self.registry.version();
        (!self.is_made_of(version)).then_some(version)
    }

    /// Does it show everything that there was at this version of the registry, or has its assembly failed?
    pub(crate) fn is_made_of(&self, version: u64) -> bool {
        // Where nothing is assembled beside, its next reader sees everything.
        if !self.registry.assembler.is_open() || !self.registry.is_large() {
            return true;
        }
        let published = self.published.lock();
        published.made_of.max(published.failed_of) >= version
    }

    /// Resolves when it shows everything that there is now, or its assembly failed.
    pub(crate) async fn assembled(self: Arc<Self>) {
        let mut version = self.registry.version();
        loop {
            // Made before it is looked at: its publication is not missed in between.
            let renewed = self.renewed.notified();
            if !self.is_made_of(version) {
                if !self.registry.assembler.accepts(&self) {
                    return;
                }
                renewed.await;
            } else if self.must_be_awaited() && version != self.registry.version() {
                // Settings have changed meanwhile: what was assembled must not be served any more.
                version = self.registry.version();
            } else {
                return;
            }
        }
    }

    /// Resolves when there is something that may be served, if only what was there before. False: there is not, for long;
    /// others are assembled first, or it failed.
    pub(crate) async fn servable(self: &Arc<Self>) -> bool {
        if self.must_be_awaited() {
            drop(timeout(shortened(WAITING_TIME), Arc::clone(self).assembled()).await);
        }
        !self.must_be_awaited()
    }

    /// Serves the catalog of before over the connections that its servers have now. False: it must not be served any
    /// more.
    fn reconnect(&self) -> bool {
        let mut published = self.published.lock();
        // In this order: a change of settings counts before it gets its version, so none up to this one is overlooked.
        let version = self.registry.version();
        if !self.is_by_settings() {
            return false;
        }
        let new = Arc::new(published.snapshot.reconnected());
        let old = mem::replace(&mut published.snapshot, new);
        published.version = version;
        drop(published);
        drop(old); // behind the lock: what it leads to may end with it
        true
    }

    /// Its assembly at this version has failed, because of a defect: whoever waits for it goes on with what there is.
    pub(super) fn fail(&self, version: u64) {
        let mut published = self.published.lock();
        published.failed_of = published.failed_of.max(version);
        drop(published);
        self.renewed.notify_waiters();
    }

    /// Assembles it, if anything has changed. Whoever comes meanwhile waits.
    pub(super) fn renew(&self) {
        if self.registry.assembler.is_open() && self.registry.is_large() {
            wait_for_test();
        }
        let inherited = match &self.origin {
            // What there is now is known from now on.
            Some(origin) if self.published.lock().made_of == 0 => {
                origin.renew();
                Some(Arc::clone(&origin.published.lock().known))
            }
            _ => None,
        };
        let mut warned = self.assembling.lock();
        // Both before anything is read: what changes meanwhile is a change that is still to come.
        let version = self.offers.version.load(Ordering::Acquire);
        let settings = self.offers.settings();
        let published = self.published.lock();
        if published.made_of == version {
            return;
        }
        let before = Arc::clone(&published.snapshot);
        let mut known = KnownNames::clone(inherited.as_ref().unwrap_or(&published.known));
        drop(published);
        let mut snapshot = self.assemble(&mut known);
        if let Some(catalog) = Arc::get_mut(&mut snapshot.catalog) {
            catalog.share_lists(&before.catalog);
        }
        // Who sees less has nothing to warn of that others have not.
        let is_untold = self.grant.is_none() && snapshot.catalog.warnings != *warned;
        if is_untold {
            warned.clone_from(&snapshot.catalog.warnings);
        }
        let (snapshot, known) = (Arc::new(snapshot), Arc::new(known));
        let mut published = self.published.lock();
        let is_untold = is_untold || published.is_untold;
        let failed_of = published.failed_of;
        let new = Published { snapshot, version, made_of: version, failed_of, is_untold, known };
        let old = mem::replace(&mut *published, new);
        self.assembled_by.store(settings + 1, Ordering::Relaxed);
        drop(published);
        drop(warned);
        drop((old, before)); // behind the locks: what they lead to may end with them
        self.renewed.notify_waiters();
    }

    fn assemble(&self, known: &mut KnownNames) -> Snapshot {
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
            if let Some(listing) = listing.as_ref().filter(|listing| !known.has_all(listing)) {
                Arc::make_mut(known).extend(listing);
            }
        }
        let nothing = Arc::<Known>::default();
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
        drop(offers);
        let connections = live.into_iter().map(|live| Some(live?.connection)).collect();
        let metered = servers.iter().zip(&listings);
        let tool_meters = metered
            .map(|(server, listing)| server.definition.meters.of_listing(listing.as_deref()?))
            .collect();
        let call_rules = CallRules::of(self.grant.as_ref(), names.iter().zip(&listings));
        Snapshot {
            catalog: Arc::new(catalog),
            servers,
            connections,
            sights: sights.into(),
            tool_meters,
            call_rules: Arc::new(call_rules),
        }
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
        if grant.all_of(key) {
            return true;
        }
        let known = self.known().get(server.key.id()).cloned();
        known.is_some_and(|known| known.tools.iter().any(|tool| grant.allows(key, tool)))
    }

    fn known(&self) -> Arc<KnownNames> {
        let published = self.published.lock();
        match &self.origin {
            Some(origin) if published.made_of == 0 => {
                drop(published);
                origin.known()
            }
            _ => Arc::clone(&published.known),
        }
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
    pub(crate) fn instructions(self: &Arc<Self>) -> String {
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
    use crate::registry::ASSEMBLED_AT_ONCE;
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
        registry.set(["alpha", "beta", "gamma"].map(stopped).to_vec(), Vec::new(), false);
        let all = Arc::new(View::new(registry, Naming::default()));
        let some = Arc::new(all.narrowed(Arc::new(Reader)));
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

    /// Where views are assembled, whose only thread is busy until it is told that it may go on.
    fn held_runtime() -> (tokio::runtime::Runtime, std::sync::mpsc::Sender<()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.max_blocking_threads(1).build().unwrap();
        let (go_on, held) = std::sync::mpsc::channel();
        drop(runtime.spawn_blocking(move || held.recv()));
        (runtime, go_on)
    }

    #[test]
    fn a_large_view_is_assembled_beside_its_readers_but_never_serves_what_settings_hide() {
        let (all, registry, view) = large();
        let most = all[1..].to_vec();
        let (runtime, go_on) = held_runtime();
        registry.assembler.open(runtime.handle().clone());
        assert!(view.must_be_awaited(), "there is nothing to serve");
        // Whoever does not wait assembles it.
        assert_eq!(view.snapshot().servers(), all.len());
        assert!(!view.must_be_awaited() && view.awaited_version().is_none());
        let more = [all.clone(), vec![stopped("more")]].concat();
        registry.set(more.clone(), Vec::new(), true);
        for _ in 0..2 {
            assert_eq!(view.snapshot().servers(), all.len(), "what was there before serves");
        }
        assert!(view.awaited_version().is_some() && !view.must_be_awaited());
        // A narrowed one has nothing to serve yet, and does not take anything from where more is seen.
        let some = Arc::new(view.narrowed(Arc::new(Reader)));
        assert!(some.must_be_awaited());
        go_on.send(()).unwrap();
        runtime.block_on(Arc::clone(&view).assembled());
        assert_eq!(view.snapshot().servers(), more.len());
        runtime.block_on(Arc::clone(&some).assembled());
        assert!(!some.must_be_awaited() && !some.snapshot().is_whole(0));
        registry.set(more, Vec::new(), false);
        assert!(view.must_be_awaited() && some.must_be_awaited(), "settings have changed");
        registry.set(most.clone(), Vec::new(), false);
        assert_eq!(view.snapshot().servers(), most.len(), "small: it is assembled at once");
    }

    /// More servers than are assembled where they are asked for, and a view that shows them.
    fn large() -> (Vec<Arc<Server>>, Arc<Registry>, Arc<View>) {
        let many: Vec<_> = (0..=ASSEMBLED_AT_ONCE).map(|n| stopped(&format!("s{n}"))).collect();
        let registry = Arc::new(Registry::new(Arc::default()));
        registry.set(many.clone(), Vec::new(), false);
        let view = Arc::new(View::new(Arc::clone(&registry), Naming::default()));
        (many, registry, view)
    }

    #[test]
    fn warnings_are_logged_once_and_keep_nobody_on_the_slow_way() {
        let (many, registry, view) = large();
        let (runtime, _held) = held_runtime();
        registry.assembler.open(runtime.handle().clone());
        view.snapshot();
        // As whoever assembles it beside its readers leaves it.
        view.published.lock().is_untold = true;
        let snapshot = view.snapshot();
        assert!(!view.published.lock().is_untold, "they were logged");
        assert!(Arc::ptr_eq(&view.snapshot(), &snapshot), "nothing has changed");
        view.published.lock().is_untold = true;
        registry.set([many, vec![stopped("more")]].concat(), Vec::new(), true);
        let snapshot = view.snapshot();
        assert!(view.awaited_version().is_some() && !view.published.lock().is_untold);
        assert!(Arc::ptr_eq(&view.snapshot(), &snapshot));
    }

    #[test]
    fn a_catalog_that_is_older_than_the_settings_is_not_served_again() {
        let (mut many, registry, view) = large();
        let (runtime, _held) = held_runtime();
        registry.assembler.open(runtime.handle().clone());
        view.snapshot();
        // They change behind the look at them that came first.
        assert!(view.has_former());
        many.push(stopped("more"));
        registry.set(many.clone(), Vec::new(), false);
        assert!(!view.reconnect());
        assert_eq!(view.snapshot().servers(), many.len());
    }

    /// Reads up to the last round. `known`: the rounds whose settings were changed, each with two servers more.
    fn read_rounds(view: &Arc<View>, known: &AtomicU64, (least, rounds): (usize, usize)) {
        let mut round = 0;
        while round < rounds {
            round = usize::try_from(known.load(Ordering::Acquire)).unwrap();
            assert!(view.snapshot().servers() >= least + 2 * round, "{round}");
        }
    }

    #[test]
    fn no_reader_is_served_less_than_the_settings_that_it_knows_of() {
        const ROUNDS: usize = 40;
        let (many, registry, view) = large();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        registry.assembler.open(runtime.handle().clone());
        let more: Vec<_> = (0..=2 * ROUNDS).map(|n| stopped(&format!("more{n}"))).collect();
        let known = AtomicU64::new(0);
        let read = || read_rounds(&view, &known, (many.len(), ROUNDS));
        std::thread::scope(|scope| {
            scope.spawn(read);
            scope.spawn(read);
            for round in 1..=ROUNDS {
                let with = |more: &[Arc<Server>]| [&many, more].concat();
                // In the order in which settings are changed: `known` once it is done.
                registry.set(with(&more[..2 * round]), Vec::new(), false);
                known.store(round as u64, Ordering::Release);
                registry.set(with(&more[..=2 * round]), Vec::new(), true);
            }
        });
    }

    /// A defect of ours, met while a view is assembled.
    #[derive(Debug)]
    struct Broken;

    impl Grant for Broken {
        fn allows(&self, _: &str, _: &str) -> bool {
            false
        }
        fn all_of(&self, _: &str) -> bool {
            panic!("injected")
        }
        fn id(&self) -> u64 {
            2
        }
    }

    #[test]
    fn a_view_that_cannot_be_assembled_is_waited_for_by_nobody() {
        let (_, registry, view) = large();
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().build().unwrap();
        registry.assembler.open(runtime.handle().clone());
        let broken = Arc::new(view.narrowed(Arc::new(Broken)));
        let limit = std::time::Duration::from_secs(60);
        runtime.block_on(async {
            let mut both = Vec::new();
            for view in [&broken, &view] {
                both.push(timeout(limit, Arc::clone(view).assembled()));
            }
            for assembled in both {
                assembled.await.expect("it is not waited for");
            }
        });
        assert!(broken.must_be_awaited(), "there is nothing to serve");
        assert!(!runtime.block_on(broken.servable()));
        assert!(!view.must_be_awaited(), "the others are assembled");
    }

    #[test]
    fn nobody_waits_for_an_assembly_for_ever() {
        let (many, registry, view) = large();
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let paused = builder.enable_time().start_paused(true).build().unwrap();
        let (runtime, _held) = held_runtime();
        registry.assembler.open(runtime.handle().clone());
        assert!(!paused.block_on(view.servable()), "there is nothing to serve");
        view.snapshot();
        registry.set([many, vec![stopped("more")]].concat(), Vec::new(), true);
        assert!(paused.block_on(view.servable()), "what was there before serves");
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
