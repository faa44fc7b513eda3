//! `Fleet`: a handle on the servers of a running gateway: what they are, changes to them, and calls to
//! them from inside this process.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::lock::{Mutex, rank};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline_catalog::client::Client;
use trunkline_catalog::config::{CustomTool, ServerSpec, SharedLimits};
use trunkline_wire::encode;

use crate::embedder::Embedder;
use crate::finder::{SearchQuery, SearchResult};
use crate::fleet::call::{self, CallFailure, CountedRequest, ToolAnswer, ToolCall};
use crate::fleet::info::{CustomInfo, Offer, ServerInfo, info};
use crate::fleet::retired::{Retired, open_calls, wait_for_calls};
use crate::fleet::served_list::ServedList;
use crate::gate::Grant;
use crate::gateway_info::GatewayInfo;
use crate::limiter::{Allowance, CallerAddress, LimitedCalls};
use crate::limits::END_OF_INPUT;
use crate::pins::PinnedEntry;
use crate::registry::{Registry, Views, read_tools};
use crate::result_scan::ResultScans;
use crate::scanner::ServerFindings;
use crate::upstream::{
    LifeVerdict, Server, Services, Supervisor, ToolAnnotations, condemn_life, expect_anew,
    pinned_entry, reconsider_pins, set_failing, set_on_change, supervise,
};

/// All clones are handles on one fleet.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub(crate) registry: Arc<Registry>,
    pub(crate) supervisor: Supervisor,
    pub(crate) supervisors: TaskTracker,
    pub(crate) services: Services,
    /// Supervisors run here, from whatever thread they are started.
    runtime: Handle,
    /// `clientInfo` of calls from inside.
    info: Arc<[u8]>,
    /// Held during a change: two changes at once would start servers twice.
    // Above all other locks: servers are started, replaced and dismissed under it. No call takes
    // it.
    changing: Arc<Mutex<(), rank::FleetChange>>,
    /// What each kind of client is served.
    pub(crate) views: Arc<Views>,
    /// What the scanner found last.
    pub(crate) findings: watch::Sender<Arc<[ServerFindings]>>,
}

/// What a change came to: the keys of the servers that were started (anew), ended, and left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub started: Vec<String>,
    pub stopped: Vec<String>,
    pub kept: Vec<String>,
}

/// What a health check outside the gateway has found out about a server, most often about one life of it
/// (`Fleet::life`): a verdict that comes when the next one is up does not concern that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthVerdict {
    /// It is well: if it is in a pause before its next start, that ends.
    Well,
    /// It fails its health checks: its calls are refused at once until it passes one or is replaced.
    Failing { life: u64 },
    /// It passes its health checks.
    Passing { life: u64 },
    /// It is of no use; why, completing "server X …". It is connected to or started again.
    Useless { life: u64, why: String },
}

impl Fleet {
    pub(crate) fn new(
        registry: Arc<Registry>,
        supervisor: Supervisor,
        provisions: Services,
        face: &GatewayInfo,
        views: Views,
    ) -> Self {
        let (name, version) = (encode(&face.name), encode(&face.version));
        let info = [br#"{"name":"#, &name[..], br#","version":"#, &version, b"}"].concat();
        Self {
            registry,
            supervisor,
            supervisors: TaskTracker::new(),
            services: provisions,
            runtime: Handle::current(),
            info: info.into(),
            changing: Arc::default(),
            views: Arc::new(views),
            findings: watch::Sender::new(Arc::new([])),
        }
    }

    /// What the scanner found in the texts of the servers when it last looked.
    pub fn findings(&self) -> Arc<[ServerFindings]> {
        Arc::clone(&self.findings.borrow())
    }

    /// How many results the scanner has looked at.
    pub fn result_scans(&self) -> ResultScans {
        self.services.results.as_ref().map(|results| results.counts()).unwrap_or_default()
    }

    /// Makes these the servers and custom tools, after a change by a user: servers that are down are
    /// tried again. A server that would be started in the same way keeps running, with its calls.
    /// Servers that go get as long to end their calls as at the end of a runtime.
    pub fn apply(&self, servers: Vec<ServerSpec>, custom: Vec<CustomTool>) -> Applied {
        let applied = self.apply_within(servers, custom, END_OF_INPUT.drain);
        let servers = self.registry.servers();
        servers.iter().for_each(|server| server.try_again());
        applied
    }

    /// Makes these the servers and custom tools. Servers that go get `patience` to end their calls;
    /// those that are down stay in the pause before their next start.
    pub fn apply_within(
        &self,
        servers: Vec<ServerSpec>,
        custom: Vec<CustomTool>,
        patience: Duration,
    ) -> Applied {
        let _one_at_a_time = self.changing.lock();
        let before = self.registry.servers();
        let by_id: HashMap<&str, &Arc<Server>> =
            before.iter().map(|server| (&**server.key.id(), server)).collect();
        let mut applied = Applied::default();
        let (mut wanted, mut is_changed) = (Vec::new(), false);
        for spec in servers.into_iter().filter(|spec| !spec.disabled) {
            let key = spec.key.clone();
            let known = by_id.get(&*spec.id).copied();
            if let Some(same) = known.filter(|server| server.is_same(&spec)) {
                // Filter, limits and name do not touch the process: they change while it runs.
                is_changed |= same.set_filter(&spec.filter);
                is_changed |= set_on_change(same, spec.texts.on_change);
                same.definition.meters.set(spec.calls.limits, &spec.tool_limits);
                is_changed |= same.key.rename(&spec.key);
                wanted.push(Arc::clone(same));
                applied.kept.push(key);
            } else {
                wanted.push(self.start(spec, &before));
                applied.started.push(key);
            }
        }
        // Most changes of one server of many change nothing of what callers are shown: then no view is made anew.
        let is_same = before.len() == wanted.len()
            && before.iter().zip(&wanted).all(|(one, other)| Arc::ptr_eq(one, other));
        if is_same && !is_changed && self.registry.has_custom(&custom) {
            return applied;
        }
        let kept: HashSet<*const Server> = wanted.iter().map(Arc::as_ptr).collect();
        let is_wanted = |server: &&Arc<Server>| kept.contains(&Arc::as_ptr(server));
        let gone: Vec<_> = before.iter().filter(|server| !is_wanted(server)).cloned().collect();
        // The new list first: from here on no call finds a server that goes.
        self.registry.set(wanted, custom);
        for server in gone {
            drop(self.dismiss(&server, patience));
            let key = server.key.to_string();
            if !applied.started.contains(&key) {
                applied.stopped.push(key);
            }
        }
        self.services.news.send_replace(());
        applied
    }

    fn start(&self, spec: ServerSpec, before: &[Arc<Server>]) -> Arc<Server> {
        let audience = Arc::clone(&self.registry.audience);
        let server = Arc::new(Server::new(spec, audience, &self.services));
        if let Some(old) = before.iter().find(|old| old.key == server.key) {
            server.succeed(old);
        }
        self.attend(&server);
        server
    }

    fn attend(&self, server: &Arc<Server>) {
        // Relaxed: the flag says that a supervisor exists; what that does is ordered by its own
        // start.
        server.signals.is_attended.store(true, Ordering::Relaxed);
        let task = supervise(Arc::clone(server), self.supervisor.clone());
        drop(self.supervisors.spawn_on(task, &self.runtime));
    }

    /// Other limits of callers and addresses from now on; what was used stays used.
    pub fn set_limits(&self, shared: SharedLimits) {
        self.services.limiter.set(shared);
    }

    /// How often limits have refused something since the start.
    pub fn limited_calls(&self) -> Vec<LimitedCalls> {
        self.services.limiter.limited_calls()
    }

    /// Counts a request that goes to no server as a call of whoever makes it: `caller` and `address` are those of a
    /// `ToolCall`.
    pub fn count_request(
        &self,
        caller: Option<&(Arc<[u8]>, Allowance)>,
        address: Option<&CallerAddress>,
    ) -> Result<CountedRequest, CallFailure> {
        call::count_request(&self.services.limiter, caller, address)
    }

    /// How often each server was not called because of its limits or its tools', by id.
    pub fn limited_servers(&self) -> Vec<(String, u64)> {
        let servers = self.registry.servers();
        let of = |server: &Arc<Server>| server.definition.meters.refused();
        servers.iter().map(|server| (server.key.id().to_string(), of(server))).collect()
    }

    /// How often each caller was refused because of its limits, by `Pass::who`.
    pub fn limited_callers(&self) -> Vec<(Arc<[u8]>, u64)> {
        self.services.limiter.limited_callers()
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Server>> {
        self.registry.find(id)
    }

    /// Renames a server; everything else about it stays. False: no server has this id, or another one
    /// has the name.
    pub fn rename(&self, id: &str, name: &str) -> bool {
        let _one_at_a_time = self.changing.lock();
        let servers = self.registry.servers();
        let is_taken = |other: &Arc<Server>| **other.key.id() != *id && other.key.is_called(name);
        let Some(server) = self.find(id) else { return false };
        if servers.iter().any(is_taken) {
            return false;
        }
        // Only a real change is told: a view is assembled anew for each.
        if server.key.rename(name) {
            self.registry.changed();
            self.services.news.send_replace(());
        }
        true
    }

    /// Tries a server that is down again, now, however often it has failed. False: no server has this
    /// id.
    pub fn reconnect(&self, id: &str) -> bool {
        let Some(server) = self.find(id) else { return false };
        if expect_anew(&server) {
            self.registry.changed();
        }
        // Relaxed: the swap alone decides who starts the supervisor.
        if server.signals.is_attended.swap(true, Ordering::Relaxed) {
            server.insist();
        } else {
            server.starts_over();
            self.attend(&server);
        }
        true
    }

    /// Which of its lives a server has: another number each time it is started or connected to. `None`: it does not run.
    pub fn life(&self, id: &str) -> Option<u64> {
        self.find(id)?.connection().map(|connection| connection.health.life())
    }

    /// Applies a health verdict to a server. False: no server has this id.
    pub fn mark(&self, id: &str, verdict: HealthVerdict) -> bool {
        let Some(server) = self.find(id) else { return false };
        match verdict {
            HealthVerdict::Well => server.try_again(),
            HealthVerdict::Failing { life } => set_failing(&server, life, true),
            HealthVerdict::Passing { life } => set_failing(&server, life, false),
            HealthVerdict::Useless { life, why } if self.supervisor.restarts(&server) => {
                condemn_life(&server, life, LifeVerdict::Useless(why));
            }
            HealthVerdict::Useless { .. } => {} // it would not be started again
        }
        true
    }

    /// Notifies of changed states and offers of servers.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.services.news.subscribe()
    }

    /// Takes a server away: out of the lists at once; the calls it has may take as long as `patience`,
    /// then they end with an error that says that they may have run. `None`: there is no such server.
    pub fn retire(&self, id: &str, patience: Duration) -> Option<Retired> {
        let _one_at_a_time = self.changing.lock();
        let server = self.find(id)?;
        self.registry.remove(&server);
        let retired = self.dismiss(&server, patience);
        self.services.news.send_replace(());
        Some(retired)
    }

    /// Ends a server that is in no list any more.
    fn dismiss(&self, server: &Arc<Server>, patience: Duration) -> Retired {
        let mut leaving = self.registry.privates_of(server);
        leaving.push(Arc::clone(server));
        let (pending, done) = (open_calls(&leaving), CancellationToken::new());
        // Private processes count, too: their calls are calls to this server.
        if pending == 0 || patience.is_zero() {
            leaving.iter().for_each(|server| server.signals.dismissed.cancel());
            done.cancel();
            return Retired::new(pending, done);
        }
        // It stays known until then: its open calls can be cancelled and expire.
        self.registry.leaves(server);
        let until = Instant::now() + patience;
        let (supervisor, server) = (self.supervisor.clone(), Arc::clone(server));
        let guard = done.clone().drop_guard();
        let task = async move {
            tokio::select! {
                () = wait_for_calls(&leaving, until) => {}
                _ = supervisor.ending(&server) => {} // with all the others
            }
            leaving.iter().for_each(|server| server.signals.dismissed.cancel());
            drop(guard);
        };
        drop(self.supervisors.spawn_on(task, &self.runtime));
        Retired::new(pending, done)
    }

    /// Waits until the threads that move bytes have looked up from their work: until then something of the gateway does not move.
    pub async fn moves(&self) {
        self.supervisor.pumps.answer().await;
    }

    /// Pings a server; any answer will do. It counts as no call, and proves only that the server
    /// responds.
    pub async fn ping(&self, id: &str) -> Result<(), String> {
        let server = self.find(id).ok_or("there is no such server")?;
        let connection = server.connection().ok_or("it is not connected")?;
        connection.sign_of_life().await
    }

    /// Calls a tool. Dropping the future cancels the call. No client can be asked anything on its
    /// behalf: a server that tries is told so.
    pub async fn call(&self, call: ToolCall) -> Result<ToolAnswer, CallFailure> {
        let server = self.find(&call.server).ok_or_else(|| call::no_such_server(&call.server))?;
        call::call(&server, &self.info, call).await
    }

    /// In the order in which they were given.
    pub fn servers(&self) -> Vec<ServerInfo> {
        self.registry.servers().iter().map(|server| info(server)).collect()
    }

    pub fn server(&self, id: &str) -> Option<ServerInfo> {
        self.find(id).map(|server| info(&server))
    }

    /// How a server was started, or is going to be when it is tried again.
    pub fn spec(&self, id: &str) -> Option<ServerSpec> {
        self.find(id).map(|server| server.spec())
    }

    /// Somebody may have decided something about definitions that wait: what callers are shown is made anew.
    pub fn reconsider_pins(&self) {
        self.registry.everybody().iter().for_each(|server| reconsider_pins(server));
        self.registry.changed();
    }

    /// What the pins of a server belong to.
    pub fn pinned_entry(&self, id: &str) -> Option<PinnedEntry> {
        self.find(id).map(|server| pinned_entry(&server))
    }

    /// What a server says about how to use it, now or when it last ran, if that is remembered.
    pub fn instructions(&self, id: &str) -> Option<String> {
        self.find(id)?.hello()?.instructions.clone()
    }

    /// What a server has said that it can do, now or when it last ran.
    pub fn capabilities(&self, id: &str) -> Vec<&'static str> {
        let hello = self.find(id).and_then(|server| server.hello());
        hello.map(|hello| hello.capabilities()).unwrap_or_default()
    }

    /// The last lines that a server has written to stderr, in this life or in its last one.
    pub fn stderr(&self, id: &str) -> Vec<String> {
        self.find(id).map(|server| server.stderr()).unwrap_or_default()
    }

    /// The tools of a server that may be called. `None`: there is no such server.
    pub fn tools(&self, id: &str) -> Option<Offer> {
        let server = self.find(id)?;
        Some(Offer::new(server.listing(), server.filter()))
    }

    /// The custom tools that can be called now, as they are listed under this grant, by name.
    pub fn custom_tools(&self, grant: Option<&dyn Grant>) -> Vec<CustomInfo> {
        let made = |(name, definition)| CustomInfo::new(name, definition);
        self.registry.custom_tools(grant).into_iter().map(made).collect()
    }

    /// Sets descriptions of servers, by id; the search reads them, too.
    pub fn describe(&self, described: HashMap<String, String>) {
        self.registry.finder().describe(described);
    }

    /// Replaces the built-in model by an external embedder.
    pub fn set_embedder(&self, embedder: Arc<dyn Embedder>) {
        self.registry.finder().set_embedder(embedder);
    }

    /// Reads what servers offer into the index, as far as that has changed. May take a while: for a
    /// thread of its own.
    pub fn read_tools(&self) {
        read_tools(&self.registry);
    }

    /// Waits for a turn to search. Searches of all clients share a few turns, so that calls get the
    /// rest of the processors. Dropping the value ends the turn.
    pub async fn search_turn(&self) -> impl Sized {
        self.registry.finder().turn().await
    }

    /// The tools that match a query, of those that servers list now. May take a while, too.
    pub fn search_tools(&self, sought: &SearchQuery<'_>) -> SearchResult {
        self.read_tools();
        self.registry.finder().search(sought)
    }

    /// The tool list at `/mcp/for/CLIENT`, or at `/mcp`, as it is served under this grant.
    ///
    /// After a change this assembles the catalog, which takes a tenth of a second and more where there
    /// are thousands of tools: call it on a thread that may wait.
    pub fn listed(&self, client: Option<Client>, grant: Option<Arc<dyn Grant>>) -> ServedList {
        let view = self.views.of(client);
        ServedList(match grant {
            Some(grant) => view.narrowed(grant).report(),
            None => view.report(),
        })
    }

    /// What the tools of the server with this name say about themselves, by their own names.
    pub fn annotations(&self, server: &str) -> HashMap<String, ToolAnnotations> {
        let servers = self.registry.servers();
        let server = servers.iter().find(|known| known.key.is_called(server));
        let listing = server.and_then(|server| server.listing());
        let tools = listing.iter().flat_map(|listing| listing.tools());
        tools.map(|tool| (tool.name.clone(), ToolAnnotations::of(&tool.definition))).collect()
    }

    /// Policies have changed: what callers see is made anew, and they are told.
    pub fn policies_changed(&self) {
        self.registry.changed();
    }

    /// A number that changes whenever a list may have changed.
    pub fn version(&self) -> u64 {
        self.registry.version()
    }
}
